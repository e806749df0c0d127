"""The template tag ``moment``: a time in UTC, which a script shows in the reader's own zone."""

from datetime import UTC, datetime

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag
def moment(at: datetime | None, otherwise: str = "-") -> SafeString | str:
    """Return the time as an HTML element, or another text if there is none."""
    if not isinstance(at, datetime):
        return otherwise
    utc = at.astimezone(UTC)
    return format_html('<time datetime="{}">{} UTC</time>', f"{utc:%Y-%m-%dT%H:%M:%SZ}", f"{utc:%Y-%m-%d %H:%M:%S}")
