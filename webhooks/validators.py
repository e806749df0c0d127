"""Validators of webhook fields."""

from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from audit.event_kinds import EventKind
from gatewall.engine.hosts import Authority

_KINDS = frozenset(kind.value for kind in EventKind)


def validate_url(value: str) -> None:
    """Reject values that are not URLs, and parts that may contain secrets: revisions keep the URL."""
    try:
        parts = urlsplit(value)
    except ValueError:
        raise ValidationError(_("that is not a URL")) from None
    if parts.username is not None or parts.password is not None or "?" in value or "#" in value:
        raise ValidationError(
            "remove user, query and fragment from the URL: every admin sees it, and revisions keep it"
        )
    if not (value.isascii() and value.isprintable()) or " " in value or "\\" in value or not Authority.of_url(value):
        raise ValidationError("enter an https URL with one host, in ASCII")


def validate_kinds(value: Any) -> None:
    """Reject values that are not lists of distinct event kinds."""
    if not isinstance(value, list) or not all(isinstance(kind, str) for kind in value):
        raise ValidationError("a list of kinds of events")
    if unknown := sorted(set(value) - _KINDS):
        raise ValidationError(f"there is no such kind: {', '.join(unknown)[:200]}")
    if len(set(value)) < len(value):
        raise ValidationError("a kind is listed twice")
