"""Build date, age and content of the geo database, for the control plane. The only adapter of geoip2."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import IPv4Address
from pathlib import Path

import maxminddb
from django.conf import settings

from gatewall.engine.ports import CountryLookup
from gatewall.kernel import geo_file

_KNOWN_TO_ALL = tuple(map(IPv4Address, ("1.1.1.1", "8.8.8.8", "9.9.9.9", "193.0.6.139")))
"""Addresses of large, old networks, which every database of autonomous systems has."""
_lookup: list[Callable[[], CountryLookup]] = []


@dataclass(frozen=True, slots=True)
class GeoDatabase:
    """Metadata of a geo database (MMDB)."""

    kind: str
    built_at: datetime


def configured() -> Path:
    """Return the path of the geo database, whether or not it exists: ``GEOIP_DATABASE``, or the default."""
    path: Path = settings.GATEWALL_GEOIP_DATABASE or geo_file.installed(settings.GATEWALL_HOME)
    return path


def in_use() -> Path | None:
    """Return the path of the geo database, or None if it does not exist."""
    path = configured()
    return path if path.exists() else None


def describe(path: Path | None) -> GeoDatabase | None:
    """Return the metadata of the database, None if it is missing or unreadable."""
    if path is None:
        return None
    import geoip2.database  # noqa: PLC0415 - takes 8 MiB, needed only with a database

    try:
        with geoip2.database.Reader(path, mode=geoip2.database.MODE_FILE) as reader:
            metadata = reader.metadata()
    except (OSError, ValueError, maxminddb.InvalidDatabaseError):
        return None
    return GeoDatabase(metadata.database_type, datetime.fromtimestamp(metadata.build_epoch, tz=UTC))


def look_up_with(lookup: Callable[[], CountryLookup]) -> None:
    """Register the look-up of this process; ``gatewall.apps`` calls this, to avoid an import of the gate."""
    _lookup[:] = [lookup]


def lookup() -> CountryLookup:
    """Return the look-up of countries and autonomous systems of this process."""
    return _lookup[0]()


def knows_autonomous_systems() -> bool:
    """Return whether a geo database has autonomous systems; databases of countries or cities usually have none."""
    return any(lookup().asn_of(address) is not None for address in _KNOWN_TO_ALL)
