"""Country lookup of an address in an MMDB: the engine's country port. Pure."""

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import maxminddb

from gatewall.engine.addresses import IPAddress

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
"""How often a process checks whether the database file was replaced."""
Stamp = tuple[int, int, int]
"""Inode, modification time and size: changes whenever the file is replaced."""


class Countries:
    """Country database in MaxMind DB format (GeoLite2, DB-IP, IPinfo, tor-geoipdb).

    Without the file no country is known.
    A new file is in use ``LOOK_SECONDS`` later; an unreadable one leaves the old database in use.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self._reader: maxminddb.Reader | None = None
        self._in_use: Stamp | None = None
        self._refused: tuple[Stamp | None, str] | None = None
        self._look_at = 0.0
        self.reload()

    def reload(self) -> None:
        """Reopen the database, even if the file seems unchanged."""
        self._in_use = None
        self._follow()

    def _follow(self) -> None:
        """Reopen the database if the file changed; log each error once, and retry."""
        self._look_at = self._clock() + LOOK_SECONDS
        stamp = None
        try:
            status = self._path.stat()
            stamp = status.st_ino, status.st_mtime_ns, status.st_size
            if stamp == self._in_use:
                return
            self._reader = maxminddb.open_database(self._path)
            self._in_use = stamp
        except FileNotFoundError:
            return
        except (OSError, ValueError, maxminddb.InvalidDatabaseError) as error:
            refused = stamp, str(error)
            if refused != self._refused:
                logger.error("geo database not opened: %s", error)  # noqa: TRY400 - the words say it all
            self._refused = refused

    def country_of(self, address: IPAddress) -> str | None:
        """Return the ISO 3166-1 alpha-2 country code of an address, or None if unknown."""
        if self._clock() >= self._look_at:
            self._follow()
        if self._reader is None:
            return None
        try:
            return code_in(self._reader.get(address))
        except (maxminddb.InvalidDatabaseError, ValueError):
            return None  # a broken record, or an IPv6 address in an IPv4 database


def code_in(record: Any) -> str | None:
    """Return the country code of a record in any vendor's layout (GeoLite2, DB-IP, IPinfo)."""
    if not isinstance(record, dict):
        return None
    for key in ("country", "registered_country"):
        value = record.get(key)
        code = value.get("iso_code") if isinstance(value, dict) else value
        if isinstance(code, str) and len(code) == 2:
            return code.upper()
    flat = record.get("country_code")
    return flat.upper() if isinstance(flat, str) and len(flat) == 2 else None
