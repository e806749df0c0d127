"""In which country an address is: the engine's country port over any MMDB. Pure."""

import logging
from pathlib import Path
from typing import Any

import maxminddb

from gatewall.engine.addresses import IPAddress

logger = logging.getLogger(__name__)


class Countries:
    """Countries of a MaxMind DB, whoever made it (GeoLite2, DB-IP, IPinfo, tor-geoipdb), or of none.

    The file may come later: it is looked for at every reload.
    """

    def __init__(self, path: Path | None) -> None:
        """Open the database; without one no country is known."""
        self._path = path
        self._reader: maxminddb.Reader | None = None
        self.reload()

    def reload(self) -> None:
        """Open the database again; one that cannot be opened does not replace the one in use."""
        if self._path is None or not self._path.exists():
            return
        try:
            self._reader = maxminddb.open_database(self._path)
        except (OSError, ValueError, maxminddb.InvalidDatabaseError) as error:
            logger.error("geo database not opened: %s", error)  # noqa: TRY400 - the words say it all

    def country_of(self, address: IPAddress) -> str | None:
        """Return the ISO 3166-1 alpha-2 code of the address, None when the database has none."""
        if self._reader is None:
            return None
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
