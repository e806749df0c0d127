"""Unpack a compressed geo database (.mmdb.gz, .tar.gz), with a limit on its size (decompression bombs)."""

import gzip
import tarfile
import zlib
from pathlib import Path
from typing import IO, cast

GZIP = b"\x1f\x8b"
_BLOCK = 512
_USTAR = slice(257, 262)
_PIECE = 1024 * 1024


class ArchiveRefused(Exception):
    """The archive is damaged, too large, or has no database."""


def is_compressed(path: Path) -> bool:
    """True for a gzip file."""
    with path.open("rb") as file:
        return file.read(len(GZIP)) == GZIP


def unpack(path: Path, into: IO[bytes], *, at_most: int) -> None:
    """Write the content of a .gz, or the first .mmdb file of a .tar.gz. Raises ArchiveRefused, OSError."""
    try:
        with gzip.open(path) as packed:
            is_tar = packed.read(_BLOCK)[_USTAR] == b"ustar"
            packed.seek(0)
            bounded = _Bounded(packed, at_most)
            if is_tar:
                _copy_database(bounded, into, at_most)
            else:
                _copy(bounded, into)
    except (gzip.BadGzipFile, EOFError, zlib.error, tarfile.TarError) as error:
        raise ArchiveRefused(f"it cannot be unpacked ({type(error).__name__})") from None


def _copy_database(packed: "_Bounded", into: IO[bytes], at_most: int) -> None:
    stream = cast(IO[bytes], packed)
    with tarfile.open(fileobj=stream, mode="r|") as archive:  # a stream: no file is written under a name of the archive
        for member in archive:
            file = archive.extractfile(member) if member.isfile() and member.name.endswith(".mmdb") else None
            if file is not None:
                return _copy(_Bounded(file, at_most), into)  # a hole in a sparse file has any size, and no bytes here
    raise ArchiveRefused("its archive has no .mmdb file")


def _copy(source: "_Bounded", into: IO[bytes]) -> None:
    while piece := source.read(_PIECE):
        into.write(piece)


class _Bounded:
    """Reader that refuses more than a number of bytes, because a small file may unpack to any size."""

    def __init__(self, file: IO[bytes] | gzip.GzipFile, at_most: int) -> None:
        self._file = file
        self._left = self._at_most = at_most

    def read(self, size: int) -> bytes:
        piece = self._file.read(min(size, _PIECE))
        self._left -= len(piece)
        if self._left < 0:
            raise ArchiveRefused(f"it has more than {self._at_most // 1024 // 1024} MiB")
        return piece
