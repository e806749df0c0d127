"""Install a geo database for the gate."""

import hashlib
import hmac
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from gatewall.install.geo_archive import ArchiveRefused, is_compressed, unpack
from gatewall.install.geo_license import attribution
from gatewall.install.geo_verification import GeoDatabaseRefused, Verified, verify
from gatewall.kernel.file_io import sync_folder
from gatewall.kernel.geo_ranges import CountryRanges, RangesRefused, bounded_lines, looks_like_ranges

MAX_BYTES = 256 * 1024 * 1024
_PIECE = 1024 * 1024
_HEAD = 16 * 1024


class Readable(Protocol):
    """A readable binary file."""

    def read(self, size: int, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Installed:
    """The installed database, its size, the digest of its source, and the attribution that its license requires."""

    database: Verified
    size: int
    sha256: str
    attribution: str


def install(
    source: Readable, target: Path, *, at: datetime, sha256: str | None = None, more: Sequence[Readable] = ()
) -> Installed:
    """Verify the source and atomically replace the target by it, synced to disk.

    The source is an MMDB, or text ranges, optionally with ``more``, as Tor publishes IPv4 and IPv6 separately; each
    may be compressed (.gz, .tar.gz). ``sha256`` is the digest of the source as sent.

    Raises GeoDatabaseRefused, and OSError if it cannot be read or written.
    """
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _temporary(target) as temporary:
        digest = _copy(source, temporary)
        if sha256 is not None and not hmac.compare_digest(digest, sha256.lower()):
            raise GeoDatabaseRefused(f"its SHA-256 is {digest}, another one was asked for")
        _unpack(temporary, target)
        if _is_text(temporary):
            _convert(temporary, target, more, at)
        elif more:
            raise GeoDatabaseRefused("an MMDB file is one; only text ranges come in several")
        verified = verify(temporary, at=at)
        if target.exists():
            shutil.copymode(target, temporary)
        size = temporary.stat().st_size
        temporary.replace(target)
    sync_folder(target.parent)
    return Installed(verified, size, digest, attribution(verified.kind, verified.description))


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


def _unpack(path: Path, target: Path) -> None:
    """Unpack a compressed file in place. Raises GeoDatabaseRefused, OSError."""
    if not is_compressed(path):
        return
    with _temporary(target) as unpacked:
        try:
            with unpacked.open("wb") as file:
                unpack(path, file, at_most=MAX_BYTES)
                file.flush()
                os.fsync(file.fileno())
        except ArchiveRefused as refused:
            raise GeoDatabaseRefused(str(refused)) from None
        unpacked.replace(path)


def _convert(text: Path, target: Path, more: Sequence[Readable], at: datetime) -> None:
    """Convert text ranges to a database in place. Raises GeoDatabaseRefused, OSError."""
    ranges = CountryRanges()
    try:
        _add_ranges(ranges, text)
        for source in more:
            with _temporary(target) as another:
                _copy(source, another)
                _unpack(another, target)
                if not _is_text(another):
                    raise GeoDatabaseRefused("to text ranges, only more of them can be added")
                _add_ranges(ranges, another)
    except RangesRefused as refused:
        raise GeoDatabaseRefused(str(refused)) from None
    with text.open("wb") as file:
        ranges.write(file, at=at)
        file.flush()
        os.fsync(file.fileno())


def _add_ranges(ranges: CountryRanges, path: Path) -> None:
    with path.open("rb") as file:
        ranges.add(bounded_lines(file))


def _copy(source: Readable, path: Path) -> str:
    """Copy the source to the file; return its SHA-256. Raises GeoDatabaseRefused."""
    digest, size = hashlib.sha256(), 0
    with path.open("wb") as file:
        while piece := source.read(_PIECE):
            size += len(piece)
            if size > MAX_BYTES:
                raise GeoDatabaseRefused(f"it has more than {MAX_BYTES // 1024 // 1024} MiB")
            digest.update(piece)
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest()
