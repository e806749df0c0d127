"""Install a geo database for the gate."""

import hashlib
import hmac
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Protocol

import maxminddb

from gatewall.engine.addresses import IPNetwork
from gatewall.gate.countries import Countries
from gatewall.kernel.file_io import sync_folder
from gatewall.kernel.geo_ranges import CountryRanges, RangesRefused, bounded_lines, looks_like_ranges

MAX_BYTES = 256 * 1024 * 1024
_PIECE = 1024 * 1024
_HEAD = 16 * 1024
_LOOKED_AT = 100_000
_ENOUGH = 3
_GZIP = b"\x1f\x8b"
_CLOCK_SKEW_SECONDS = 24 * 3600


class GeoDatabaseRefused(Exception):
    """The file is not a usable geo database; the current one is unchanged."""


class Readable(Protocol):
    """A readable binary file."""

    def read(self, size: int, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Installed:
    """Type, build time, size and digest of the installed database."""

    kind: str
    built_at: datetime
    size: int
    sha256: str


def install(
    source: Readable, target: Path, *, at: datetime, sha256: str | None = None, more: Sequence[Readable] = ()
) -> Installed:
    """Atomically replace the target by the source, synced to disk.

    The source is an MMDB, or text ranges, optionally with ``more``, as Tor publishes IPv4 and IPv6 separately.

    Raises GeoDatabaseRefused, and OSError if it cannot be read or written.
    """
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _temporary(target) as temporary:
        size, digest = _copy(source, temporary)
        if sha256 is not None and not hmac.compare_digest(digest, sha256.lower()):
            raise GeoDatabaseRefused(f"its SHA-256 is {digest}, another one was asked for")
        if _is_text(temporary):
            size = _convert(temporary, target, more, at)
        elif more:
            raise GeoDatabaseRefused("an MMDB file is one; only text ranges come in several")
        kind, built_at = _inspect(temporary, at)
        temporary.replace(target)
    sync_folder(target.parent)
    return Installed(kind, built_at, size, digest)


@contextmanager
def _temporary(target: Path) -> Iterator[Path]:
    """Create a temporary file beside the target, readable by its owner only; remove it at the end."""
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")  # mode 0600
    os.close(descriptor)
    try:
        yield Path(name)
    finally:
        with suppress(FileNotFoundError):
            Path(name).unlink()


def _is_text(path: Path) -> bool:
    with path.open("rb") as file:
        return looks_like_ranges(file.read(_HEAD))


def _convert(text: Path, target: Path, more: Sequence[Readable], at: datetime) -> int:
    """Convert text ranges to a database in place; return its size. Raises GeoDatabaseRefused, OSError."""
    ranges = CountryRanges()
    try:
        _add_ranges(ranges, text)
        for source in more:
            with _temporary(target) as another:
                _copy(source, another)
                if not _is_text(another):
                    raise GeoDatabaseRefused("to text ranges, only more of them can be added")
                _add_ranges(ranges, another)
    except RangesRefused as refused:
        raise GeoDatabaseRefused(str(refused)) from None
    with text.open("wb") as file:
        ranges.write(file, at=at)
        file.flush()
        os.fsync(file.fileno())
    return text.stat().st_size


def _add_ranges(ranges: CountryRanges, path: Path) -> None:
    with path.open("rb") as file:
        ranges.add(bounded_lines(file))


def _copy(source: Readable, path: Path) -> tuple[int, str]:
    """Copy the source to the file; return its size and SHA-256."""
    digest, size = hashlib.sha256(), 0
    with path.open("wb") as file:
        while piece := source.read(_PIECE):
            if not size and piece.startswith(_GZIP):
                raise GeoDatabaseRefused("it is compressed: unpack it first")
            size += len(piece)
            if size > MAX_BYTES:
                raise GeoDatabaseRefused(f"it has more than {MAX_BYTES // 1024 // 1024} MiB")
            digest.update(piece)
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    return size, digest.hexdigest()


def _inspect(path: Path, at: datetime) -> tuple[str, datetime]:
    """Return type and build time of a database after a test look-up."""
    try:
        with maxminddb.open_database(path) as reader:
            metadata = reader.metadata()
            built = metadata.build_epoch
            if not 0 < built <= at.timestamp() + _CLOCK_SKEW_SECONDS:
                raise GeoDatabaseRefused("its build date is missing or in the future")
            networks = [network for network, _ in islice(reader, _LOOKED_AT)]
    except (maxminddb.InvalidDatabaseError, ValueError, OSError) as error:
        raise GeoDatabaseRefused(f"it is no MMDB file that can be read ({type(error).__name__})") from None
    _require_countries(path, networks)
    return metadata.database_type, datetime.fromtimestamp(built, tz=UTC)


def _require_countries(path: Path, networks: list[IPNetwork]) -> None:
    countries = Countries(path)
    located = (network for network in networks if countries.country_of(network.network_address))
    if len(list(islice(located, _ENOUGH))) < min(_ENOUGH, max(1, len(networks))):
        raise GeoDatabaseRefused("no countries are known to it")
