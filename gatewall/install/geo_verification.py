"""Verify a geo database before it is installed: its tree, its build date, its countries, and known addresses."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import maxminddb

from gatewall.gate.countries import code_in

_CLOCK_SKEW_SECONDS = 24 * 3600
_ENOUGH = 3
_MOST_CHARACTERS = 200
_LEGACY, _LEGACY_END = re.compile(rb"\x00\x00\x00GEO-\d{3}"), 4096
KNOWN_ADDRESSES: Mapping[str, str] = {
    "18.7.22.69": "US",
    "128.250.1.1": "AU",
    "129.67.242.154": "GB",
    "129.132.19.216": "CH",
    "130.216.1.1": "NZ",
    "130.237.28.40": "SE",
    "133.11.0.1": "JP",
    "134.76.10.46": "DE",
    "143.107.254.11": "BR",
    "166.111.4.100": "CN",
    "2001:630::1": "GB",
    "2001:638::1": "DE",
}
"""Addresses of universities and research networks, which have kept their country for decades."""


class GeoDatabaseRefused(Exception):
    """The file is not a usable geo database; the current one is unchanged."""


@dataclass(frozen=True, slots=True)
class Verified:
    """Type, description, build time, networks and countries of a database, and how many known addresses it has."""

    kind: str
    description: str
    built_at: datetime
    networks: int
    countries: int
    known: int


def verify(path: Path, *, at: datetime) -> Verified:
    """Read every network of an MMDB once. Raises GeoDatabaseRefused, OSError."""
    _refuse_legacy(path)
    try:
        with maxminddb.open_database(path) as reader:
            metadata = reader.metadata()
            if not 0 < metadata.build_epoch <= at.timestamp() + _CLOCK_SKEW_SECONDS:
                raise GeoDatabaseRefused("its build date is missing or in the future")
            networks, countries = _count(reader, metadata.node_count)
            known = _known_in(reader)
    except (maxminddb.InvalidDatabaseError, ValueError, OSError) as error:
        raise GeoDatabaseRefused(f"it is no MMDB file that can be read ({type(error).__name__})") from None
    built_at = datetime.fromtimestamp(metadata.build_epoch, tz=UTC)
    described = metadata.description if isinstance(metadata.description, dict) else {}
    kind, description = _printable(metadata.database_type), _printable(described.get("en", ""))
    return Verified(kind, description, built_at, networks, len(countries), known)


def _printable(text: object) -> str:
    """Return a text of the file that is safe to print on a terminal."""
    return "".join(character for character in str(text) if character.isprintable())[:_MOST_CHARACTERS]


def _refuse_legacy(path: Path) -> None:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _LEGACY_END))
        if _LEGACY.search(file.read()):
            raise GeoDatabaseRefused("it is a legacy GeoIP .dat file: take an MMDB file")


def _count(reader: maxminddb.Reader, nodes: int) -> tuple[int, set[str]]:
    """Return the number of networks with a country, and the countries. Raises GeoDatabaseRefused."""
    seen, located, countries = 0, 0, set()
    for _, record in reader:
        seen += 1
        if seen > nodes + 1:  # a tree has at most one leaf more than nodes; in a loop it would have billions
            raise GeoDatabaseRefused("its search tree is damaged")
        code = code_in(record)
        if code is not None:
            located += 1
            countries.add(code)
    if located < min(_ENOUGH, max(1, seen)):
        raise GeoDatabaseRefused("no countries are known to it")
    return located, countries


def _known_in(reader: maxminddb.Reader) -> int:
    """Return how many known addresses are in their country; refuse a database with most of them in other countries."""
    is_ipv6 = reader.metadata().ip_version == 6
    asked = {text: code for text, code in KNOWN_ADDRESSES.items() if is_ipv6 or ":" not in text}
    found = {text: code_in(reader.get(text)) for text in asked}
    wrong = [text for text, code in found.items() if code not in {None, asked[text]}]
    right = [text for text, code in found.items() if code == asked[text]]
    if len(wrong) > len(right):
        first = wrong[0]
        raise GeoDatabaseRefused(
            f"{len(wrong)} of {len(asked)} known addresses are in the wrong country: "
            f"{first} in {found[first]}, not {asked[first]}"
        )
    return len(right)
