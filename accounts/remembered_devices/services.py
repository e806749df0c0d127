"""Remember browsers at a sign-in with the second factor, recognize them after the password, and forget them.

A remembered device proves nothing: the session contains only the authentication methods that were proved (``amr``), so
it gives no access where a second factor is required.
"""

import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import transaction

from accounts.models import User
from accounts.remembered_cookie import digest_of
from accounts.remembered_devices import selectors
from accounts.remembered_models import RememberedDevice
from accounts.visitor import Visitor
from audit.event_kinds import EventKind
from audit.events.recording import Event, record_event
from audit.spool.masking import masked_text
from audit.spool.records import storable
from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.refusals import Gone
from gatewall.policy import system_settings

MAX_DEVICES = 20
"""Remembered devices per user; another one replaces the oldest."""
_LONGEST_AGENT = 256
_PRUNED_AT_ONCE = 1000


@transaction.atomic
def remember(user: User, *, visitor: Visitor, at: datetime) -> str:
    """Remember the browser of a user who has just proved the second factor; return its secret.

    Return "" if remembering is off. Raises Gone.
    """
    days = system_settings.current().remember_device_days
    if not days:
        return ""
    if not User.objects.select_for_update().filter(pk=user.pk, session_version=user.session_version).exists():
        raise Gone(_("the user was deleted in the meantime"))
    secret = secrets.token_urlsafe(32)
    agent = storable(masked_text(visitor.user_agent), _LONGEST_AGENT)
    RememberedDevice.objects.create(
        user=user,
        digest=digest_of(secret),
        session_version=user.session_version,
        created_at=at,
        expires_at=at + timedelta(days=days),
        client_ip=visitor.client_ip,
        user_agent=agent,
    )
    oldest = RememberedDevice.objects.filter(user=user).order_by("-created_at", "-pk").values_list("pk", flat=True)
    RememberedDevice.objects.filter(pk__in=list(oldest[MAX_DEVICES : MAX_DEVICES + _PRUNED_AT_ONCE])).delete()
    detail = {"user_agent": agent, "days": days}
    record_event(Event(EventKind.DEVICE_REMEMBERED, at, visitor.client_ip, user, detail=detail))
    return secret


def recognize(user: User, held: Iterable[tuple[int, str]], *, at: datetime) -> bool:
    """Return whether a secret from the browser's cookie is that of a live remembered device of the user."""
    digests = [digest_of(secret) for user_id, secret in held if user_id == user.pk]
    if not digests:
        return False
    found = selectors.live_devices(user.pk, at).filter(digest__in=digests)
    return bool(found.update(last_used_at=at))


def forget(row: RememberedDevice, *, actor: str, client_ip: str | None = None) -> None:
    """Delete a remembered device: its browser is asked for the second factor again. Raises Gone."""
    with transaction.atomic():
        if not RememberedDevice.objects.filter(pk=row.pk).delete()[0]:
            raise Gone(_("it was deleted in the meantime"))
        detail = {"actor": actor, "user_agent": row.user_agent}
        record_event(Event(EventKind.DEVICE_FORGOTTEN, client_ip=client_ip, user=row.user, detail=detail))


def forget_all(user: User) -> None:
    """Delete all remembered devices of a user, because a second factor was added or removed."""
    RememberedDevice.objects.filter(user=user).delete()


def prune(at: datetime) -> int:
    """Delete devices that have expired or ended with the sessions of their user, at most 1,000; return how many."""
    over = selectors.ended_devices(at).order_by("expires_at").values_list("pk", flat=True)
    return RememberedDevice.objects.filter(pk__in=list(over[:_PRUNED_AT_ONCE])).delete()[0]
