"""Sign-in method: codes of authenticator apps (TOTP). Set up an app, verify codes of any, remove all.

Each app has its own secret and its own last accepted time step (replay); guesses count for the account, not the app.
"""

import logging
from dataclasses import dataclass, field
from datetime import datetime

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from accounts import selectors
from accounts.models import TotpDevice, User
from accounts.remembered_devices import services as remembered_devices
from accounts.sign_in import recovery_codes, totp_codes
from audit.event_kinds import EventKind
from audit.events.recording import Event, record_event
from gatewall.credentials.sealing import SealBroken, Sealer
from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.refusals import Conflict, Gone, Invalid

logger = logging.getLogger(__name__)
MAX_DEVICES = 5
"""Authenticator apps per user."""


class TotpEnabled(Conflict):
    """The user has a confirmed app: another one needs a name."""

    code = "totp-enabled"


class TooManyTotpDevices(Conflict):
    """The user has the maximum number of authenticator apps."""

    code = "too-many-totp-devices"


class TotpNotSetUp(Conflict):
    """There is no secret to confirm."""

    code = "totp-not-set-up"


class WrongSetupCode(Invalid):
    """The code does not match the secret that was just set up."""

    code = "invalid-code"
    field = "code"


@dataclass(frozen=True, slots=True)
class Setup:
    """A secret to be confirmed by its first code."""

    secret: str = field(repr=False)
    otpauth_uri: str = field(repr=False)


def begin_setup(user: User, *, at: datetime, name: str = "") -> Setup:
    """Create a new secret, to be confirmed by a code; it replaces an unconfirmed one. Another app needs a name.

    Raises TotpEnabled, TooManyTotpDevices, ValidationError, Gone.
    """
    secret = totp_codes.new_secret()
    with transaction.atomic():
        _lock(user)
        confirmed = selectors.totp_devices_of(user.pk).count()
        if confirmed and not name:
            raise TotpEnabled("the second factor is on: give another app a name, or switch it off first")
        if confirmed >= MAX_DEVICES:
            raise TooManyTotpDevices(f"a user has at most {MAX_DEVICES} authenticator apps: remove one first")
        _pending(user).delete()
        sealed = Sealer(settings.GATEWALL_DATA_KEYS).seal(secret, context=sealing_context(user.pk))
        device = TotpDevice(user=user, name=name, sealed_secret=sealed, created_at=at)
        device.clean_fields(exclude=["user"])
        device.save(force_insert=True)
    return _setup(user, secret)


def pending_setup(user: User) -> Setup | None:
    """Return the unconfirmed secret; None if there is none or it cannot be decrypted."""
    device = _pending(user).first()
    secret = _secret(device) if device is not None else None
    return None if secret is None else _setup(user, secret)


@transaction.atomic
def confirm_setup(user: User, code: str, *, at: datetime, client_ip: str | None = None) -> list[str]:
    """Confirm the pending app. The first one enables the second factor: return recovery codes, never shown again.

    Return none for another app: the recovery codes remain valid. Raises TotpEnabled, TotpNotSetUp, WrongSetupCode,
    Gone.
    """
    _lock(user)
    device, is_first = _pending(user).first(), not is_set_up(user)
    if device is None and is_first:
        raise TotpNotSetUp("set an authenticator app up first")
    if device is None:
        raise TotpEnabled("the second factor is on already")
    step = _matching_step(device, totp_codes.plain(code), at)
    if step is None:
        raise WrongSetupCode("this is not the code that the app shows now")
    TotpDevice.objects.filter(pk=device.pk).update(confirmed_at=at, last_step=step)
    remembered_devices.forget_all(user)
    kind = EventKind.TWO_FACTOR_ENABLED if is_first else EventKind.TOTP_DEVICE_ADDED
    record_event(Event(kind, at, client_ip, user, detail={"device": device.name}))
    return recovery_codes.replace(user) if is_first else []


def remove(user: User) -> bool:
    """Delete all secrets, also of an unconfirmed setup; return whether an app was in use."""
    was_on = is_set_up(user)
    TotpDevice.objects.filter(user=user).delete()
    return was_on


def is_set_up(user: User) -> bool:
    """Return whether the user has confirmed an authenticator app."""
    return selectors.totp_devices_of(user.pk).exists()


def is_code(text: str) -> bool:
    """Return whether this looks like a code of an authenticator app, spaces ignored, not a recovery code."""
    return totp_codes.is_code(totp_codes.plain(text))


def use_code(user: User, code: str, at: datetime) -> bool:
    """Use up a code of any of the user's apps; return whether it is correct.

    Only one of concurrent uses succeeds, also across hosts.
    """
    typed = totp_codes.plain(code)
    # Check all apps before any is used, so that timing does not reveal which one matched.
    steps = {device.pk: _matching_step(device, typed, at) for device in selectors.totp_devices_of(user.pk)}
    return any(
        TotpDevice.objects.filter(pk=pk, last_step__lt=step).update(last_step=step, last_used_at=at)
        for pk, step in steps.items()
        if step is not None
    )


def _setup(user: User, secret: bytes) -> Setup:
    return Setup(totp_codes.base32(secret), totp_codes.otpauth_uri(secret, user.username))


def _lock(user: User) -> None:
    """Lock the user's row. Raises Gone if they were deleted."""
    if not User.objects.select_for_update().filter(pk=user.pk).exists():
        raise Gone(_("the user was deleted in the meantime"))


def _pending(user: User) -> QuerySet[TotpDevice]:
    """Return the app that waits to be confirmed."""
    return TotpDevice.objects.filter(user=user, confirmed_at__isnull=True)


def _matching_step(device: TotpDevice, code: str, at: datetime) -> int | None:
    """Return the time step of a correct code, else None."""
    secret = _secret(device)
    return (
        totp_codes.matching_step(secret, code, at=at.timestamp(), after=device.last_step)
        if secret is not None
        else None
    )


def _secret(device: TotpDevice) -> bytes | None:
    """Return the decrypted secret, or None and log why."""
    try:
        return Sealer(settings.GATEWALL_DATA_KEYS).open(device.sealed_secret, context=sealing_context(device.user_id))
    except SealBroken:
        text = "the second factor of user %d cannot be decrypted: GATEWALL_DATA_KEYS does not contain its key"
        logger.error(text, device.user_id)  # noqa: TRY400 - says it all
        return None


def sealing_context(user_id: int) -> str:
    """Return the sealing context, which binds a secret to its user, so that no other user's can replace it."""
    return f"totp:{user_id}"
