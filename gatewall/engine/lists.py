"""IP blocklist and allowlist: the entry that applies to a client at a host. No I/O."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from gatewall.engine.addresses import IPAddress, IPNetwork, NetworkTable, key_of
from gatewall.engine.expiry import is_live
from gatewall.engine.values import value


@dataclass(frozen=True, slots=True)
class BlockedNetwork:
    """A blocklist entry; ``by_hand`` is False for automatic and imported ones."""

    id: int
    network: IPNetwork
    by_hand: bool = True
    expires_at: float | None = None


@dataclass(frozen=True, slots=True)
class AllowedNetwork:
    """An allowlist entry, for one registered domain or, with None, for all hosts."""

    id: int
    network: IPNetwork
    domain: str | None = None
    inspect: bool = False
    expires_at: float | None = None


@value
class Standing:
    """The applicable list entry: blocked, allowed, or neither."""

    blocked: BlockedNetwork | None = None
    allowed: AllowedNetwork | None = None


_NEITHER = Standing()
_MOST_UNLISTED = 4_096


class BlockedNetworks(Protocol):
    """Blocklist entries of one source."""

    def containing(self, address: IPAddress) -> Iterator[BlockedNetwork]:
        """Yield the entries whose network contains the address, the longest prefix first."""

    def contains(self, version: int, number: int) -> bool:
        """Return whether any network contains the address of this IP version and number."""


class IPLists:
    """Blocklist and allowlist; the most specific entry of both decides.

    The blocklist has a table per source, so that a ban does not rebuild a large import. Clients that no network
    contains, expired or not, are cached: the lists of a policy never change.
    """

    __slots__ = ("_allowed", "_blocked", "_unlisted")

    def __init__(self, blocked: Sequence[BlockedNetworks], allowed: NetworkTable[AllowedNetwork]) -> None:
        self._blocked = blocked
        self._allowed = allowed
        self._unlisted: set[int] = set()

    def standing(self, client: IPAddress, domain: str | None, at: float, *, allowlist_applies: bool) -> Standing:
        """Return the entry that applies to a client at a host of this registered domain.

        The longest prefix wins, and the blocklist wins a tie, but automatic and imported entries never beat an
        allowlist entry. Among allowlist entries of one network, the one for this domain comes first.
        """
        key = key_of(client)
        if key in self._unlisted:
            return _NEITHER
        if not self._contain(client):
            if len(self._unlisted) >= _MOST_UNLISTED:
                self._unlisted = set()
            self._unlisted.add(key)
            return _NEITHER
        allowed = self._most_specific_allowed(client, domain, at) if allowlist_applies else None
        blocked = self._most_specific_blocked(client, at, by_hand_only=allowed is not None)
        if blocked and (allowed is None or blocked.network.prefixlen >= allowed.network.prefixlen):
            return Standing(blocked=blocked)
        return Standing(allowed=allowed)

    def contain(self, client: IPAddress) -> bool:
        """True if any network contains the client, also one that has expired."""
        return key_of(client) not in self._unlisted and self._contain(client)

    def _contain(self, client: IPAddress) -> bool:
        version, number = client.version, int(client)
        if self._allowed.contains(version, number):
            return True
        for table in self._blocked:  # noqa: SIM110 - a generator costs more than the rest
            if table.contains(version, number):
                return True
        return False

    def _most_specific_blocked(self, client: IPAddress, at: float, *, by_hand_only: bool) -> BlockedNetwork | None:
        best: BlockedNetwork | None = None
        for table in self._blocked:
            for entry in table.containing(client):
                if is_live(entry.expires_at, at) and (entry.by_hand or not by_hand_only):
                    if best is None or entry.network.prefixlen > best.network.prefixlen:
                        best = entry
                    break
        return best

    def _most_specific_allowed(self, client: IPAddress, domain: str | None, at: float) -> AllowedNetwork | None:
        best: AllowedNetwork | None = None
        for entry in self._allowed.containing(client):
            if best is not None and entry.network.prefixlen < best.network.prefixlen:
                break
            applies = entry.domain is None or entry.domain == domain
            if applies and is_live(entry.expires_at, at) and (best is None or best.domain is None):
                best = entry
        return best
