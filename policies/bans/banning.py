"""Automatic bans: blocklist entries that expire, with protected networks and repeat offenders."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.db.models import Q
from django.utils import timezone

from audit.event_kinds import EventKind
from audit.events.recording import Event, count_event, record_events
from audit.events.selectors import events_of_network, was_let_in
from audit.figures import tallies
from gatewall.engine.addresses import IPAddress, IPNetwork, canonical_text, parse_network
from gatewall.engine.segments import blocked_networks_of
from gatewall.kernel.changes import Change, describe, difference
from gatewall.kernel.clientip import UNKNOWN_CLIENT, TrustedProxies
from gatewall.kernel.detectors import Detector
from gatewall.policy import revisions
from policies import rows, selectors
from policies.lists import rows as list_rows
from policies.models import AUTO_BAN, BlocklistEntry

MAX_BANS = 50_000
"""Automatic entries at a time: every worker holds them all."""
GOOD_FOR = timedelta(days=1)
_TOLD_EVERY_SECONDS = 3600
_NOBODY_OUTSIDE = tuple(map(parse_network, ("127.0.0.0/8", "::1", str(UNKNOWN_CLIENT))))
_PRUNED_AT_ONCE = 1_000
_OTHER_CLOCK = timedelta(hours=1)
"""What is later by more was written before the clock was set back: hosts differ by less."""
_LOOKED_UP_AT_ONCE = 500


class Spared(StrEnum):
    """Why a network is not banned."""

    LOOPBACK = "loopback"
    TRUSTED_PROXY = "trusted-proxy"
    ALLOWLISTED = "allowlisted"
    GOOD_SESSION = "good-session"
    MONITOR = "monitor"
    TOO_MANY_BANS = "too-many-bans"
    TOO_LATE = "too-late"
    MADE_BY_PAGE = "made-by-page"


@dataclass(frozen=True, slots=True)
class Offence:
    """What a network is to be banned for: signals of a detector from ``since`` on, the last from ``client``."""

    network: IPNetwork
    client: IPAddress
    detector: Detector
    since: datetime
    at: datetime
    figures: Mapping[str, int]

    @property
    def remark(self) -> str:
        """Why, in words, for who looks at the blocklist."""
        figures = ", ".join(f"{number} {name}" for name, number in self.figures.items())
        seconds = round((self.at - self.since).total_seconds())
        return f"{self.detector.value}: {figures} within {seconds} s"


class Protection:
    """Who must not be banned, as of one moment."""

    def __init__(self, trusted: TrustedProxies, at: datetime) -> None:
        live = selectors.allowed_networks().exclude(expires_at__lte=at).values_list("network", flat=True)
        self._allowed = [parse_network(text) for text in live.iterator()]
        self._trusted = trusted.networks

    def of(self, offence: Offence) -> Spared | None:
        """Return why this network must not be banned, or None.

        An entry of the allowlist protects for every host: who is let in somewhere is known to somebody.
        """
        network = offence.network
        if _touches(network, _NOBODY_OUTSIDE):
            return Spared.LOOPBACK
        if _touches(network, self._trusted):
            return Spared.TRUSTED_PROXY
        if _touches(network, self._allowed):
            return Spared.ALLOWLISTED
        if was_let_in(network, offence.at - GOOD_FOR):
            return Spared.GOOD_SESSION
        return None


def suspect(offence: Offence, why: Spared) -> None:
    """Tell of somebody who is not banned, once an hour however long they go on."""
    event = Event(EventKind.CLIENT_SUSPECTED, offence.at, str(offence.client), detail=_told(offence) | {"why": why})
    count_event(event, f"{offence.detector.value} {why}", period=_TOLD_EVERY_SECONDS)


@revisions.one_at_a_time
def ban(offences: Iterable[Offence], *, until: datetime) -> list[BlocklistEntry]:
    """Ban these networks in one revision and return the entries that were made.

    Who is banned already is left alone, and so is who was banned for the same signals before: by the
    agent of another host, or by this one before it was started again, however the ban ended.
    """
    chosen = {offence.network: offence for offence in offences}
    banned = _banned(chosen)
    new = [offence for network, offence in chosen.items() if network not in banned and not _was_banned_for(offence)]
    room = MAX_BANS - BlocklistEntry.objects.filter(source=AUTO_BAN).count()
    gone = _deleted(_over(timezone.now()), len(new) - room)
    room = max(0, room + len(gone))
    for offence in new[room:]:
        suspect(offence, Spared.TOO_MANY_BANS)
    if not (new := new[:room]):
        return []
    texts = [canonical_text(offence.network) for offence in new]
    gone += rows.replace_expired(BlocklistEntry.objects.filter(network__in=texts, source=AUTO_BAN))
    values = {"source": AUTO_BAN, "created_by": AUTO_BAN, "expires_at": until}
    entries = [
        BlocklistEntry(network=text, remark=offence.remark, **values) for text, offence in zip(texts, new, strict=True)
    ]
    BlocklistEntry.objects.bulk_create(entries)
    record_events(_event(offence, entry) for offence, entry in zip(new, entries, strict=True))
    tallies.add_each(Counter(tallies.banned_by(offence.detector) for offence in new))
    made = [difference(None, describe(entry)) for entry in entries]
    revisions.advance(blocked_networks_of(AUTO_BAN), actor=AUTO_BAN, changes=[*gone, *made])
    return entries


@revisions.one_at_a_time
def prune(at: datetime) -> int:
    """Delete bans that are over for a day, at most 1,000 of them; return how many.

    Those that were made later than now are over, too: they end by a clock that was set back since.
    """
    gone = _deleted(_over(at - timedelta(days=1)) | Q(created_at__gt=at + _OTHER_CLOCK), _PRUNED_AT_ONCE)
    if gone:
        revisions.advance(blocked_networks_of(AUTO_BAN), actor=AUTO_BAN, changes=gone)
    return len(gone)


def _over(at: datetime) -> Q:
    return Q(expires_at__lte=at)


def _deleted(which: Q, at_most: int) -> list[Change | None]:
    """Delete so many of these bans, the first to end first; return what became of them."""
    over = BlocklistEntry.objects.filter(which, source=AUTO_BAN).order_by("expires_at", "id")
    entries = list(over[: max(0, at_most)])
    list_rows.delete(entry.pk for entry in entries)
    return [rows.deletion(entry) for entry in entries]


def _banned(networks: Iterable[IPNetwork]) -> set[IPNetwork]:
    """Return which of these networks have a ban that is not over."""
    texts = [canonical_text(network) for network in networks]
    found: set[IPNetwork] = set()
    for start in range(0, len(texts), _LOOKED_UP_AT_ONCE):
        part = texts[start : start + _LOOKED_UP_AT_ONCE]
        live = BlocklistEntry.objects.filter(network__in=part, source=AUTO_BAN).exclude(expires_at__lte=timezone.now())
        found.update(map(parse_network, live.values_list("network", flat=True)))
    return found


def _event(offence: Offence, entry: BlocklistEntry) -> Event:
    until = {"expires_at": _moment(entry.expires_at), "entry": entry.pk} if entry.expires_at else {}
    return Event(EventKind.CLIENT_BANNED, offence.at, str(offence.client), detail=_told(offence) | until)


def _was_banned_for(offence: Offence) -> bool:
    told = events_of_network(EventKind.CLIENT_BANNED, offence.network, offence.since)
    return told.filter(at__lte=timezone.now() + _OTHER_CLOCK).exists()


def _touches(network: IPNetwork, others: Iterable[IPNetwork]) -> bool:
    """True if one of the others has an address in common with the network."""
    return any(network.version == other.version and network.overlaps(other) for other in others)


def _told(offence: Offence) -> dict[str, Any]:
    return {
        "detector": offence.detector.value,
        "network": canonical_text(offence.network),
        "since": _moment(offence.since),
        **offence.figures,
    }


def _moment(at: datetime) -> str:
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")
