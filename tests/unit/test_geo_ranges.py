"""Conversion of text ranges to an MMDB: look-ups give the values of the ranges; bad text is refused."""

import io
import random
from datetime import UTC, datetime
from ipaddress import IPv4Address, IPv6Address

import maxminddb
import pytest

from gatewall.kernel import geo_ranges
from gatewall.kernel.geo_ranges import CountryRanges, RangesRefused, bounded_lines, looks_like_ranges

AT = datetime(2026, 11, 21, tzinfo=UTC)
TOR = b"# Tor's\n\n16777216,16777471,AU\n16777472,16778239,CN\n3405803776,3405804031,nz\n3405804032,3405804032,??\n"
TOR6 = b"# Tor's\r\n2001:200::,2001:200:ffff:ffff:ffff:ffff:ffff:ffff,JP\r\n2001:db8::5,2001:db8::7,DE\r\n"


def database(path, *texts):
    ranges = CountryRanges()
    for text in texts:
        ranges.add(bounded_lines(io.BytesIO(text)))
    with path.open("wb") as file:
        ranges.write(file, at=AT)
    return maxminddb.open_database(path)


def country(reader, address):
    found = reader.get(address)
    return found and found["country"]["iso_code"]


def test_both_files_of_tor_are_one_database(tmp_path):
    with database(tmp_path / "geo.mmdb", TOR, TOR6) as reader:
        expected = {
            "1.0.0.0": "AU",
            "1.0.0.255": "AU",
            "1.0.1.0": "CN",
            "1.0.3.255": "CN",
            "1.0.4.0": None,
            "0.255.255.255": None,
            "203.0.113.0": "NZ",
            "203.0.114.0": None,
            "2001:200::1": "JP",
            "2001:201::": None,
            "2001:db8::4": None,
            "2001:db8::5": "DE",
            "2001:db8::7": "DE",
            "2001:db8::8": None,
        }
        assert {address: country(reader, address) for address in expected} == expected
        assert reader.metadata().build_epoch == int(AT.timestamp())


def test_dotted_addresses_are_ranges_too(tmp_path):
    with database(tmp_path / "geo.mmdb", b"1.2.3.4,1.2.3.9,FR\n") as reader:
        assert [country(reader, f"1.2.3.{last}") for last in (3, 4, 9, 10)] == [None, "FR", "FR", None]


def test_every_address_of_random_ranges_is_found(tmp_path):
    numbers = random.Random(5)  # noqa: S311 - examples, no secrets
    for kind, width in ((IPv4Address, 32), (IPv6Address, 128)):
        ends = sorted({numbers.randrange(2**96 if width == 128 else 0, 2**width) for _ in range(400)})
        pairs = list(zip(ends[::2], ends[1::2], strict=True))
        codes = [numbers.choice("ABC") + numbers.choice("XYZ") for _ in pairs]
        lines = [f"{kind(first)},{kind(last)},{code}\n" for (first, last), code in zip(pairs, codes, strict=True)]
        with database(tmp_path / f"{width}.mmdb", "".join(lines).encode()) as reader:
            for (first, last), code in zip(pairs, codes, strict=True):
                assert country(reader, kind(first)) == country(reader, kind(last)) == code
                assert country(reader, kind((first + last) // 2)) == code
                assert last + 1 in ends or country(reader, kind(last + 1)) is None


BAD = {
    "no range": (b"hello\n", "line 1: expected first,last,CC"),
    "two values": (b"# a\n16777216,16777471\n", "line 2: expected first,last,CC"),
    "backwards": (b"16777471,16777216,AU\n", "line 1: "),
    "two versions": (b"16777216,2001::,AU\n", "line 1: an IPv4 and an IPv6"),
    "too large": (b"16777216,99999999999,AU\n", "line 1: "),
    "no address": (b"1.2.3,1.2.4,AU\n", "line 1: '1.2.3' is not an IP address"),
    "twice": (TOR + b"16777216,16777471,AU\n", "line 7: overlaps"),
    "within": (TOR + b"16777300,16777310,AU\n", "line 7: overlaps"),
    "around": (b"1.2.3.4,1.2.3.4,FR\n1.0.0.0,1.255.255.255,FR\n", "line 2: overlaps"),
    "everything": (b"::,ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff,FR\n", "line 1: a range of all"),
    "long": (b"1" * 300 + b"\n", "line 1: too long"),
    "binary": (bytes(range(256)), "line 1: "),
}


@pytest.mark.parametrize(("text", "words"), BAD.values(), ids=BAD)
def test_bad_text_is_refused_with_its_line(text, words):
    with pytest.raises(RangesRefused) as caught:
        CountryRanges().add(bounded_lines(io.BytesIO(text)))
    assert words in str(caught.value)


def test_too_many_ranges_are_refused(monkeypatch):
    monkeypatch.setattr(geo_ranges, "MAX_NODES", 200)
    lines = [b"2001:db8:%x::,2001:db8:%x::,NZ\n" % (number, number) for number in range(99)]

    with pytest.raises(RangesRefused, match="too many"):
        CountryRanges().add(lines)


@pytest.mark.parametrize(
    ("head", "is_text"),
    [(TOR, True), (TOR6, True), (b"# only\n", False), (b"", False), (b"\0\1\2", False), (b"<html>\n", False)],
)
def test_text_ranges_are_recognized_by_their_first_bytes(head, is_text):
    assert looks_like_ranges(head) is is_text
