"""Parsing of addresses, hops and networks; invalid texts."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gatewall.engine.addresses import (
    NetworkTable,
    canonical_text,
    is_port,
    networks_of,
    parse_address,
    parse_hop,
    parse_network,
    text_of,
)
from tests.support.cast import a_blocked, an_address

NO_ADDRESS = [
    "",
    " ",
    " 192.0.2.1",
    "192.0.2.1 ",
    "unknown",
    "_hidden",
    "localhost",
    "010.0.0.1",
    "0x7f.0.0.1",
    "0x7f000001",
    "2130706433",
    "127.1",
    "1.2.3.08",
    "1.2.3",
    "1.2.3.4.5",
    "1.2.3.256",
    "1.2.3.-4",
    "１.2.3.4",  # noqa: RUF001 - full-width on purpose
    "١.2.3.4",  # noqa: RUF001 - Arabic on purpose
    "1.2.3.4\u200b",
    "\u00a01.2.3.4",
    "fe80::1%eth0",
    "fe80::1%25eth0",
    "::1%",
    "12345::",
    ":::",
    "1::2::3",
    "1.2.3.4/32",
    "1.2.3.4\n",
    "1.2.3.4\0",
    "1" * 100,
]


NO_HOP = [*NO_ADDRESS, "[192.0.2.1]", "[::1", "[::1]x", "[::1]443", "[]", "[]:1", "::1]"]


def test_invalid_addresses_are_parsed_as_none():
    assert [text for text in NO_ADDRESS if parse_address(text) is not None] == []


def test_invalid_hops_are_parsed_as_none():
    assert [text for text in NO_HOP if parse_hop(text) is not None] == []


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("192.0.2.1:567", "192.0.2.1"),
        ("2001:db8::1", "2001:db8::1"),
        ("2001:DB8::1", "2001:db8::1"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("[2001:db8::1]:443", "2001:db8::1"),
        ("::1:443", "::1:443"),
        ("::ffff:1.2.3.4", "1.2.3.4"),
        ("::ffff:102:304", "1.2.3.4"),
        ("[::ffff:1.2.3.4]:80", "1.2.3.4"),
        ("64:ff9b::102:304", "64:ff9b::102:304"),
        ("2002:102:304::", "2002:102:304::"),
        ("::1.2.3.4", "::102:304"),
    ],
)
def test_hop_names_an_address(text, address):
    assert str(parse_hop(text)) == address


@pytest.mark.parametrize("port", ["0", "65536", "99999", "", "-1", "+1", "8o", "٣", "1.5", " 1", "000001"])
def test_port_out_of_range_makes_the_hop_malformed(port):
    assert not is_port(port)
    assert parse_hop(f"192.0.2.1:{port}") is None
    assert parse_hop(f"[::1]:{port}") is None


@pytest.mark.parametrize("port", ["1", "80", "65535", "080"])
def test_port_in_range_is_dropped(port):
    assert parse_hop(f"192.0.2.1:{port}") == IPv4Address("192.0.2.1")


@given(st.ip_addresses())
def test_every_address_is_read_back(address):
    expected = (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address

    assert parse_address(str(address)) == expected


@given(st.text("0129afxAF.:[]%/ _-\0\t\n\u0661\uff11\u200b", max_size=80))
def test_any_text_is_parsed_without_an_exception(text):
    parse_address(text)
    parse_hop(text)


@pytest.mark.parametrize(
    ("text", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("192.0.2.1/32", "192.0.2.1"),
        (" 192.0.2.0/24 ", "192.0.2.0/24"),
        ("0.0.0.0/0", "0.0.0.0/0"),
        ("::/0", "::/0"),
        ("2001:DB8:0::/32", "2001:db8::/32"),
        ("2001:db8::1/128", "2001:db8::1"),
        ("::ffff:192.0.2.0/120", "192.0.2.0/24"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("::ffff:0:0/96", "0.0.0.0/0"),
    ],
)
def test_network_has_one_canonical_text(text, network):
    assert canonical_text(parse_network(text)) == network


@pytest.mark.parametrize("text", ["192.0.2.1/24", "10.0.0.1/8", "2001:db8::1/32", "::ffff:192.0.2.1/120"])
def test_network_with_host_bits_is_refused_with_a_message(text):
    with pytest.raises(ValueError, match="host bits set"):
        parse_network(text)


@pytest.mark.parametrize("text", ["1.2.3.0/255.255.255.0", "1.2.3.0/", "1.2.3.0/+24", "1.2.3.0/٢٤", "::/0064"])
def test_invalid_prefix_length_is_refused_with_a_message(text):
    with pytest.raises(ValueError, match="prefix length"):
        parse_network(text)


@pytest.mark.parametrize(
    "text", ["", "any", "1.2.3.0/33", "::/129", "fe80::%eth0/64", "010.0.0.0/8", "1.2.3.4-1.2.3.9", "1" * 100, "/8"]
)
def test_invalid_network_is_refused_with_a_message(text):
    with pytest.raises(ValueError, match="is not an IP address or a network"):
        parse_network(text)


@given(
    st.text(st.sampled_from("0123456789.x :\0é"), max_size=16)
    | st.from_regex(r"([0-9]{1,3}\.){3}[0-9]{1,3}", fullmatch=True)
)
@example("010.0.0.1")
@example("1.2.3.4\n")
@example("1.2.3")
@example("1.2.3.4 ")
@example("٣.1.1.1")
def test_ipv4_addresses_are_parsed_as_by_the_standard_library(text):
    try:
        expected = IPv4Address(text)
    except ValueError:
        expected = None

    assert (None if ":" in text else parse_address(text)) == (None if ":" in text else expected)


@given(st.ip_addresses())
@example(IPv4Address(0))
@example(IPv6Address("::ffff:192.0.2.1"))
def test_the_text_of_an_address_is_that_of_the_standard_library(address):
    assert text_of(address) == str(address)


def test_table_yields_the_longest_prefix_first():
    entries = [a_blocked(f"0.0.0.0/{length}", id=length) for length in (8, 32, 0, 24)]

    found = NetworkTable(entries).containing(an_address("0.0.0.0"))

    assert [entry.id for entry in found] == [32, 24, 8, 0]


@given(st.ip_addresses(), st.lists(st.integers(0, 128), min_size=1, max_size=6, unique=True))
def test_table_finds_the_same_networks_as_a_scan(address, lengths):
    kind = IPv4Network if address.version == 4 else IPv6Network
    networks = [kind((address, length), strict=False) for length in lengths if length <= address.max_prefixlen]
    table = NetworkTable(
        [a_blocked(str(kind((int(network.network_address), network.prefixlen)))) for network in networks]
    )

    found = [entry.network for entry in table.containing(address)]

    assert len(found) == sum(not _is_mapped(network) for network in networks)


@pytest.mark.parametrize(("address", "first", "last"), [("192.0.2.7", "0.0.0.0/0", 32), ("2001:db8::7", "::/0", 128)])
def test_networks_of_an_address_are_listed_from_largest_to_smallest(address, first, last):
    networks = list(networks_of(an_address(address)))

    assert [network.prefixlen for network in networks] == list(range(last + 1))
    assert all(an_address(address) in network for network in networks)
    assert (str(networks[0]), canonical_text(networks[-1])) == (first, address)


def _is_mapped(network):
    """Return whether the list stores the IPv6 network as the IPv4 network that it maps."""
    return network.version == 6 and network.prefixlen >= 96 and network.network_address.ipv4_mapped is not None
