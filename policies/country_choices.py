"""Choices of a country picker, ordered by name in the active language; look-up of a country code by name."""

import unicodedata
from collections.abc import Callable

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from policies.countries import COUNTRY_NAMES

Choices = list[tuple[str, str | Promise]]


def country_choices() -> Choices:
    """Return each country code with its label ("Germany (DE)"), ordered by name in the active language."""
    named = sorted(((gettext(name), code) for code, name in COUNTRY_NAMES.items()), key=lambda each: _sort_key(each[0]))
    return [(code, f"{name} ({code})") for name, code in named]


def choices_after(label: str | Promise) -> Callable[[], Choices]:
    """Return a function that computes the choices, after an empty one, for each request."""
    return lambda: [("", label), *country_choices()]


NO_COUNTRY = _("Choose a country")


def code_named(text: str) -> str | None:
    """Return the code of the country with this name, in English or the active language, in any letter case; or None."""
    wanted = _plain(text.strip())
    for code, name in COUNTRY_NAMES.items():
        if wanted in {_plain(name), _plain(gettext(name))}:
            return code
    return None


def _plain(name: str) -> str:
    """Return the name without letter case and accents."""
    decomposed = unicodedata.normalize("NFKD", name.casefold())
    return "".join(character for character in decomposed if not unicodedata.combining(character))


def _sort_key(name: str) -> bytes:
    return _plain(name).encode("gb18030")  # orders the common Chinese characters by pronunciation
