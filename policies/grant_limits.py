"""Limits of the number and duration of grants, share links and device passes. No I/O but the clock."""

from datetime import datetime, timedelta

from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

MAX_GRANTS = 1_000
MAX_SHARE_LINKS = 1_000
MAX_DEVICE_PASSES = 1_000
MAX_DEVICE_PASSES_OF_A_USER = 20
MAX_HOURS_OF_A_PASS = 24
MAX_DAYS = 30


def require_valid_end(expires_at: datetime, *, most: timedelta = timedelta(days=MAX_DAYS)) -> None:
    """Raise ValidationError unless the end is in the future and at most ``most`` ahead, by default 30 days."""
    now = timezone.now()
    if expires_at <= now:
        raise ValidationError({"expires_at": ValidationError(_("a time in the future"), "invalid")})
    if expires_at > now + most:
        words = _("at most %(days)s days ahead") if most.days > 1 else _("at most 24 hours ahead")
        raise ValidationError({"expires_at": ValidationError(words, "invalid", {"days": most.days})})
