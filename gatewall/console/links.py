"""Where pages lead that may not be there."""

from uuid import UUID

from django.urls import NoReverseMatch, reverse


def decision_path(decision_id: UUID | str) -> str:
    """Return where a decision is explained: its page, or what the API says of it."""
    try:
        return reverse("console:explain-receipt", kwargs={"decision_id": decision_id})
    except NoReverseMatch:
        return reverse("access-log", kwargs={"decision_id": decision_id})
