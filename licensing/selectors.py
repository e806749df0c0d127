"""What the rows of machine credentials say. Reads only."""

from django.contrib.auth import get_user_model
from django.db.models import QuerySet

from licensing.models import GitToken, License


def licenses() -> QuerySet[License]:
    """Return the licenses with their domains."""
    return License.objects.prefetch_related("authorized_domains")


def git_tokens_of(user_id: int) -> QuerySet[GitToken]:
    """Return the git tokens of a user."""
    return GitToken.objects.filter(user_id=user_id)


def user_exists(user_id: int) -> bool:
    """True if there is such a user."""
    return get_user_model().objects.filter(pk=user_id).exists()
