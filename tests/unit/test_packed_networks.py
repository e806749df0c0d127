"""Networks in columns: look-ups find the same entries as the table of objects, and invalid bytes are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewall.engine import packed_networks
from gatewall.engine.addresses import NetworkTable
from gatewall.engine.packed_networks import PackedNetworks, PackedRefused, pack
from tests.support.cast import DAY, NOW, a_blocked, an_address

FEW_BITS = st.integers(0, 15)
"""A few addresses, so that networks are nested and repeated."""


@st.composite
def a_text(draw):
    """Draw a network of IPv4 or IPv6, out of a few."""
    if draw(st.booleans()):
        length, low = draw(st.integers(0, 32)), draw(FEW_BITS)
        number = (0xC0000200 | low) >> (32 - length) << (32 - length)
        return f"{'.'.join(str(number >> shift & 255) for shift in (24, 16, 8, 0))}/{length}"
    length = draw(st.integers(0, 128))
    number = (0x20010DB8 << 96 | draw(FEW_BITS) << 64 | draw(FEW_BITS)) >> (128 - length) << (128 - length)
    return f"{':'.join(f'{number >> shift & 0xFFFF:x}' for shift in range(112, -1, -16))}/{length}"


ADDRESSES = [
    *(f"192.0.2.{low}" for low in range(18)),
    *(f"2001:db8:0:{high:x}::{low:x}" for high in (0, 1, 7, 15, 16) for low in (0, 1, 7, 15, 16)),
    "0.0.0.0", "255.255.255.255", "191.255.255.255", "::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::",
]  # fmt: skip


def found(table, address):
    return sorted(table.containing(an_address(address)), key=lambda entry: (-entry.network.prefixlen, entry.id))


@given(st.lists(st.tuples(a_text(), st.booleans(), st.none() | st.just(NOW)), max_size=30))
def test_a_look_up_finds_the_same_entries_as_the_table_of_objects(texts):
    entries = [
        a_blocked(text, id=number, by_hand=by_hand, expires_at=expires_at)
        for number, (text, by_hand, expires_at) in enumerate(texts)
    ]
    packed, plain = PackedNetworks(pack(entries)), NetworkTable(entries)

    assert {address: found(packed, address) for address in ADDRESSES} == {
        address: found(plain, address) for address in ADDRESSES
    }
    for address in map(an_address, ADDRESSES):
        for table in (packed, plain):
            assert table.contains(address.version, int(address)) == bool(found(plain, str(address)))
    assert len(packed) == len(entries)
    assert sorted(packed, key=lambda entry: entry.id) == entries


def test_the_longest_prefix_comes_first_in_nested_networks():
    texts = ["10.0.0.0/8", "10.0.0.0/16", "10.0.1.0/24", "10.0.2.0/24", "10.1.0.0/16"]
    table = PackedNetworks(pack(a_blocked(text, id=number) for number, text in enumerate(texts)))

    assert [entry.id for entry in table.containing(an_address("10.0.1.7"))] == [2, 1, 0]
    assert [entry.id for entry in table.containing(an_address("10.0.9.7"))] == [1, 0]
    assert [entry.id for entry in table.containing(an_address("10.9.9.7"))] == [0]
    assert list(table.containing(an_address("11.0.0.0"))) == []


def test_all_fields_of_an_entry_are_read_back():
    entry = a_blocked("203.0.113.0/24", id=2**62, by_hand=False, expires_at=NOW + DAY)

    assert list(PackedNetworks(pack([entry]))) == [entry]


def test_more_entries_than_one_piece_are_checked(monkeypatch):
    monkeypatch.setattr(packed_networks, "_PIECE", 3)
    data = pack(a_blocked(f"203.0.113.{low}", id=low) for low in range(8))

    assert len(PackedNetworks(data)) == 8


HEAD = 8 + 8 + 8


@pytest.mark.parametrize(
    "broken",
    [
        lambda _: b"",
        lambda data: data[:-1],
        lambda data: data + b"\0",
        lambda data: b"skrowten" + data[8:],
        lambda data: data[: HEAD + 8] + b"\x21" + data[HEAD + 9 :],  # a prefix of 33 bits
        lambda data: data[: HEAD + 10] + b"\0" * 4 + data[HEAD + 14 :],  # the network within itself
        lambda data: data[: HEAD + 14] + b"\1\0\0\0" + data[HEAD + 18 :],  # the second one too
    ],
    ids=["empty", "short", "long", "other order", "length", "around", "around too"],
)
def test_an_invalid_table_is_refused(broken):
    data = pack([a_blocked("203.0.113.1"), a_blocked("203.0.113.2", id=2)])

    with pytest.raises(PackedRefused):
        PackedNetworks(broken(data))
