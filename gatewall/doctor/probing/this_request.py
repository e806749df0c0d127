"""Client address of the current request, by the gate's own rule for proxy headers. Pure."""

from dataclasses import dataclass

from gatewall.engine.addresses import parse_hop
from gatewall.kernel.clientip import ForwardedForMalformed, TrustedProxies, client_address, peer_or_unknown

_MAX_SHOWN = 300


@dataclass(frozen=True, slots=True)
class Hop:
    """An address that the request came by. ``is_read``: it was looked at; ``is_client``: it is the visitor."""

    address: str
    is_trusted: bool
    is_read: bool
    is_client: bool


@dataclass(frozen=True, slots=True)
class ThisRequest:
    """Peer, hops (the nearest first), client and host of a request, and whether the peer's word counts.

    ``malformed`` says what is wrong with the chain; then the peer is the client.
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
        """True if somebody in between, or the visitor, sent forwarding headers."""
        return bool(self.hops) or self.forwarded_host is not None

    @property
    def is_all_trusted(self) -> bool:
        """True if no hop is anything but a trusted proxy: then the left-most is the client."""
        return all(hop.is_trusted for hop in self.hops)

    @property
    def is_ignored(self) -> bool:
        """True for the red line: there are forwarding headers, from a peer that nobody has named as a proxy."""
        return self.forwards and not self.is_peer_trusted


def this_request(
    peer: str, forwarded_for: str | None, host: str, forwarded_host: str | None, trusted: TrustedProxies
) -> ThisRequest:
    """Return who sent a request with these headers from this peer ("" for a unix socket)."""
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
