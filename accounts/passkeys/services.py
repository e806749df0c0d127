"""Register, rename and remove passkeys."""

from base64 import urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.crypto import salted_hmac

from accounts import selectors
from accounts.models import Passkey, User
from accounts.remembered_devices import services as remembered_devices
from accounts.sign_in import (
    events,
    methods,
    passkey,
    passkey_challenges,
    recovery_codes,
    second_factor,
)
from accounts.sign_in.passkey import PasskeyPage
from accounts.sign_in.passkey_refusals import PasskeyRefused, Why
from accounts.visitor import Visitor
from audit.event_kinds import EventKind
from audit.events.recording import Event, record_event
from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.refusals import Conflict, Gone

MAX_PASSKEYS = 20
"""Passkeys per user."""
FLOW = "passkey-registration"
_SALT = "accounts.passkeys.services"


class TooManyPasskeys(Conflict):
    """The user has the maximum number of passkeys."""

    code = "too-many-passkeys"


class LastWayIn(Conflict):
    """The user has no other way to sign in than this passkey."""

    code = "last-way-in"


@dataclass(frozen=True, slots=True)
class Registered:
    """A new passkey and, if it is the first second factor of its user, their recovery codes."""

    passkey: Passkey
    recovery_codes: Sequence[str] = field(repr=False)


def begin(user: User, page: PasskeyPage, session: str, *, username: str = "", at: datetime) -> dict[str, Any]:
    """Return the options of ``navigator.credentials.create()``, for a session or a link. Raises TooManyPasskeys.

    ``username``: the name for the authenticator, if the user is about to change their name.
    """
    from accounts.sign_in import passkey_ceremonies  # noqa: PLC0415 - 5 MiB

    _refuse_too_many(user)
    challenge = passkey_challenges.begin(_purpose(user, session), page.browser_secret, at=at)
    known = passkey.known_passkeys(user, page.party)
    handle = _handle_of(user)
    return passkey_ceremonies.registration_options(
        page.party, challenge, user_handle=handle, username=username or user.username, known=known
    )


def register(
    user: User, answer: object, *, name: str, page: PasskeyPage, session: str, visitor: Visitor, at: datetime
) -> Registered:
    """Register the passkey that an authenticator created.

    Raises PasskeyRefused, TooManyPasskeys, ValidationError, Gone.
    """
    return save(verified(user, answer, name=name, page=page, session=session, visitor=visitor, at=at), visitor, at=at)


def verified(
    user: User, answer: object, *, name: str, page: PasskeyPage, session: str, visitor: Visitor, at: datetime
) -> Passkey:
    """Verify the passkey that an authenticator created; return it unsaved. Raises PasskeyRefused."""
    from accounts.sign_in import passkey_ceremonies  # noqa: PLC0415 - as above

    try:
        challenge = passkey_ceremonies.challenge_of_registration(answer)
        passkey_challenges.use_up(challenge, _purpose(user, session), page.browser_secret, at=at)
        new = passkey_ceremonies.verify_registration(answer, page.party, challenge)
    except PasskeyRefused as refusal:
        events.passkey_refused(user, visitor.client_ip, at, flow=FLOW, why=refusal.why)
        raise
    return Passkey(user=user, created_by=user.username, name=name, rp_id=page.party.id, **asdict(new))


def save(row: Passkey, visitor: Visitor, *, at: datetime) -> Registered:
    """Save a verified passkey. Raises PasskeyRefused, TooManyPasskeys, ValidationError, Gone."""
    try:
        return _save_new(row, visitor, at)
    except PasskeyRefused as refusal:
        events.passkey_refused(row.user, visitor.client_ip, at, flow=FLOW, why=refusal.why)
        raise


def rename(row: Passkey, name: str) -> Passkey:
    """Change the name of a passkey. Raises ValidationError, Gone."""
    row.name = name
    row.full_clean(validate_unique=False)
    if not Passkey.objects.filter(pk=row.pk).update(name=name):
        raise Gone(_("it was deleted in the meantime"))
    return row


@transaction.atomic
def remove(row: Passkey, *, actor: str, client_ip: str | None = None) -> None:
    """Delete a passkey, and with the last second factor the recovery codes. Raises LastWayIn, Gone."""
    user = _locked(row.user)
    is_last = not selectors.passkeys_of(user.pk).exclude(pk=row.pk).exists()
    if is_last and not any(method.name != passkey.NAME for method in methods.first_methods_of(user)):
        raise LastWayIn(_("this passkey is the only way to sign in: add another one, or set a password, before"))
    if not Passkey.objects.filter(pk=row.pk).delete()[0]:
        raise Gone(_("it was deleted in the meantime"))
    second_factor.forget_stand_ins(user)
    detail = {"actor": actor, "passkey": row.name}
    record_event(Event(EventKind.PASSKEY_REMOVED, client_ip=client_ip, user=user, detail=detail))


@transaction.atomic
def _save_new(row: Passkey, visitor: Visitor, at: datetime) -> Registered:
    user = _locked(row.user)
    _refuse_too_many(user)
    row.user_handle = _handle_of(user)
    row.full_clean(validate_unique=False)
    is_first = not selectors.has_second_factor(user)
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        raise PasskeyRefused(Why.REGISTERED) from None
    codes = recovery_codes.replace(user) if is_first else []
    remembered_devices.forget_all(user)
    detail = {"passkey": row.name, "backed_up": row.backed_up}
    record_event(Event(EventKind.PASSKEY_ADDED, at, visitor.client_ip, user, detail=detail))
    return Registered(row, codes)


def _refuse_too_many(user: User) -> None:
    if selectors.passkeys_of(user.pk).count() >= MAX_PASSKEYS:
        raise TooManyPasskeys(f"a user has at most {MAX_PASSKEYS} passkeys: remove one that is not needed")


def _locked(user: User) -> User:
    """Lock the user's row and return the user. Raises Gone."""
    found = User.objects.select_for_update().filter(pk=user.pk).first()
    if found is None:
        raise Gone(_("the user was deleted in the meantime"))
    return found


def _handle_of(user: User) -> str:
    """Return the id of the user in authenticators, which reveals nothing (WebAuthn section 14.6.1).

    Reuses the id of existing passkeys, so that an authenticator replaces its old one.
    """
    known = selectors.passkeys_of(user.pk).values_list("user_handle", flat=True).first()
    digest = salted_hmac(_SALT, str(user.pk), algorithm="sha256").digest()
    return known or urlsafe_b64encode(digest).decode().rstrip("=")


def _purpose(user: User, session: str) -> str:
    return f"{FLOW} {user.pk} {session}"
