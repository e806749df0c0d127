"""Queries of machine credentials. Read-only."""

from django.contrib.auth import get_user_model
from django.db.models import QuerySet

from licensing.models import AppToken, GitToken, License


def licenses() -> QuerySet[License]:
    """Return the licenses with their domains."""
    return License.objects.prefetch_related("authorized_domains")


def licenses_named(*, id: int | None = None, name: str = "") -> QuerySet[License]:  # noqa: A002 - the field's name
    """Return the license of this id or of this name, as a query set."""
    return License.objects.filter(pk=id) if id is not None else License.objects.filter(name=name)


def git_tokens_of(user_id: int) -> QuerySet[GitToken]:
    """Return the git tokens of a user."""
    return GitToken.objects.filter(user_id=user_id)


def app_tokens_of(user_id: int) -> QuerySet[AppToken]:
    """Return the app tokens of a user, with their domains."""
    return AppToken.objects.filter(user_id=user_id).prefetch_related("authorized_domains")


def app_tokens_with(*, id: int) -> QuerySet[AppToken]:  # noqa: A002 - the field's name
    """Return the app token of this id, as a query set."""
    return AppToken.objects.filter(pk=id)


def user_exists(user_id: int) -> bool:
    """Return whether a user of this id exists."""
    return get_user_model().objects.filter(pk=user_id).exists()
