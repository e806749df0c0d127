"""Detect a wrong clock without a network: compare it with the times in the database and the database server's clock."""

from datetime import UTC, datetime, timedelta

from django.db.models import Max
from django.utils import timezone

from gatewall.models import Node, PolicyRevision
from gatewall.publication import nodes

TOLERANCE = timedelta(minutes=2)
_FORM = "%Y-%m-%d %H:%M:%S"
FIX = "Set the clock by a time server (`timedatectl set-ntp true`) and restart Gatewall."


def problem() -> str:
    """Return why the clock of this host must be wrong, empty if nothing contradicts it. Raises django.db.Error."""
    now, server = timezone.now(), nodes.database_now()
    shown = f"the clock of this host shows {_text(now)} UTC"
    if abs(server - now) > TOLERANCE:
        return f"{shown}, but that of the database server {_text(server)} UTC"
    latest = _latest_entry()
    if latest is not None and latest - now > TOLERANCE:
        return f"{shown}, but the database has an entry of {_text(latest)} UTC"
    return ""


def _latest_entry() -> datetime | None:
    """Return the latest time at which a host reported or the policy changed."""
    seen = Node.objects.aggregate(latest=Max("seen_at"))["latest"]
    changed = PolicyRevision.objects.order_by("-number").values_list("committed_at", flat=True).first()
    return max((at for at in (seen, changed) if at is not None), default=None)


def _text(at: datetime) -> str:
    return at.astimezone(UTC).strftime(_FORM)
