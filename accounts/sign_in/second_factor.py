"""Disable second factors, and delete lost ones."""

from django.db import transaction

from accounts import selectors
from accounts.models import User
from accounts.remembered_devices import services as remembered_devices
from accounts.sign_in import passkey, recovery_codes, totp, wrong_codes
from audit.event_kinds import EventKind
from audit.events.recording import Event, record_event
from gatewall.kernel.refusals import Gone


def switch_off_app(user: User, *, actor: str, client_ip: str | None = None) -> None:
    """Remove all authenticator apps, and with the last second factor the recovery codes. Raises Gone if none is on."""
    with transaction.atomic():
        if not totp.remove(user):
            raise Gone("the second factor is not on")
        forget_stand_ins(user)
        event = Event(EventKind.TWO_FACTOR_DISABLED, client_ip=client_ip, user=user, detail={"actor": actor})
        record_event(event)


def forget_stand_ins(user: User) -> None:
    """Reset the count of wrong codes and forget devices; delete the recovery codes unless a second factor is left."""
    wrong_codes.forget(user)
    remembered_devices.forget_all(user)
    if not selectors.has_second_factor(user):
        recovery_codes.remove(user)


def forget(user: User) -> None:
    """Delete every second factor with the recovery codes, also an unconfirmed setup."""
    totp.remove(user)
    passkey.remove_all(user)
    recovery_codes.remove(user)
    wrong_codes.forget(user)
    remembered_devices.forget_all(user)
