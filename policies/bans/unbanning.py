"""Lift automatic bans; entries made by hand or imported from a list stay."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from gatewall.engine.addresses import IPAddress, canonical_text, networks_of
from gatewall.engine.segments import blocked_networks_of
from gatewall.policy import revisions
from policies import policy_source, rows
from policies.lists import rows as list_rows
from policies.models import AUTO_BAN, BlocklistEntry

_LOOKED_UP_AT_ONCE = 500
"""SQLite takes no more than 32,766 values in a statement, as its authors build it."""


@dataclass(frozen=True, slots=True)
class Unbanned:
    """What was lifted, and by which entry each address that was named is blocked all the same."""

    lifted: list[BlocklistEntry]
    still_blocked: dict[IPAddress, BlocklistEntry]


@revisions.one_at_a_time
def unban(
    addresses: Iterable[IPAddress], *, actor: str, at: datetime, all_automatic: bool = False, dry_run: bool = False
) -> Unbanned:
    """Remove the automatic entries that contain one of the addresses, or all of them, in one revision.

    Nothing to remove is no revision. What a dry run returns is what would be.
    """
    named = list(addresses)
    automatic = BlocklistEntry.objects.filter(source=AUTO_BAN)
    lifted = list(automatic) if all_automatic else _around(named, automatic)
    with transaction.atomic():
        gone = [rows.deletion(entry) for entry in lifted]
        list_rows.delete(entry.pk for entry in lifted)
        still_blocked = {address: entry for address in named if (entry := _blocking(address, at)) is not None}
        if dry_run:
            transaction.set_rollback(True)
        elif lifted:
            revisions.advance(blocked_networks_of(AUTO_BAN), actor=actor, changes=gone)
    return Unbanned(lifted, still_blocked)


def _around(addresses: Iterable[IPAddress], entries: QuerySet[BlocklistEntry]) -> list[BlocklistEntry]:
    """Return those of the entries that contain one of the addresses, of which there may be many."""
    texts = sorted({canonical_text(network) for address in addresses for network in networks_of(address)})
    found: list[BlocklistEntry] = []
    for start in range(0, len(texts), _LOOKED_UP_AT_ONCE):
        found += entries.filter(network__in=texts[start : start + _LOOKED_UP_AT_ONCE])
    return sorted(found, key=lambda entry: entry.pk)


def _blocking(address: IPAddress, at: datetime) -> BlocklistEntry | None:
    """Return the entry by which the gate refuses the address on a host that belongs to no domain."""
    standing = policy_source.lists_about(address).standing(address, None, at.timestamp(), allowlist_applies=True)
    return BlocklistEntry.objects.get(pk=standing.blocked.id) if standing.blocked else None
