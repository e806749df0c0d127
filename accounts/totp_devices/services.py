"""Rename and remove authenticator apps; ``accounts.sign_in.totp`` sets them up."""

from django.db import transaction

from accounts.models import TotpDevice, User
from accounts.sign_in import second_factor, totp
from audit.event_kinds import EventKind
from audit.events.recording import Event, record_event
from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.refusals import Gone


def rename(row: TotpDevice, name: str) -> TotpDevice:
    """Change the name of an app. Raises ValidationError, Gone."""
    row.name = name
    row.full_clean(validate_unique=False)
    if not TotpDevice.objects.filter(pk=row.pk).update(name=name):
        raise Gone(_("it was deleted in the meantime"))
    return row


@transaction.atomic
def remove(row: TotpDevice, *, actor: str, client_ip: str | None = None) -> None:
    """Delete an app, which ends its codes, and with the last second factor the recovery codes. Raises Gone."""
    user = User.objects.select_for_update().filter(pk=row.user_id).first()
    if user is None or not TotpDevice.objects.filter(pk=row.pk).delete()[0]:
        raise Gone(_("it was deleted in the meantime"))
    second_factor.forget_stand_ins(user)
    kind = EventKind.TOTP_DEVICE_REMOVED if totp.is_set_up(user) else EventKind.TWO_FACTOR_DISABLED
    record_event(Event(kind, client_ip=client_ip, user=user, detail={"actor": actor, "device": row.name}))
