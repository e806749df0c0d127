"""Automatic bans: blocklist entries that expire. Ban and unban, and the networks that are protected from bans."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from operator import attrgetter
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from audit.event_kinds import EventKind
from audit.events.recording import Event, count_event, record_events
from audit.events.selectors import events_of_network, was_let_in
from audit.figures import counters
from gatewall.engine.addresses import IPAddress, IPNetwork, canonical_text, networks_of, parse_network
from gatewall.engine.segments import blocked_networks_of
from gatewall.kernel.changes import Change, describe, difference
from gatewall.kernel.clientip import UNKNOWN_CLIENT, TrustedProxies
from gatewall.kernel.detectors import Detector
from gatewall.policy import revisions
from policies import policy_source, rows, selectors
from policies.lists import rows as list_rows
from policies.models import AUTO_BAN, BlocklistEntry

MAX_BANS = 50_000
"""Maximum number of automatic bans: every worker keeps all of them in memory."""
GOOD_FOR = timedelta(days=1)
_SUSPECT_EVENT_SECONDS = 3600
_NEVER_BANNED = tuple(map(parse_network, ("127.0.0.0/8", "::1", str(UNKNOWN_CLIENT))))
_PRUNE_LIMIT = 1_000
_CLOCK_TOLERANCE = timedelta(hours=1)
"""Timestamps further in the future than this were written before the clock was set back."""


class NotBanned(StrEnum):
    """Reasons not to ban a network."""

    LOOPBACK = "loopback"
    TRUSTED_PROXY = "trusted-proxy"
    ALLOWLISTED = "allowlisted"
    GOOD_SESSION = "good-session"
    MONITOR = "monitor"
    TOO_MANY_BANS = "too-many-bans"
    TOO_LATE = "too-late"
    MADE_BY_PAGE = "made-by-page"
    SIGNED_IN = "signed-in"


@dataclass(frozen=True, slots=True)
class Offense:
    """Detector signals of a network from ``since`` to ``at``; ``client`` caused the last one."""

    network: IPNetwork
    client: IPAddress
    detector: Detector
    since: datetime
    at: datetime
    figures: Mapping[str, int]

    @property
    def remark(self) -> str:
        figures = ", ".join(f"{number} {name}" for name, number in self.figures.items())
        seconds = round((self.at - self.since).total_seconds())
        return f"{self.detector.value}: {figures} within {seconds} s"


class Protection:
    """Decide which networks must not be banned, as of one moment."""

    def __init__(self, trusted: TrustedProxies, at: datetime) -> None:
        live = selectors.allowed_networks().exclude(expires_at__lte=at).values_list("network", flat=True)
        self._allowed = [parse_network(text) for text in live.iterator()]
        self._trusted = trusted.networks

    def of(self, offense: Offense) -> NotBanned | None:
        """Return the reason not to ban this network, None if it may be banned.

        An allowlist entry protects for every host, even if it is limited to one domain.
        """
        network = offense.network
        if _overlaps_any(network, _NEVER_BANNED):
            return NotBanned.LOOPBACK
        if _overlaps_any(network, self._trusted):
            return NotBanned.TRUSTED_PROXY
        if _overlaps_any(network, self._allowed):
            return NotBanned.ALLOWLISTED
        if was_let_in(network, offense.at - GOOD_FOR):
            return NotBanned.GOOD_SESSION
        return None


def suspect(offense: Offense, why: NotBanned) -> None:
    """Record a security event for an offense that is not banned, at most once an hour."""
    event = Event(EventKind.CLIENT_SUSPECTED, offense.at, str(offense.client), detail=_detail(offense) | {"why": why})
    count_event(event, f"{offense.detector.value} {why}", period=_SUSPECT_EVENT_SECONDS)


@revisions.one_at_a_time
def ban(offenses: Iterable[Offense], *, until: datetime) -> list[BlocklistEntry]:
    """Ban networks in one revision; return the entries created.

    Skips banned networks, and offenses that already led to a ban: by another host's agent, or before a restart.
    """
    chosen, now = {canonical_text(offense.network): offense for offense in offenses}, timezone.now()
    bans = list_rows.entries_of(AUTO_BAN, chosen)
    banned = {entry.network for entry in bans if entry.expires_at is None or entry.expires_at > now}
    new = [offense for text, offense in chosen.items() if text not in banned and not _led_to_ban(offense)]
    room = MAX_BANS - BlocklistEntry.objects.filter(source=AUTO_BAN).count()
    gone = _delete_bans(Q(expires_at__lte=now), len(new) - room)
    room = max(0, room + len(gone))
    for offense in new[room:]:
        suspect(offense, NotBanned.TOO_MANY_BANS)
    if not (new := new[:room]):
        return []
    texts = [canonical_text(offense.network) for offense in new]
    gone += rows.replace_expired(BlocklistEntry.objects.filter(network__in=texts, source=AUTO_BAN))
    values = {"source": AUTO_BAN, "created_by": AUTO_BAN, "expires_at": until}
    entries = [
        BlocklistEntry(network=text, remark=offense.remark, **values) for text, offense in zip(texts, new, strict=True)
    ]
    BlocklistEntry.objects.bulk_create(entries)
    record_events(_event(offense, entry, until) for offense, entry in zip(new, entries, strict=True))
    counters.add_each(Counter(counters.banned_by(offense.detector) for offense in new))
    made = [difference(None, describe(entry)) for entry in entries]
    revisions.advance(blocked_networks_of(AUTO_BAN), actor=AUTO_BAN, changes=[*gone, *made])
    return entries


@revisions.one_at_a_time
def prune(at: datetime) -> int:
    """Delete up to 1,000 bans that expired over a day ago; return how many.

    Also deletes bans with a creation time in the future: the clock was set back since.
    """
    is_old = Q(expires_at__lte=at - timedelta(days=1)) | Q(created_at__gt=at + _CLOCK_TOLERANCE)
    gone = _delete_bans(is_old, _PRUNE_LIMIT)
    if gone:
        revisions.advance(blocked_networks_of(AUTO_BAN), actor=AUTO_BAN, changes=gone)
    return len(gone)


@dataclass(frozen=True, slots=True)
class Unbanned:
    """The lifted bans, and the entries that still block some of the given addresses."""

    lifted: list[BlocklistEntry]
    still_blocked: dict[IPAddress, BlocklistEntry]


@revisions.one_at_a_time
def unban(
    addresses: Iterable[IPAddress], *, actor: str, at: datetime, all_automatic: bool = False, dry_run: bool = False
) -> Unbanned:
    """Delete the automatic bans that contain one of the addresses, or all automatic bans.

    Creates one revision, or none if nothing matches. A dry run returns the same result and changes nothing.
    """
    chosen = list(addresses)
    texts = sorted({canonical_text(network) for address in chosen for network in networks_of(address)})
    bans = BlocklistEntry.objects.filter(source=AUTO_BAN) if all_automatic else list_rows.entries_of(AUTO_BAN, texts)
    lifted = sorted(bans, key=attrgetter("pk"))
    with transaction.atomic():
        gone = [rows.deletion(entry) for entry in lifted]
        list_rows.delete(entry.pk for entry in lifted)
        still_blocked = {address: entry for address in chosen if (entry := _blocking_entry(address, at)) is not None}
        if dry_run:
            transaction.set_rollback(True)
        elif lifted:
            revisions.advance(blocked_networks_of(AUTO_BAN), actor=actor, changes=gone)
    return Unbanned(lifted, still_blocked)


def _delete_bans(which: Q, at_most: int) -> list[Change | None]:
    """Delete up to ``at_most`` matching bans, those that expire first; return the changes."""
    over = BlocklistEntry.objects.filter(which, source=AUTO_BAN).order_by("expires_at", "id")
    entries = list(over[: max(0, at_most)])
    list_rows.delete(entry.pk for entry in entries)
    return [rows.deletion(entry) for entry in entries]


def _event(offense: Offense, entry: BlocklistEntry, until: datetime) -> Event:
    detail = _detail(offense) | {"expires_at": _moment(until), "entry": entry.pk}
    return Event(EventKind.CLIENT_BANNED, offense.at, str(offense.client), detail=detail)


def _led_to_ban(offense: Offense) -> bool:
    earlier = events_of_network(EventKind.CLIENT_BANNED, offense.network, offense.since)
    return earlier.filter(at__lte=timezone.now() + _CLOCK_TOLERANCE).exists()


def _overlaps_any(network: IPNetwork, others: Iterable[IPNetwork]) -> bool:
    return any(network.version == other.version and network.overlaps(other) for other in others)


def _detail(offense: Offense) -> dict[str, Any]:
    return {
        "detector": offense.detector.value,
        "network": canonical_text(offense.network),
        "since": _moment(offense.since),
        **offense.figures,
    }


def _moment(at: datetime) -> str:
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")


def _blocking_entry(address: IPAddress, at: datetime) -> BlocklistEntry | None:
    """Return the entry that blocks the address at a host outside all registered domains, or None."""
    standing = policy_source.lists_about(address).standing(address, None, at.timestamp(), allowlist_applies=True)
    return BlocklistEntry.objects.get(pk=standing.blocked.id) if standing.blocked else None
