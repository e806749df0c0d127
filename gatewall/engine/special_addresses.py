"""Is an address public? Our own table, so that the answer does not depend on the Python version. Pure.

From the IANA Special-Purpose Address Registries (RFC 6890, RFC 8190) as of 2024-10-22,
https://www.iana.org/assignments/iana-ipv4-special-registry/ and
https://www.iana.org/assignments/iana-ipv6-special-registry/. Public anycast addresses inside special blocks
(192.0.0.9, 2001:1::1) count as not public: no site has them.
"""

from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_network

from gatewall.engine.addresses import IPAddress

CLOUD_METADATA: frozenset[IPAddress] = frozenset(
    {
        IPv4Address("169.254.169.254"),  # most clouds
        IPv4Address("169.254.170.2"),  # Amazon ECS
        IPv4Address("169.254.0.23"),  # Tencent
        IPv4Address("100.100.100.200"),  # Alibaba
        IPv4Address("192.0.0.192"),  # Oracle
        IPv4Address("168.63.129.16"),  # Azure; routed like a public address
        IPv6Address("fd00:ec2::254"),  # Amazon
        IPv6Address("fd20:ce::254"),  # Google
        IPv6Address("fd00:c1::a9fe:a9fe"),  # Oracle
    }
)
"""Cloud metadata services, which hand out secrets."""
_NOT_PUBLIC = tuple(
    map(
        ip_network,
        (
            "0.0.0.0/8",  # this network
            "10.0.0.0/8",  # private use
            "100.64.0.0/10",  # shared address space
            "127.0.0.0/8",  # loopback
            "169.254.0.0/16",  # link local
            "172.16.0.0/12",  # private use
            "192.0.0.0/24",  # IETF protocol assignments
            "192.0.2.0/24",  # documentation
            "192.88.99.0/24",  # 6to4 relay anycast, deprecated
            "192.168.0.0/16",  # private use
            "198.18.0.0/15",  # benchmarking
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast (RFC 5771)
            "240.0.0.0/4",  # reserved, and limited broadcast
            "2001::/23",  # IETF protocol assignments, Teredo and benchmarking among them
            "2001:db8::/32",  # documentation
            "3fff::/20",  # documentation
        ),
    )
)
_UNICAST = IPv6Network("2000::/3")
"""The only global unicast range of IPv6 (RFC 4291, section 2.4)."""
_6TO4 = IPv6Network("2002::/16")
_NAT64 = IPv6Network("64:ff9b::/96")  # RFC 6052


@lru_cache(1024)
def is_public(address: IPAddress) -> bool:
    """True for a globally reachable address that does not embed a special one."""
    if isinstance(address, IPv6Address):
        inside = address.ipv4_mapped or inside_of(address)
        if inside is not None:
            return is_public(inside)
        if address not in _UNICAST:
            return False
    return address not in CLOUD_METADATA and not any(address in network for network in _NOT_PUBLIC)


def inside_of(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address embedded in an IPv6 address (6to4, NAT64), or None."""
    number = int(address)
    if address in _6TO4:
        return IPv4Address(number >> 80 & 0xFFFF_FFFF)
    return IPv4Address(number & 0xFFFF_FFFF) if address in _NAT64 else None
