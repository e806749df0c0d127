"""In which country an address is: the engine's country port over any MMDB. Pure."""

from pathlib import Path
from typing import Any

import maxminddb

from gatewall.engine.addresses import IPAddress


class NoCountries:
    """There is no geo database: no country is known."""

    def country_of(self, address: IPAddress) -> str | None:
        """Return None."""
        return None


class MmdbCountries:
    """Countries of a MaxMind DB, whoever made it (GeoLite2, DB-IP, IPinfo, tor-geoipdb)."""

    def __init__(self, path: Path) -> None:
        """Open the database. Raises OSError, maxminddb.InvalidDatabaseError."""
        self._reader = maxminddb.open_database(path)

    def country_of(self, address: IPAddress) -> str | None:
        """Return the ISO 3166-1 alpha-2 code of the address, None when the database has none."""
        try:
            return _code(self._reader.get(address))
        except (maxminddb.InvalidDatabaseError, ValueError):
            return None  # a broken record, or an IPv6 address in an IPv4 database: not known


def _code(record: Any) -> str | None:
    """Return the country code of a record in any of the layouts that vendors use."""
    if not isinstance(record, dict):
        return None
    for key in ("country", "registered_country"):
        value = record.get(key)
        code = value.get("iso_code") if isinstance(value, dict) else value
        if isinstance(code, str) and len(code) == 2:
            return code.upper()
    flat = record.get("country_code")
    return flat.upper() if isinstance(flat, str) and len(flat) == 2 else None
