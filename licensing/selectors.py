"""What the rows of machine credentials say. Reads only."""

from django.contrib.auth import get_user_model
from django.db.models import QuerySet

from licensing.models import GitToken, License


def licenses() -> QuerySet[License]:
    """Return the licenses with their domains."""
    return License.objects.prefetch_related("authorized_domains")


def licenses_named(*, id: int | None = None, name: str = "") -> QuerySet[License]:  # noqa: A002 - the field's name
    """Return the license of this id, or of this name; none if there is none."""
    return License.objects.filter(pk=id) if id is not None else License.objects.filter(name=name)


def git_tokens_of(user_id: int) -> QuerySet[GitToken]:
    """Return the git tokens of a user."""
    return GitToken.objects.filter(user_id=user_id)


def user_exists(user_id: int) -> bool:
    """True if there is such a user."""
    return get_user_model().objects.filter(pk=user_id).exists()
