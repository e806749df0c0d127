"""Access levels with a description of who may enter, for form fields."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from gatewall.engine.hosts import Access
from gatewall.models import choices

WHO_ENTERS: Mapping[Access, str | Promise] = {
    Access.AUTHENTICATED: _("users who signed in"),
    Access.TWO_FACTOR: _("users who signed in with a second factor"),
    Access.PHISHING_RESISTANT: _("users who signed in with a passkey or security key; no machines"),
    Access.PUBLIC: _("everybody; lists, countries and WAF rules still apply"),
    Access.DENIED: _("nobody, not even with a grant or share link"),
}
"""The access levels in the order of forms, the usual one first."""


def access_field(help_text: Any, *, initial: str | None = None) -> forms.ChoiceField:
    """Return a form field for an access level: radio buttons, each with who may enter."""
    return forms.ChoiceField(
        label=_("Who may enter"),
        choices=_described_choices,
        initial=initial,
        widget=forms.RadioSelect(attrs={"class": "described"}),
        help_text=help_text,
    )


def _described_choices() -> list[tuple[str, SafeString]]:
    """Return the choices of the radio buttons: each access level with who may enter, in the active language."""
    labels = dict(choices(Access))
    return [
        (each.value, format_html("<strong>{}</strong> {}", gettext(labels[each.value]), words))
        for each, words in WHO_ENTERS.items()
    ]
