"""Queries of remembered devices. Read-only."""

from datetime import datetime, timedelta

from django.db.models import F, Q, QuerySet

from accounts.remembered_models import RememberedDevice
from gatewall.policy import system_settings


def live_devices(user_id: int, at: datetime) -> QuerySet[RememberedDevice]:
    """Return the live remembered devices of a user. A lower ``remember_device_days`` applies at once; 0 ends all."""
    since = at - timedelta(days=system_settings.current().remember_device_days)
    return RememberedDevice.objects.filter(
        user_id=user_id,
        user__is_active=True,
        session_version=F("user__session_version"),
        created_at__gt=since,
        expires_at__gt=at,
    )


def ended_devices(at: datetime) -> QuerySet[RememberedDevice]:
    """Return the devices that have expired, or ended with the sessions of their user."""
    return RememberedDevice.objects.filter(Q(expires_at__lte=at) | ~Q(session_version=F("user__session_version")))
