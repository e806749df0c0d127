"""Reasons to refuse the answer of an authenticator: a closed list, each with a message for the visitor."""

from enum import StrEnum

from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.refusals import Conflict, Refusal


class Why(StrEnum):
    """Reason of a refused passkey, as in security events (``why``)."""

    MALFORMED = "passkey-malformed"
    OTHER_CHALLENGE = "passkey-other-challenge"
    LATE = "passkey-late"
    REPLAYED = "passkey-replayed"
    WRONG_ORIGIN = "passkey-wrong-origin"
    WRONG_RP_ID = "passkey-wrong-rp-id"
    UNKNOWN = "passkey-unknown"
    NOT_VERIFIED = "passkey-user-not-verified"
    WRONG_SIGNATURE = "passkey-wrong-signature"
    CLONED = "passkey-cloned"
    REGISTERED = "passkey-registered"


_AGAIN = _("Your browser's answer could not be read. Please try again.")
_SENTENCES = {
    Why.MALFORMED: _AGAIN,
    Why.OTHER_CHALLENGE: _("This was begun in another browser or on another page. Please try again here."),
    Why.LATE: _("This took longer than five minutes. Please try again."),
    Why.REPLAYED: _("This answer of your passkey was used already. Please try again."),
    Why.WRONG_ORIGIN: _(
        "The passkey was used on a page with another address. Open the sign-in page yourself, and try there."
    ),
    Why.WRONG_RP_ID: _("This passkey belongs to another domain. Please sign in in another way."),
    Why.UNKNOWN: _("This passkey is not known here. It may have been removed. Please sign in in another way."),
    Why.NOT_VERIFIED: _(
        "Your device did not check that it is you. Set a PIN, a fingerprint or face recognition there, and try again."
    ),
    Why.WRONG_SIGNATURE: _("The answer of your passkey is not valid. Please try again."),
    Why.CLONED: _(
        "There may be a copy of this passkey, so it is refused. Sign in in another way, remove the passkey, and add a "
        "new one."
    ),
    Why.REGISTERED: _("This passkey is registered already."),
}


class PasskeysUnavailable(Conflict):
    """Browsers do not support passkeys at this address: it is an IP address, or plain HTTP."""

    code = "passkeys-unavailable"


class PasskeyRefused(Refusal):
    """The answer of the authenticator is refused; ``why`` is the reason."""

    code = "passkey-refused"

    def __init__(self, why: Why) -> None:
        super().__init__(_SENTENCES[why])
        self.why = why
