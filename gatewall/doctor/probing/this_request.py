"""Client address of the current request, by the gate's own rule for proxy headers. Pure."""

from dataclasses import dataclass

from gatewall.engine.addresses import parse_hop
from gatewall.kernel.clientip import ForwardedForMalformed, TrustedProxies, client_address, peer_or_unknown

_MAX_SHOWN = 300


@dataclass(frozen=True, slots=True)
class Hop:
    """An address in the forwarding chain. ``is_read``: it was evaluated; ``is_client``: it is the visitor."""

    address: str
    is_trusted: bool
    is_read: bool
    is_client: bool


@dataclass(frozen=True, slots=True)
class ThisRequest:
    """Peer, hops (nearest first), client and host of a request, and whether the peer is trusted.

    ``malformed`` describes an invalid chain, for which the peer is the client.
    """

    peer: str
    is_peer_trusted: bool
    client: str
    hops: tuple[Hop, ...]
    host: str
    forwarded_host: str | None
    malformed: str = ""

    @property
    def forwards(self) -> bool:
        """Whether a forwarding header was sent."""
        return bool(self.hops) or self.forwarded_host is not None

    @property
    def is_all_trusted(self) -> bool:
        """Whether all hops are trusted proxies: then the left-most is the client."""
        return all(hop.is_trusted for hop in self.hops)

    @property
    def is_ignored(self) -> bool:
        """Whether an untrusted peer sent forwarding headers."""
        return self.forwards and not self.is_peer_trusted


def this_request(
    peer: str, forwarded_for: str | None, host: str, forwarded_host: str | None, trusted: TrustedProxies
) -> ThisRequest:
    """Return the origin of a request with these headers from this peer ("" for a Unix socket)."""
    malformed = ""
    try:
        client = str(client_address(peer, forwarded_for, trusted))
    except ForwardedForMalformed as error:
        client, malformed = str(peer_or_unknown(peer)), error.message
    is_trusted = trusted.trusts_peer(peer)
    return ThisRequest(
        peer=peer,
        is_peer_trusted=is_trusted,
        client=client,
        hops=_hops(forwarded_for, trusted, is_read=is_trusted and not malformed),
        host=host[:_MAX_SHOWN],
        forwarded_host=forwarded_host[:_MAX_SHOWN] if forwarded_host is not None else None,
        malformed=malformed,
    )


def _hops(forwarded_for: str | None, trusted: TrustedProxies, *, is_read: bool) -> tuple[Hop, ...]:
    texts = [part.strip() for part in (forwarded_for or "")[:_MAX_SHOWN].replace("\n", ",").split(",") if part.strip()]
    hops: list[Hop] = []
    for number, text in enumerate(reversed(texts), 1):
        address = parse_hop(text)
        believed = address is not None and trusted.trusts(address)
        is_client = is_read and (not believed or number == len(texts))
        hops.append(Hop(text, believed, is_read, is_client))
        is_read = is_read and not is_client
    return tuple(hops)
