"""Translated texts of refusals for visitors, by problem code."""

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from gatewall.api.translation import translated
from gatewall.kernel.refusals import Refusal, TooMany

_KNOWN = {
    "address-shared": gettext_lazy(
        "Other people are behind your address, or it is shared by customers of a carrier. A pass would let them in as "
        "well, so there is none."
    ),
    "too-many-device-passes": gettext_lazy("You have the maximum number of passes. Delete one first."),
    "admin-exists": gettext_lazy("There is an administrator already."),
    "code-entry-locked": gettext_lazy(
        "Too many wrong codes. Use one of your recovery codes, or ask an administrator to unlock code entry."
    ),
    "code-required": gettext_lazy("Please enter a code of your second factor, or sign in again with it."),
    "cross-site": gettext_lazy("Another site sent this form. Please start here."),
    "duplicate": gettext_lazy("This name is used already."),
    "invalid-challenge": gettext_lazy("This took too long, or too many tries. Please sign in again."),
    "invalid-code": gettext_lazy("The code is wrong, or was used already."),
    "invalid-credentials": gettext_lazy("The user name or the password is wrong."),
    "invalid-hand-off": gettext_lazy(
        "Your sign-in could not be brought here: the link was used already, has expired, or is for another browser. "
        "Open the site again."
    ),
    "link-over": gettext_lazy(
        "This link was used already, has expired, or was replaced by a newer one. Ask for a new one."
    ),
    "mail-not-configured": gettext_lazy("This site sends no mail. Ask your administrator for a link."),
    "not-found": gettext_lazy("This does not exist any more."),
    "last-way-in": gettext_lazy("You could not sign in without this. Add another way to sign in first."),
    "passkeys-unavailable": gettext_lazy("This address has no passkeys: they need a host name and https://."),
    "password-length": gettext_lazy("A password has 8 to 128 characters."),
    "reauthentication-failed": gettext_lazy("The password or code is wrong."),
    "reauthentication-required": gettext_lazy("Please enter your password."),
    "share-link-over": gettext_lazy(
        "It has ended, was taken back, was opened in another browser, or is for another address. Ask whoever sent it "
        "for a new one."
    ),
    "too-many-passkeys": gettext_lazy("You have the maximum number of passkeys. Remove one first."),
    "too-many-app-tokens": gettext_lazy("You have the maximum number of app tokens. Delete one first."),
    "too-many-git-tokens": gettext_lazy("You have the maximum number of git tokens. Delete one first."),
    "too-many-totp-devices": gettext_lazy("You have the maximum number of apps. Remove one first."),
    "totp-enabled": gettext_lazy("The second factor is on already."),
    "totp-not-set-up": gettext_lazy("Please begin the set-up again."),
}


def refusal_text(error: Refusal | ValidationError) -> str:
    """Return the text of a refusal for visitors, by default the message itself."""
    if isinstance(error, TooMany):
        return f"{_('Too many attempts.')} {_wait(error.retry_after_seconds)}"
    if isinstance(error, ValidationError):
        by_field = getattr(error, "error_dict", {"": getattr(error, "error_list", [error])})
        return " ".join(_field_error(item) for items in by_field.values() for item in items)
    return str(_KNOWN.get(error.code) or translated(error.message))


def _field_error(error: ValidationError) -> str:
    return str(_KNOWN[error.code]) if error.code in _KNOWN else " ".join(error.messages)


def _wait(seconds: int) -> str:
    if seconds < 60:
        words = ngettext("Please try again in %(n)d second.", "Please try again in %(n)d seconds.", seconds)
        return words % {"n": seconds}
    minutes = -(-seconds // 60)
    words = ngettext("Please try again in %(n)d minute.", "Please try again in %(n)d minutes.", minutes)
    return words % {"n": minutes}
