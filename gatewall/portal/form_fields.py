"""Fields that several forms of the account page have."""

from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext as _


def number_of_form(request: HttpRequest) -> int:
    """Return the row id in a form, or 0, which no row has."""
    text = request.POST.get("id", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


def name_of_form(request: HttpRequest) -> str:
    """Return the name in a form. Raises ValidationError."""
    name = request.POST.get("name", "").strip()
    if not name.isprintable():
        raise ValidationError(str(_("A name cannot have control characters.")))
    return name
