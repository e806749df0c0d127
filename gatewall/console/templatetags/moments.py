"""The template tag ``moment``: a time in UTC, which a script shows in the reader's own zone."""

from datetime import UTC, datetime

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()

_FORMS = {"second": (0, 19, " UTC"), "minute": (0, 16, ""), "short": (5, 16, "")}
"""By form, the part of "2026-01-31 12:00:00" that is shown, and its suffix; without a zone, the page names the zone."""


@register.simple_tag
def moment(at: datetime | None, otherwise: str = "-", *, form: str = "second") -> SafeString | str:
    """Return the time as an HTML element, or another text if there is none."""
    if not isinstance(at, datetime):
        return otherwise
    utc = at.astimezone(UTC)
    first, last, zone = _FORMS[form]
    text = f"{utc:%Y-%m-%d %H:%M:%S}"[first:last] + zone
    return format_html(
        '<time datetime="{}" data-part="{} {}">{}</time>', f"{utc:%Y-%m-%dT%H:%M:%SZ}", first, last, text
    )
