"""Lift automatic bans; manual and imported entries stay."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter

from django.db import transaction

from gatewall.engine.addresses import IPAddress, canonical_text, networks_of
from gatewall.engine.segments import blocked_networks_of
from gatewall.policy import revisions
from policies import policy_source, rows
from policies.lists import rows as list_rows
from policies.models import AUTO_BAN, BlocklistEntry


@dataclass(frozen=True, slots=True)
class Unbanned:
    """The lifted bans, and the entry that still blocks each of the given addresses."""

    lifted: list[BlocklistEntry]
    still_blocked: dict[IPAddress, BlocklistEntry]


@revisions.one_at_a_time
def unban(
    addresses: Iterable[IPAddress], *, actor: str, at: datetime, all_automatic: bool = False, dry_run: bool = False
) -> Unbanned:
    """Delete the automatic bans that contain one of the addresses, or all automatic bans.

    One revision, or none if nothing matches. A dry run returns the same result and changes nothing.
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


def _blocking_entry(address: IPAddress, at: datetime) -> BlocklistEntry | None:
    """Return the entry that blocks the address on a host outside all registered domains."""
    standing = policy_source.lists_about(address).standing(address, None, at.timestamp(), allowlist_applies=True)
    return BlocklistEntry.objects.get(pk=standing.blocked.id) if standing.blocked else None
