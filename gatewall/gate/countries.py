"""Look-up of the country and AS number of an address in MMDB files: the engine's country port. Pure."""

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, TypeVar

import maxminddb

from gatewall.engine.addresses import IPAddress, key_of
from gatewall.kernel.env import Config
from gatewall.kernel.file_io import remove_if_forgotten, replace_file
from gatewall.snapshot.host_paths import geo_folder

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
"""How often a process checks whether the database file was replaced."""
MAX_BYTES = 1024 * 1024**2
"""Maximum size of a database; databases with countries only have about 10 MiB."""
_MAX_ASN = 2**32 - 1
_MOST_REMEMBERED = 4_096
Value = TypeVar("Value")
Stamp = tuple[int, int, int]
"""Inode, modification time and size: changes whenever the file is replaced or written."""


class GeoFile:
    """A file in MaxMind DB format that may be replaced at any time; records by address.

    Without the file no record is known. A new file is in use ``LOOK_SECONDS`` later; an unreadable one leaves the old
    database in use. The processes of a host map a copy in ``folder``: truncating a mapped file (``cp`` over it)
    ends them with SIGBUS. Without a copy the database is read into memory: slower, and once for each process.
    """

    def __init__(self, path: Path, *, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._folder = folder
        self._clock = clock
        self._reader: maxminddb.Reader | None = None
        self._in_use: Stamp | None = None
        self._refused: tuple[Stamp | None, str] | None = None
        self._next_check_at = 0.0
        self.reload()

    def reload(self) -> None:
        """Reopen the database, even if the file seems unchanged."""
        self._in_use = None
        self._reload_if_changed()

    def _reload_if_changed(self) -> None:
        """Reopen the database if the file changed; log each error once, and retry."""
        self._next_check_at = self._clock() + LOOK_SECONDS
        stamp = None
        try:
            stamp = stamp_of(self._path)
            if stamp == self._in_use:
                return
            self._reader = _opened(self._path, self._folder, stamp)
            self._in_use = stamp
        except FileNotFoundError:
            return
        except (OSError, ValueError, maxminddb.InvalidDatabaseError) as error:
            refused = stamp, str(error)
            if refused != self._refused:
                logger.error("geo database not opened: %s", error)  # noqa: TRY400 - the message is enough
            self._refused = refused

    def reader(self) -> maxminddb.Reader | None:
        """Return the database in use, a new object after each change of the file, or None before the first."""
        if self._clock() >= self._next_check_at:
            self._reload_if_changed()
        return self._reader


def record_in(reader: maxminddb.Reader | None, address: IPAddress) -> Any:
    """Return the record of an address in a database, or None."""
    if reader is None:
        return None
    try:
        return reader.get(address)
    except (maxminddb.InvalidDatabaseError, ValueError):
        return None  # a broken record, or an IPv6 address in an IPv4 database


class Remembered(Generic[Value]):
    """Cached values from the records of a file, by address; a changed file empties the cache.

    Reading a record with names in eight languages takes longer than a decision of the gate.
    """

    def __init__(self, file: GeoFile, value_in: Callable[[Any], Value]) -> None:
        self._file = file
        self._value_in = value_in
        self._known: tuple[maxminddb.Reader | None, dict[int, Value]] = (None, {})

    def of(self, address: IPAddress) -> Value:
        """Return the value in the record of an address."""
        reader, key = self._file.reader(), key_of(address)
        known_by, known = self._known
        if known_by is not reader or (key not in known and len(known) >= _MOST_REMEMBERED):
            known = {}
            self._known = reader, known
        if key not in known:
            known[key] = self._value_in(record_in(reader, address))
        return known[key]


class Countries:
    """Countries and AS numbers of addresses (GeoLite2, DB-IP, IPinfo, tor-geoipdb).

    AS numbers are read from the second file, or without one from the first: some vendors' files have both.
    """

    def __init__(
        self, path: Path, *, folder: Path, asns: Path | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._countries = GeoFile(path, folder=folder, clock=clock)
        beside = folder.with_name(f"{folder.name}-asn")
        self._asns = GeoFile(asns, folder=beside, clock=clock) if asns is not None else self._countries
        self._codes, self._numbers = Remembered(self._countries, code_in), Remembered(self._asns, asn_in)

    @classmethod
    def of(cls, config: Config) -> "Countries":
        """Return the countries and AS numbers of this host's configured files."""
        return cls(config.geo_database, folder=geo_folder(config.home), asns=config.geoip_asn_database)

    def reload(self) -> None:
        """Reopen the databases, even if the files seem unchanged."""
        self._countries.reload()
        if self._asns is not self._countries:
            self._asns.reload()

    def country_of(self, address: IPAddress) -> str | None:
        """Return the ISO 3166-1 alpha-2 country code of an address, or None if unknown."""
        return self._codes.of(address)

    def asn_of(self, address: IPAddress) -> int | None:
        """Return the autonomous system number of an address, or None if unknown."""
        return self._numbers.of(address)


def stamp_of(path: Path) -> Stamp:
    """Return the stamp of a file. Raises OSError."""
    status = path.stat()
    return status.st_ino, status.st_mtime_ns, status.st_size


def _opened(path: Path, folder: Path, stamp: Stamp) -> maxminddb.Reader:
    """Map a copy of the database, or read the file into memory: never map the file itself."""
    if stamp[-1] > MAX_BYTES:
        raise ValueError(f"{path} has more than {MAX_BYTES // 1024**2} MiB")
    try:
        copy = private_copy(path, folder, stamp)
    except OSError as error:
        logger.warning("geo database read into memory, not copied: %s", error)
        return maxminddb.open_database(path, maxminddb.MODE_MEMORY)
    return maxminddb.open_database(copy)


def private_copy(path: Path, folder: Path, stamp: Stamp) -> Path:
    """Return the copy of a file with this stamp, made by the first process that needs it. Raises OSError."""
    folder.mkdir(mode=0o700, exist_ok=True)
    copy = folder / "{:x}-{:x}-{:x}.mmdb".format(*stamp)
    if not copy.exists():
        content = path.read_bytes()
        if stamp_of(path) != stamp:
            raise OSError(f"{path} was changed while it was copied")
        replace_file(copy, content, synced=True)
    for other in folder.iterdir():
        if other != copy:
            with suppress(OSError):  # another process removes them too
                remove_if_forgotten(other)
    return copy


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


def asn_in(record: Any) -> int | None:
    """Return the AS number of a record in any vendor's layout (GeoLite2, DB-IP, IPinfo)."""
    if not isinstance(record, dict):
        return None
    for key in ("autonomous_system_number", "asn"):
        value = record.get(key)
        if isinstance(value, str):
            value = value.upper().removeprefix("AS")
            value = int(value) if value.isascii() and value.isdigit() else None
        if isinstance(value, int) and 0 < value <= _MAX_ASN:
            return value
    return None
