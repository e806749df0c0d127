"""Addresses where the site itself listens, for requests that bypass the proxy and so the gate."""

import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from gatewall.doctor.probing.target import Target, TargetRefused
from gatewall.engine.addresses import parse_address
from gatewall.engine.hosts import Authority
from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.downloads import DownloadRefused, addresses_of

_MOST = 6
_UNUSED_ADDRESSES = ("192.0.2.1", "2001:db8::1")
"""Addresses without hosts (RFC 5737, RFC 3849): the route to them shows this machine's own address."""


class UpstreamRefused(TargetRefused):
    """The address of the site behind the proxy cannot be used."""

    field = "upstream"


@dataclass(frozen=True, slots=True)
class Place:
    """An IP address and a port."""

    address: str
    port: int

    def __str__(self) -> str:
        return f"[{self.address}]:{self.port}" if ":" in self.address else f"{self.address}:{self.port}"


def places(upstream: str, target: Target) -> list[Place]:
    """Return where the site may be reached without the proxy, given its ``HOST:PORT``. Raises UpstreamRefused.

    A site that listens on loopback should be reachable neither at this machine's own address nor at its public name.
    """
    authority = Authority.parse(upstream)
    if authority is None or not authority.port:
        raise UpstreamRefused(_("write where the site listens, like 127.0.0.1:8000"))
    port = authority.port
    try:
        found = _resolved(authority.host.name, port)
    except (OSError, DownloadRefused):
        raise UpstreamRefused(_("%(host)s has no address here"), host=authority.host.name) from None
    if any(map(is_loopback, found)):
        found += _own_addresses()
        if port != target.port:
            with suppress(OSError, DownloadRefused):
                found += _resolved(target.host.name, port)
    return [Place(address, port) for address in dict.fromkeys(found)][:_MOST]


def is_loopback(address: str) -> bool:
    """Return whether only programs on this machine reach this address."""
    parsed = parse_address(address)
    return parsed is not None and parsed.is_loopback


def _resolved(host: str, port: int) -> list[str]:
    return addresses_of(host.strip("[]"), port, private=True)


def _own_addresses() -> Iterator[str]:
    """Yield the addresses from which this machine sends; nothing is sent to find them."""
    for address in _UNUSED_ADDRESSES:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((address, 9))
            yield str(probe.getsockname()[0])
