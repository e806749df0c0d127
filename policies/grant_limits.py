"""How many grants and share links there may be, and for how long. No I/O but the clock."""

from datetime import datetime, timedelta

from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

MAX_GRANTS = 1_000
MAX_SHARE_LINKS = 1_000
MAX_DAYS = 30


def require_valid_end(expires_at: datetime) -> None:
    """Raise ValidationError unless a grant that ends then has yet to end, and does so within 30 days."""
    now = timezone.now()
    if expires_at <= now:
        raise ValidationError({"expires_at": ValidationError(_("a moment that is yet to come"), "invalid")})
    if expires_at > now + timedelta(days=MAX_DAYS):
        words = _("at most %(days)s days ahead")
        raise ValidationError({"expires_at": ValidationError(words, "invalid", {"days": MAX_DAYS})})
