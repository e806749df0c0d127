"""Read the networks that a container is connected to, for proxies without a fixed address.

``docker compose`` gives a proxy an address when it starts, so ``GATEWALL_TRUSTED_PROXIES`` accepts network keywords.
Source: ``/proc/net`` of Linux (``proc_net(5)``).
"""

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Interface, IPv6Network
from pathlib import Path

from gatewall.engine.addresses import IPAddress, IPNetwork

_PROC_NET = Path("/proc/net")
_GATEWAY = 0x2
"""RTF_GATEWAY: the route goes through another machine."""
_NOT_LINK_LOCAL = "00"


def gateways(proc: Path = _PROC_NET) -> list[str]:
    """Return the addresses of the container's gateways, from which connections to published ports come."""
    return [str(each) for each in _gateways(proc)]


def networks(proc: Path = _PROC_NET) -> list[str]:
    """Return the private networks of the container's interfaces, without the addresses of its gateways."""
    all_networks: list[IPNetwork] = [*_networks_v4(proc), *_networks_v6(proc)]
    found = [each for each in all_networks if each.is_private and not each.is_loopback]
    for gateway in _gateways(proc):
        found = [part for each in found for part in _without(each, gateway)]
    return [str(each) for each in found]


WORDS: Mapping[str, Callable[[], list[str]]] = {"container-networks": networks, "container-gateway": gateways}
"""Keywords that ``GATEWALL_TRUSTED_PROXIES`` accepts besides addresses; resolved when the process starts."""


def expanded(names: Iterable[str]) -> Iterator[str]:
    """Yield addresses and networks, each keyword replaced by its own. Raises ValueError for a keyword without any."""
    for name in names:
        found = WORDS[name]() if name in WORDS else [name]
        if not found:
            raise ValueError(f"{name} finds no network here; write the addresses of the proxies")
        yield from found


def _without(network: IPNetwork, address: IPAddress) -> list[IPNetwork]:
    if isinstance(network, IPv4Network) and isinstance(address, IPv4Address) and address in network:
        return list(network.address_exclude(IPv4Network(address)))
    if isinstance(network, IPv6Network) and isinstance(address, IPv6Address) and address in network:
        return list(network.address_exclude(IPv6Network(address)))
    return [network]


def _gateways(proc: Path) -> Iterator[IPAddress]:
    for _, destination, gateway, flags, *_ in _lines(proc / "route"):
        if int(flags, 16) & _GATEWAY and not int(destination, 16):
            yield _address_v4(gateway)
    for destination, length, _, _, gateway, _, _, _, flags, *_ in _lines(proc / "ipv6_route", header=False):
        if int(flags, 16) & _GATEWAY and not int(destination + length, 16):
            yield IPv6Address(bytes.fromhex(gateway))


def _networks_v4(proc: Path) -> Iterator[IPv4Network]:
    for _, destination, _, flags, _, _, _, mask, *_ in _lines(proc / "route"):
        if int(destination, 16) and not int(flags, 16) & _GATEWAY:
            yield IPv4Network(f"{_address_v4(destination)}/{_address_v4(mask)}")


def _networks_v6(proc: Path) -> Iterator[IPv6Network]:
    for address, _, length, scope, *_ in _lines(proc / "if_inet6", header=False):
        if scope == _NOT_LINK_LOCAL:
            yield IPv6Interface((bytes.fromhex(address), int(length, 16))).network


def _address_v4(text: str) -> IPv4Address:
    return IPv4Address(struct.pack("=I", int(text, 16)))  # the kernel prints the bytes of the address as one number


def _lines(path: Path, *, header: bool = True) -> Iterator[list[str]]:
    """Yield the fields of each line; none where the kernel has no such file (no IPv6)."""
    try:
        text = path.read_text()
    except OSError:
        return
    yield from (line.split() for line in text.splitlines()[header:])
