"""Group security events into incidents, and create a notice when one begins and ends.

An incident is consecutive events of one kind about one client (an IPv6 /64), account or host. All bans during an attack
on many accounts are one incident. Each event of a kind in ``SINGLE`` has its own notice.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from audit.event_kinds import EventKind
from audit.events.recording import Event, EventCount
from audit.models import SecurityEvent
from gatewall.database.prepared import Prepared
from gatewall.database.sqlite.changes import count_this_change
from gatewall.engine.addresses import canonical_text, parse_address
from gatewall.kernel.detectors import Detector, network_of
from gatewall.policy import system_settings
from policies.models import BlocklistEntry
from webhooks import notices, outbox, selectors
from webhooks.models import Incident, Notice, Webhook
from webhooks.outbox import Draft

_ENABLED = Prepared(lambda: Webhook.objects.filter(enabled=True))  # read for each event
SINGLE = frozenset(
    {
        EventKind.LOGIN_SUCCEEDED,
        EventKind.TWO_FACTOR_ENABLED,
        EventKind.TWO_FACTOR_DISABLED,
        EventKind.TWO_FACTOR_RECOVERED,
        EventKind.TOTP_DEVICE_ADDED,
        EventKind.TOTP_DEVICE_REMOVED,
        EventKind.DEVICE_REMEMBERED,
        EventKind.DEVICE_FORGOTTEN,
        EventKind.PASSKEY_ADDED,
        EventKind.PASSKEY_REMOVED,
        EventKind.SESSION_REVOKED,
        EventKind.USER_CHANGED,
        EventKind.POLICY_CHANGED,
        EventKind.SETTINGS_CHANGED,
        EventKind.TOKEN_ISSUED,
        EventKind.TOKEN_REVOKED,
        EventKind.WEBHOOK_DISABLED,
        EventKind.WAF_MONITORING_ENDED,
        EventKind.USER_INVITED,
        EventKind.PASSWORD_CHANGED,
        EventKind.ACCESS_REQUESTED,
        EventKind.ACCESS_GRANTED,
        EventKind.ACCESS_REFUSED,
        EventKind.GRANT_CREATED,
        EventKind.GRANT_CHANGED,
        EventKind.GRANT_DELETED,
        EventKind.SHARE_LINK_CREATED,
        EventKind.SHARE_LINK_CHANGED,
        EventKind.SHARE_LINK_DELETED,
        EventKind.SHARE_LINK_OPENED,
        EventKind.DEVICE_PASS_CREATED,
        EventKind.DEVICE_PASS_DELETED,
    }
)
"""Kinds of single actions, which have no end."""
MAX_OPEN = 1_000
"""Open incidents per kind; further ones share one incident."""
_BATCH = 500
_TRIES = 3
_LONGEST_QUIET = timedelta(days=1, hours=1)
_LONGEST_BAN = timedelta(days=30, hours=1)
"""Maxima of the settings plus an hour of clock skew: a later end was set before the clock moved back."""
_CATCH_ALL = "others"
_SIGN_IN_DETECTORS = frozenset({Detector.BRUTE_FORCE.value, Detector.STUFFING.value})
_ATTACK_KINDS = frozenset({EventKind.CLIENT_BANNED, EventKind.CLIENT_SUSPECTED})


@dataclass(slots=True)
class _Occurrences:
    """Aggregated events of one incident; ``until`` is the end of a ban."""

    event: Event
    count: int
    first_at: datetime
    last_at: datetime
    until: datetime | None
    ban: int | None

    def add(self, other: "_Occurrences") -> None:
        """Merge other events into these. A merged ban has no single ban id."""
        self.count += other.count
        self.first_at, self.last_at = min(self.first_at, other.first_at), max(self.last_at, other.last_at)
        self.until = max(filter(None, (self.until, other.until)), default=None)
        self.ban = None


def create_notices(event_counts: Sequence[EventCount]) -> None:
    """Create notices of security events for the webhooks that want them, in the caller's transaction."""
    webhooks = list(_ENABLED())
    wanted = [
        event_count
        for event_count in event_counts
        if any(selectors.wants(each, event_count.event.kind) for each in webhooks)
    ]
    if not wanted:
        return
    count_this_change()  # a thread of the agent sends the notices
    outbox.put(
        _first_notice(_occurrences_of(event_count), webhooks)
        for event_count in wanted
        if event_count.event.kind in SINGLE
    )
    window = timedelta(minutes=system_settings.current().webhook_incident_minutes)
    found = _grouped((event_count for event_count in wanted if event_count.event.kind not in SINGLE), window)
    ordered = sorted(found)  # sorted, so that concurrent writers lock incidents in the same order
    for start in range(0, len(ordered), _BATCH):
        part = _limit_open({key: found[key] for key in ordered[start : start + _BATCH]})
        outbox.put(_first_notice(seen, webhooks, incident) for incident, seen in _add_to_incidents(part, window))


