"""Lifting automatic bans; what was blocked by hand or by a list stays."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from ipaddress import ip_network

from gatewall import revisions
from gatewall.engine.addresses import IPAddress, NetworkTable, canonical_text, parse_network
from gatewall.engine.lists import AllowedNetwork, BlockedNetwork, IPLists
from gatewall.engine.segments import blocked_networks_of
from policies.models import MANUAL, AllowlistEntry, BlocklistEntry

AUTOMATIC = "auto-ban"


@dataclass(frozen=True, slots=True)
class Unbanned:
    """What was lifted, and by which entry each address that was named is blocked all the same."""

    lifted: list[BlocklistEntry]
    still_blocked: dict[IPAddress, BlocklistEntry]


@revisions.one_at_a_time
def unban(
    addresses: Iterable[IPAddress], *, at: datetime, all_automatic: bool = False, dry_run: bool = False
) -> Unbanned:
    """Remove the automatic entries that contain one of the addresses, or all of them, in one revision.

    Nothing to remove is no revision.
    """
    named = list(addresses)
    automatic = BlocklistEntry.objects.filter(source=AUTOMATIC)
    if not all_automatic:
        automatic = automatic.filter(network__in={text for address in named for text in _networks_around(address)})
    lifted = list(automatic)
    if lifted and not dry_run:
        BlocklistEntry.objects.filter(pk__in=[entry.pk for entry in lifted]).delete()
        revisions.advance(blocked_networks_of(AUTOMATIC))
    blocking = {address: _blocking(address, at) for address in named}
    return Unbanned(lifted, {address: entry for address, entry in blocking.items() if entry is not None})


def _networks_around(address: IPAddress) -> list[str]:
    """Return every network that contains the address, as it would be stored."""
    host = ip_network(address)
    return [canonical_text(host.supernet(new_prefix=length)) for length in range(host.max_prefixlen + 1)]


def _blocking(address: IPAddress, at: datetime) -> BlocklistEntry | None:
    """Return the entry, no automatic one, by which the gate refuses the address on a host without a domain."""
    around = _networks_around(address)
    rows = {row.pk: row for row in BlocklistEntry.objects.filter(network__in=around).exclude(source=AUTOMATIC)}
    blocked = NetworkTable(
        BlockedNetwork(row.pk, parse_network(row.network), row.source == MANUAL, _seconds(row.expires_at))
        for row in rows.values()
    )
    allowed = NetworkTable(
        AllowedNetwork(row.pk, parse_network(row.network), None, row.inspect, _seconds(row.expires_at))
        for row in AllowlistEntry.objects.filter(network__in=around, domain__isnull=True)
    )
    standing = IPLists([blocked], allowed).standing(address, None, at.timestamp(), allowlist_applies=True)
    return rows[standing.blocked.id] if standing.blocked else None


def _seconds(moment: datetime | None) -> float | None:
    return None if moment is None else moment.timestamp()
