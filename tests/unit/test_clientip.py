"""The client address behind trusted proxies (vectors HN-01 to HN-13)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from python_ipware import IpWare

from gatewall.engine.messages import Refused
from gatewall.kernel.clientip import (
    UNKNOWN_CLIENT,
    ForwardedForMalformed,
    TrustedProxies,
    client_address,
    client_of_environ,
    peer_address,
    peer_or_unknown,
)
from tests.support.cast import PROXY, TRUSTED

NOBODY = TrustedProxies.parse([])


def is_malformed(forwarded_for):
    try:
        client(forwarded_for)
    except ForwardedForMalformed:
        return True
    return False


def client(forwarded_for, *, peer=PROXY, trusted=TRUSTED):
    return str(client_address(peer, forwarded_for, trusted))


@pytest.mark.parametrize("peer", ["192.0.2.99", "10.0.1.1", "2001:db8::1", "11.0.0.1"])
def test_header_of_a_peer_that_is_not_trusted_is_ignored(peer):
    assert client("1.2.3.4", peer=peer) == peer


def test_garbage_of_a_peer_that_is_not_trusted_is_ignored():
    assert client("garbage", peer="192.0.2.99") == "192.0.2.99"


@pytest.mark.parametrize("peer", [PROXY, "127.0.0.1", ""])
def test_empty_list_of_proxies_trusts_nobody(peer):
    assert client("1.2.3.4", peer=peer, trusted=NOBODY) == (peer or "127.0.0.1")


@pytest.mark.parametrize("network", ["0.0.0.0/0", "::/0", "::ffff:0:0/96"])
def test_list_that_trusts_everybody_is_refused(network):
    with pytest.raises(ValueError, match="choose its own address"):
        TrustedProxies.parse(["127.0.0.1", network])


@pytest.mark.parametrize("text", ["", "proxy", "10.0.0.1/8", "fe80::1%eth0"])
def test_list_with_something_else_than_networks_is_refused(text):
    with pytest.raises(Refused):
        TrustedProxies.parse([text])


def test_unix_socket_is_trusted():
    assert client("1.2.3.4", peer="") == "1.2.3.4"


def test_unix_socket_without_header_is_loopback():
    assert client(None, peer="") == "127.0.0.1"


def test_mapped_peer_is_the_ipv4_peer():
    assert client("1.2.3.4", peer="::ffff:10.0.0.1") == "1.2.3.4"


def test_peer_is_the_client_when_no_header_was_sent():
    assert client(None) == PROXY


@pytest.mark.parametrize(
    ("forwarded_for", "address"),
    [
        ("1.2.3.4", "1.2.3.4"),
        ("6.6.6.6, 1.2.3.4", "1.2.3.4"),
        ("6.6.6.6, 1.2.3.4, 10.0.0.2", "1.2.3.4"),
        ("6.6.6.6, 1.2.3.4, 10.0.0.2, 10.0.0.3", "1.2.3.4"),
        ("10.0.0.9, 1.2.3.4, 10.0.0.2", "1.2.3.4"),
        ("127.0.0.1, 1.2.3.4", "1.2.3.4"),
        ("1.2.3.4\n10.0.0.2", "1.2.3.4"),
        ("6.6.6.6\n1.2.3.4, 10.0.0.2", "1.2.3.4"),
        ("1.2.3.4:567", "1.2.3.4"),
        ("[2001:db8::1]:443, 10.0.0.2:80", "2001:db8::1"),
        ("2001:db8::1, ::1", "2001:db8::1"),
        ("::1:443", "::1:443"),
        ("::ffff:1.2.3.4", "1.2.3.4"),
        ("1.2.3.4, ::ffff:10.0.0.2", "1.2.3.4"),
        ("::ffff:102:304", "1.2.3.4"),
        ("64:ff9b::102:304", "64:ff9b::102:304"),
        ("2002:102:304::", "2002:102:304::"),
        ("2001:0:102:304::", "2001:0:102:304::"),
        (" \t1.2.3.4\t ,, \t,10.0.0.2,", "1.2.3.4"),
    ],
)
def test_first_hop_from_the_right_that_is_no_proxy_is_the_client(forwarded_for, address):
    assert client(forwarded_for) == address


@pytest.mark.parametrize(("forwarded_for", "address"), [("10.0.0.7, 10.0.0.2", "10.0.0.7"), ("127.0.0.1", "127.0.0.1")])
def test_left_most_hop_is_the_client_when_all_are_proxies(forwarded_for, address):
    assert client(forwarded_for) == address


@pytest.mark.parametrize("forwarded_for", ["", " ", ",", " , ,, "])
def test_header_without_a_hop_leaves_the_peer(forwarded_for):
    assert client(forwarded_for) == PROXY


BAD_HOPS = [
    "unknown",
    "_hidden",
    "some text",
    "-",
    "010.0.0.1",
    "0x7f.1",
    "2130706433",
    "127.1",
    "1.2.3.08",
    "fe80::1%eth0",
    "fe80::1%25eth0",
    "1.2.3.4:0",
    "1.2.3.4:65536",
    "1.2.3.4:",
    "[2001:db8::1]:",
    "2001:db8::1]",
    "\xa01.2.3.4",
    "1.2.3.4\xff",
    "１.2.3.4",  # noqa: RUF001 - full-width on purpose
    "1.2.3.4\x0b",
    "for=1.2.3.4",
    "1.2.3.4/32",
    '"1.2.3.4"',
]


def test_hop_that_is_no_address_is_malformed_where_it_must_be_read():
    assert [hop for hop in BAD_HOPS if not is_malformed(f"1.2.3.4, {hop}, 10.0.0.2")] == []


def test_hop_to_the_left_of_the_client_is_not_read():
    assert {client(f"{hop}, 1.2.3.4, 10.0.0.2") for hop in BAD_HOPS} == {"1.2.3.4"}


def test_chain_of_32_hops_is_read():
    assert client(", ".join(["1.2.3.4"] + ["10.0.0.2"] * 31)) == "1.2.3.4"


def test_chain_of_33_hops_is_malformed():
    with pytest.raises(ForwardedForMalformed, match="32 hops"):
        client(", ".join(["1.2.3.4"] + ["10.0.0.2"] * 32))


def test_header_of_4096_bytes_is_read():
    assert client("1.2.3.4".rjust(4096)) == "1.2.3.4"


def test_header_of_4097_bytes_is_malformed():
    with pytest.raises(ForwardedForMalformed, match="4096 bytes"):
        client("1.2.3.4".rjust(4097))


def test_link_local_peer_comes_with_its_zone():
    assert str(peer_address("fe80::1%eth0")) == "fe80::1"


def test_peer_that_is_no_address_is_malformed():
    with pytest.raises(ForwardedForMalformed):
        peer_address("not-an-address")


def test_peer_that_is_no_address_is_unknown_and_never_trusted():
    assert peer_or_unknown("not-an-address") == UNKNOWN_CLIENT
    assert not TRUSTED.trusts_peer("not-an-address")


public_ipv4 = st.integers(0x08000000, 0x09FFFFFF).map(lambda number: ".".join(map(str, number.to_bytes(4, "big"))))


@given(st.lists(public_ipv4, max_size=3), public_ipv4, st.lists(st.integers(1, 250), min_size=1, max_size=4))
def test_python_ipware_agrees_on_chains_of_trusted_hops(forged, address, proxies):
    hops = [f"10.0.0.{number}" for number in proxies]
    forwarded_for = ", ".join([*forged, address, *hops])
    oracle = IpWare(precedence=("HTTP_X_FORWARDED_FOR",), proxy_count=len(hops), proxy_list=hops)

    expected, _ = oracle.get_client_ip({"HTTP_X_FORWARDED_FOR": forwarded_for})

    assert client(forwarded_for) == str(expected) == address


@given(st.text("0129afx.:[]%, _\0\t\n\u00ff\uff11", max_size=60), st.sampled_from([PROXY, "", "192.0.2.99"]))
def test_any_header_gives_a_client_or_is_malformed(forwarded_for, peer):
    try:
        client(forwarded_for, peer=peer)
    except ForwardedForMalformed:
        assert peer != "192.0.2.99"


def test_environ_of_a_trusted_proxy_names_the_client():
    environ = {"REMOTE_ADDR": PROXY, "HTTP_X_FORWARDED_FOR": "6.6.6.6, 1.2.3.4"}

    assert str(client_of_environ(environ, TRUSTED)) == "1.2.3.4"


@pytest.mark.parametrize("environ", [{"REMOTE_ADDR": PROXY}, {"REMOTE_ADDR": PROXY, "HTTP_X_FORWARDED_FOR": "junk"}])
def test_environ_without_a_readable_chain_leaves_the_peer(environ):
    assert str(client_of_environ(environ, TRUSTED)) == PROXY


def test_environ_of_a_unix_socket_is_loopback():
    assert str(client_of_environ({}, TRUSTED)) == "127.0.0.1"