def are_open() -> bool:
    """Return whether any incident is open, so that one may end."""
    return Incident.objects.filter(open_key__isnull=False).exists()


def close_ended(at: datetime, *, at_most: int = 200) -> int:
    """Close incidents that are over, each with a notice; return how many."""
    over = Incident.objects.filter(_is_over(at)).order_by("ends_at")
    return sum(_close(pk, at) for pk in list(over.values_list("pk", flat=True)[:at_most]))


@transaction.atomic
def _close(pk: UUID, at: datetime) -> bool:
    incident = Incident.objects.select_for_update().filter(_is_over(at), pk=pk).first()
    if incident is None:
        return False  # it continued in the meantime, or another host closed it
    why = "quiet"
    if incident.kind == EventKind.CLIENT_BANNED:
        why = "ban-expired" if incident.ends_at <= at else "ban-lifted"
    incident.open_key, incident.ends_at = None, at
    incident.save(update_fields=["open_key", "ends_at"])
    for notice in incident.notices.all():  # one, or none if every outbox was full
        _add_end_notice(incident, notice, at, why)
    return True


def _add_end_notice(incident: Incident, notice: Notice, at: datetime, why: str) -> None:
    receivers = Webhook.objects.filter(enabled=True, deliveries__notice=notice)
    data = notices.ended(notice.data, count=incident.count, last_at=incident.last_at, at=at, why=why)
    # without a limit: at most one per notice of a beginning
    outbox.put([Draft(f"{incident.kind}.ended", at, lambda: data, list(receivers), incident)], is_limited=False)


def _is_over(at: datetime) -> Q:
    """Return the condition of open incidents that have ended, whose ban was lifted, or that a wrong clock left open."""
    is_lifted = Q(ban__isnull=False) & ~Exists(BlocklistEntry.objects.filter(pk=OuterRef("ban")))
    is_ban = Q(kind=EventKind.CLIENT_BANNED)
    is_lost = Q(~is_ban, ends_at__gt=at + _LONGEST_QUIET) | Q(is_ban, ends_at__gt=at + _LONGEST_BAN)
    return Q(open_key__isnull=False) & (Q(ends_at__lte=at) | is_lifted | is_lost)


def _occurrences_of(event_count: EventCount) -> _Occurrences:
    at, (until, ban) = event_count.moment, _ban_of(event_count.event)
    return _Occurrences(event_count.event, event_count.count, at, event_count.last_at or at, until, ban)


def _first_notice(seen: _Occurrences, webhooks: Iterable[Webhook], incident: Incident | None = None) -> Draft:
    """Return the notice of a new incident, or of a single event."""
    event = seen.event
    return Draft(
        event.kind.value,
        seen.first_at,
        lambda: notices.begun(
            event,
            incident=str(incident.pk) if incident else None,
            count=seen.count,
            first_at=seen.first_at,
            last_at=seen.last_at,
        ),
        [webhook for webhook in webhooks if selectors.wants(webhook, event.kind)],
        incident,
    )


