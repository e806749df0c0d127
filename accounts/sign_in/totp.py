"""Sign-in method: codes of an authenticator app (TOTP). Set it up, verify codes, remove it."""

import logging
from dataclasses import dataclass, field
from datetime import datetime

from django.conf import settings
from django.db import transaction

from accounts.models import TotpDevice, User
from accounts.remembered_devices import services as remembered_devices
from accounts.sign_in import recovery_codes, totp_codes
from audit.event_kinds import EventKind
from audit.events.recording import Event, record_event
from gatewall.credentials.sealing import SealBroken, Sealer
from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.refusals import Conflict, Gone, Invalid

logger = logging.getLogger(__name__)


class TotpEnabled(Conflict):
    """The second factor is on: disable it before setting up another app."""

    code = "totp-enabled"


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


def begin_setup(user: User, *, at: datetime) -> Setup:
    """Create a new secret, to be confirmed by a code. Raises TotpEnabled, Gone."""
    secret = totp_codes.new_secret()
    with transaction.atomic():
        device = _locked_device(user)
        if device is not None and device.confirmed_at is not None:
            raise TotpEnabled("the second factor is on: switch it off first")
        TotpDevice.objects.filter(user=user).delete()
        sealed = Sealer(settings.GATEWALL_DATA_KEYS).seal(secret, context=sealing_context(user.pk))
        TotpDevice.objects.create(user=user, sealed_secret=sealed, created_at=at)
    return _setup(user, secret)


def pending_setup(user: User) -> Setup | None:
    """Return the unconfirmed secret; None if there is none or it cannot be decrypted."""
    device = TotpDevice.objects.filter(user=user, confirmed_at__isnull=True).first()
    secret = _secret(device) if device is not None else None
    return None if secret is None else _setup(user, secret)


@transaction.atomic
def confirm_setup(user: User, code: str, *, at: datetime, client_ip: str | None = None) -> list[str]:
    """Enable the second factor and return its recovery codes, which cannot be shown again.

    Raises TotpEnabled, TotpNotSetUp, WrongSetupCode, Gone.
    """
    device = _locked_device(user)
    if device is None:
        raise TotpNotSetUp("set an authenticator app up first")
    if device.confirmed_at is not None:
        raise TotpEnabled("the second factor is on already")
    step = _matching_step(device, totp_codes.plain(code), at)
    if step is None:
        raise WrongSetupCode("this is not the code that the app shows now")
    TotpDevice.objects.filter(user=user).update(confirmed_at=at, last_step=step)
    remembered_devices.forget_all(user)
    record_event(Event(EventKind.TWO_FACTOR_ENABLED, at, client_ip, user))
    return recovery_codes.replace(user)


def remove(user: User) -> bool:
    """Delete the secret, also of an unconfirmed setup; return whether the app was in use."""
    was_on = is_set_up(user)
    TotpDevice.objects.filter(user=user).delete()
    return was_on


def is_set_up(user: User) -> bool:
    """Return whether the user has confirmed an authenticator app."""
    return TotpDevice.objects.filter(user=user, confirmed_at__isnull=False).exists()


def is_code(text: str) -> bool:
    """Return whether this looks like a code of an authenticator app, spaces ignored, not a recovery code."""
    return totp_codes.is_code(totp_codes.plain(text))


def use_code(user: User, code: str, at: datetime) -> bool:
    """Use up a code; return whether it is correct. Only one of concurrent uses succeeds, also across hosts."""
    device = TotpDevice.objects.filter(user=user, confirmed_at__isnull=False).first()
    step = _matching_step(device, totp_codes.plain(code), at) if device is not None else None
    if device is None or step is None:
        return False
    # Do not compare the sealed text: key rotation seals the same secret again.
    unused = TotpDevice.objects.filter(user=user, last_step__lt=step, created_at=device.created_at)
    return bool(unused.update(last_step=step))


def _setup(user: User, secret: bytes) -> Setup:
    return Setup(totp_codes.base32(secret), totp_codes.otpauth_uri(secret, user.username))


def _locked_device(user: User) -> TotpDevice | None:
    """Return the device and lock its user's row. Raises Gone if the user was deleted."""
    if not User.objects.select_for_update().filter(pk=user.pk).exists():
        raise Gone(_("the user was deleted in the meantime"))
    return TotpDevice.objects.filter(user=user).first()


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
        logger.error("the second factor of user %d cannot be opened: GATEWALL_DATA_KEYS lacks its key", device.user_id)  # noqa: TRY400 - says it all
        return None


def sealing_context(user_id: int) -> str:
    """Return the sealing context, which binds a secret to its user's row."""
    return f"totp:{user_id}"
