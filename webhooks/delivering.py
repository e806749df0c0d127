"""Send due webhook notices and record the result."""

from datetime import datetime, timedelta

from django.utils import timezone

from gatewall.kernel.posting import Posted, post
from webhooks import outbox, services, signing
from webhooks.models import Webhook
from webhooks.outbox import Claimed

SECONDS = 10.0
"""Timeout of an attempt."""
DISABLED_AFTER = timedelta(days=3)
"""Disable a webhook after this time of continuous failure."""
_GONE = 410
_USER_AGENT = "Gatewall-Webhooks/1"


def attempt(claimed: Claimed) -> Posted:
    """Send a claimed delivery and return the result. Uses no database connection, as it may take long."""
    if not claimed.keys:
        return Posted(failure="the secret cannot be decrypted: GATEWALL_DATA_KEYS does not contain its key")
    webhook, notice = claimed.delivery.webhook, claimed.delivery.notice
    now, body = int(timezone.now().timestamp()), notice.body.encode()
    headers = {
        "Content-Type": "application/json",
        "User-Agent": _USER_AGENT,
        **signing.headers(notice.message_id, now, body, claimed.keys),
    }
    reach = services.reach_of(allow_private=webhook.allow_private)
    return post(webhook.url, body, headers, reach=reach, seconds=SECONDS)


def settle(claimed: Claimed, posted: Posted, at: datetime) -> None:
    """Record the result of an attempt. Disable a webhook that responded 410 or has failed for days."""
    if posted.is_taken and posted.status is not None:
        outbox.note_delivered(claimed, posted.status, at)
        return
    is_gone = posted.status == _GONE
    failure = posted.failure or f"the answer was {posted.status}"
    outbox.note_failed(claimed, posted.status, failure, at, is_final=is_gone)
    if is_gone:
        services.switch_off(claimed.webhook_id, why="gone")
    elif Webhook.objects.filter(pk=claimed.webhook_id, failing_since__lte=at - DISABLED_AFTER).exists():
        services.switch_off(claimed.webhook_id, why="failing")