def _grouped(event_counts: Iterable[EventCount], window: timedelta) -> dict[str, _Occurrences]:
    found: dict[str, _Occurrences] = {}
    is_attack: bool | None = None
    for event_count in event_counts:
        event, seen = event_count.event, _occurrences_of(event_count)
        group = _group_of(event)
        if event.kind in _ATTACK_KINDS and event.detail.get("detector") in _SIGN_IN_DETECTORS:
            is_attack = _is_attack(event_count.moment - window) if is_attack is None else is_attack
            if is_attack:
                group, seen.ban = "attack", None
        key = f"{event.kind} {group}"[:120]
        if key in found:
            found[key].add(seen)
        else:
            found[key] = seen
    return found


def _group_of(event: Event) -> str:
    """Return the key to group events by: the client's network, else the account, else the host."""
    client = parse_address(event.client_ip or "")
    if client is not None:
        return canonical_text(network_of(client))
    if event.user is not None:
        return f"user {event.user.pk}"
    return f"node {event.detail.get('node', '')}"


def _is_attack(since: datetime) -> bool:
    return SecurityEvent.objects.filter(kind=EventKind.ATTACK_DETECTED, last_at__gte=since).exists()


def _ban_of(event: Event) -> tuple[datetime | None, int | None]:
    """Return expiry and id of the ban of an event; None for each that it does not have."""
    if event.kind != EventKind.CLIENT_BANNED or "expires_at" not in event.detail:
        return None, None
    return datetime.fromisoformat(event.detail["expires_at"]), event.detail.get("entry")


def _limit_open(seen: dict[str, _Occurrences]) -> dict[str, _Occurrences]:
    """Merge new events of kinds with too many open incidents into one catch-all incident per kind."""
    are_open = set(Incident.objects.filter(open_key__in=seen).values_list("open_key", flat=True))
    room: dict[EventKind, int] = {}
    kept: dict[str, _Occurrences] = {}
    for key, each in seen.items():
        kind = each.event.kind
        if key not in are_open and kind not in room:
            room[kind] = MAX_OPEN - Incident.objects.filter(kind=kind, open_key__isnull=False).count()
        if key in are_open or room[kind] > 0:
            if key not in are_open:
                room[kind] -= 1
            kept[key] = each
        elif (others := f"{kind} {_CATCH_ALL}") in kept:
            kept[others].add(each)
        else:
            kept[others] = each
    return kept


def _add_to_incidents(seen: Mapping[str, _Occurrences], window: timedelta) -> list[tuple[Incident, _Occurrences]]:
    """Add events to their incidents; return the new ones. Starts a new incident if one closes in the meantime."""
    new: list[tuple[Incident, _Occurrences]] = []
    left = dict(seen)
    for _ in range(_TRIES):
        if not left:
            break
        now = timezone.now()
        made = {key: _incident(key, each, now + window) for key, each in left.items()}
        Incident.objects.bulk_create(made.values(), ignore_conflicts=True)
        rows = Incident.objects.select_for_update().order_by("open_key").in_bulk(left, field_name="open_key")
        new += [(row, left[key]) for key, row in rows.items() if row.pk == made[key].pk]
        ongoing = {key: row for key, row in rows.items() if row.pk != made[key].pk}
        for key, row in ongoing.items():
            _extend(row, left[key], now + window)
        Incident.objects.bulk_update(ongoing.values(), ["count", "last_at", "ends_at", "ban"])
        left = {key: each for key, each in left.items() if key not in rows}
    return new


def _incident(key: str, seen: _Occurrences, quiet_at: datetime) -> Incident:
    return Incident(
        kind=seen.event.kind.value,
        open_key=key,
        began_at=seen.first_at,
        last_at=seen.last_at,
        ends_at=seen.until or quiet_at,
        count=seen.count,
        ban=seen.ban,
    )


def _extend(row: Incident, seen: _Occurrences, quiet_at: datetime) -> None:
    row.count += seen.count
    row.last_at = max(row.last_at, seen.last_at)
    row.ends_at = max(row.ends_at, seen.until or quiet_at)
    row.ban = seen.ban
