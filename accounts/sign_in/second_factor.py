"""Enable, verify and disable the second factor: TOTP and recovery codes."""

import hashlib
import logging
import secrets
from dataclasses import dataclass, field
from datetime import datetime

from django.conf import settings
from django.db import transaction

from accounts import selectors
from accounts.models import RecoveryCode, TotpDevice, User
from accounts.sign_in import totp, wrong_codes
from audit.event_kinds import EventKind
from audit.events.recording import Event, record_event
from gatewall.credentials.sealing import SealBroken, Sealer
from gatewall.engine import auth_methods
from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.refusals import Conflict, Gone, Invalid

logger = logging.getLogger(__name__)

CODES = 10
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: no i, l, o, u
_LENGTH, _GROUP = 16, 4  # 80 random bits: a fast hash is enough


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
    secret = totp.new_secret()
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
    step = _matching_step(device, _plain(code), at)
    if step is None:
        raise WrongSetupCode("this is not the code that the app shows now")
    TotpDevice.objects.filter(user=user).update(confirmed_at=at, last_step=step)
    record_event(Event(EventKind.TWO_FACTOR_ENABLED, at, client_ip, user))
    return _new_recovery_codes(user)


def switch_off(user: User, *, actor: str, client_ip: str | None = None) -> None:
    """Delete secret and recovery codes. Raises Gone if the second factor is off."""
    with transaction.atomic():
        RecoveryCode.objects.filter(user=user).delete()
        if not TotpDevice.objects.filter(user=user, confirmed_at__isnull=False).delete()[0]:
            raise Gone("the second factor is not on")
        wrong_codes.forget(user)
        event = Event(EventKind.TWO_FACTOR_DISABLED, client_ip=client_ip, user=user, detail={"actor": actor})
        record_event(event)


def forget(user: User) -> None:
    """Delete secret and recovery codes, also of an unconfirmed setup."""
    RecoveryCode.objects.filter(user=user).delete()
    TotpDevice.objects.filter(user=user).delete()
    wrong_codes.forget(user)


def is_app_code(code: str) -> bool:
    """Return whether this looks like a code of an authenticator app, spaces ignored, not a recovery code."""
    return totp.is_code(_plain(code))


def use_code(user: User, code: str, *, at: datetime) -> str | None:
    """Use up a code and return its method (``otp``, or ``mfa`` for a recovery code), or None if it is wrong.

    Only one of concurrent uses of a code succeeds, also across hosts.
    """
    text = _plain(code)
    if totp.is_code(text):
        return auth_methods.APP_CODE if _use_totp(user, text, at) else None
    used = RecoveryCode.objects.filter(user=user, digest=_digest(user, text)).delete()[0]
    return auth_methods.RECOVERY_CODE if used and selectors.has_second_factor(user) else None


def _setup(user: User, secret: bytes) -> Setup:
    return Setup(totp.base32(secret), totp.otpauth_uri(secret, user.username))


def _use_totp(user: User, code: str, at: datetime) -> bool:
    device = TotpDevice.objects.filter(user=user, confirmed_at__isnull=False).first()
    if device is None:
        return False
    step = _matching_step(device, code, at)
    if step is None:
        return False
    # Do not compare the sealed text: key rotation seals the same secret again.
    unused = TotpDevice.objects.filter(user=user, last_step__lt=step, created_at=device.created_at)
    return bool(unused.update(last_step=step))


def _new_recovery_codes(user: User) -> list[str]:
    codes = ["".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH)) for _ in range(CODES)]
    RecoveryCode.objects.filter(user=user).delete()
    RecoveryCode.objects.bulk_create(RecoveryCode(user=user, digest=_digest(user, code)) for code in codes)
    return ["-".join(code[start : start + _GROUP] for start in range(0, _LENGTH, _GROUP)) for code in codes]


def _plain(code: str) -> str:
    """Normalize a code: without whitespace and hyphens, in lower case."""
    return "".join(code.split()).replace("-", "").lower()


def _digest(user: User, code: str) -> str:
    return hashlib.sha256(f"recovery-code:{user.pk}:{code}".encode("utf-8", "replace")).hexdigest()


def _locked_device(user: User) -> TotpDevice | None:
    """Return the device and lock its user's row. Raises Gone if the user was deleted."""
    if not User.objects.select_for_update().filter(pk=user.pk).exists():
        raise Gone(_("the user was deleted in the meantime"))
    return TotpDevice.objects.filter(user=user).first()


def _matching_step(device: TotpDevice, code: str, at: datetime) -> int | None:
    """Return the time step of a correct code, else None."""
    secret = _secret(device)
    return totp.matching_step(secret, code, at=at.timestamp(), after=device.last_step) if secret is not None else None


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
