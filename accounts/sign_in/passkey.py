"""Sign-in method: passkeys (WebAuthn). They prove possession and user verification: no second factor follows."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import Q

from accounts import selectors
from accounts.models import Passkey, User
from accounts.sign_in import events, passkey_challenges
from accounts.sign_in.passkey_refusals import PasskeyRefused, Why
from accounts.sign_in.passkey_values import Assertion, KnownPasskey, Verified
from accounts.sign_in.relying_party import RelyingParty
from accounts.visitor import Visitor
from gatewall.engine.auth_methods import HARDWARE_KEY, MULTI_FACTOR, PHISHING_RESISTANT, SOFTWARE_KEY

NAME = "passkey"
PAGE = "portal/sign_in/passkey.html"


@dataclass(frozen=True, slots=True)
class PasskeyPage:
    """The page that a passkey is used on: its relying party, and the cookie that binds a challenge to the browser."""

    party: RelyingParty
    browser_secret: str = field(repr=False)


def is_set_up(user: User) -> bool:
    """Return whether the user has a passkey."""
    return selectors.has_passkey(user)


def begin(page: PasskeyPage, purpose: str, *, user: User | None = None, at: datetime) -> dict[str, Any]:
    """Return the options of ``navigator.credentials.get()``; without a user the browser asks which passkey to use."""
    from accounts.sign_in import passkey_ceremonies  # noqa: PLC0415 - 5 MiB

    challenge = passkey_challenges.begin(purpose, page.browser_secret, at=at)
    known = known_passkeys(user, page.party) if user is not None else ()
    return passkey_ceremonies.sign_in_options(page.party, challenge, known=known)


def known_passkeys(user: User, party: RelyingParty) -> list[KnownPasskey]:
    """Return the user's passkeys for a relying party."""
    rows = selectors.passkeys_of(user.pk).filter(rp_id=party.id)
    return [KnownPasskey(row.credential_id, row.transports) for row in rows]


def prove(
    answer: object,
    page: PasskeyPage,
    purpose: str,
    *,
    user: User | None = None,
    flow: str,
    visitor: Visitor,
    at: datetime,
) -> tuple[User, tuple[str, ...]]:
    """Verify the answer to a challenge; return user and methods proved (``amr``). It must be of ``user``, if given.

    Failures count for the network and the passkey, not for an account: else a stranger could lock it. Raises
    PasskeyRefused, TooManyAttempts.
    """
    from accounts.sign_in import passkey_ceremonies  # noqa: PLC0415 - as above

    owner = user
    assertion = _parsed(answer, owner, visitor, at, flow=flow)
    attempt = events.attempt(f"passkey {assertion.credential_id}", visitor, at, flow=flow)
    try:
        passkey_challenges.use_up(assertion.challenge, purpose, page.browser_secret, at=at)
        passkey_ceremonies.refuse_elsewhere(assertion, page.party)
        row = _row_of(assertion, page.party, user)
        owner = row.user
        _use(row, passkey_ceremonies.verify_assertion(assertion, page.party, row.public_key), at)
    except PasskeyRefused as refusal:
        events.passkey_refused(owner, visitor.client_ip, at, flow=flow, why=refusal.why)
        if refusal.why is Why.CLONED:
            events.passkey_cloned(row.user, visitor.client_ip, at, flow=flow, name=row.name)
        raise
    attempt.succeeded()
    return row.user, amr_of(row)


def amr_of(row: Passkey) -> tuple[str, ...]:
    """Return the methods that a passkey proves (``amr``): several factors, a key, and resistance to phishing."""
    key = SOFTWARE_KEY if row.backup_eligible else HARDWARE_KEY
    return (MULTI_FACTOR, key, PHISHING_RESISTANT)


def remove_all(user: User) -> None:
    """Delete the user's passkeys."""
    selectors.passkeys_of(user.pk).delete()


def _parsed(answer: object, user: User | None, visitor: Visitor, at: datetime, *, flow: str) -> Assertion:
    from accounts.sign_in import passkey_ceremonies  # noqa: PLC0415 - as above

    try:
        return passkey_ceremonies.parse_assertion(answer)
    except PasskeyRefused as refusal:
        events.attempt("passkey ?", visitor, at, flow=flow)
        events.passkey_refused(user, visitor.client_ip, at, flow=flow, why=refusal.why)
        raise


def _row_of(assertion: Assertion, party: RelyingParty, user: User | None) -> Passkey:
    """Return the passkey that answered, of an active user. Raises PasskeyRefused."""
    rows = Passkey.objects.select_related("user").filter(credential_id=assertion.credential_id, rp_id=party.id)
    row = rows.filter(user__is_active=True).first()
    if row is None or (user is not None and row.user_id != user.pk):
        raise PasskeyRefused(Why.UNKNOWN)
    if user is None and assertion.user_handle is None:
        raise PasskeyRefused(Why.UNKNOWN)  # WebAuthn section 7.2, step 6
    if assertion.user_handle not in {None, row.user_handle}:
        raise PasskeyRefused(Why.UNKNOWN)
    return row


def _use(row: Passkey, verified: Verified, at: datetime) -> None:
    """Store counter and time. Raises PasskeyRefused if the counter did not increase, except if it is always 0.

    One conditional update: of two answers with the same counter, one is accepted.
    """
    counted = Q(sign_count__lt=verified.sign_count)
    uncounted = Q(sign_count=0) if verified.sign_count == 0 else Q(pk__in=())
    changed = {"sign_count": verified.sign_count, "backed_up": verified.backed_up, "last_used_at": at}
    if not Passkey.objects.filter(counted | uncounted, pk=row.pk).update(**changed):
        raise PasskeyRefused(Why.CLONED)
