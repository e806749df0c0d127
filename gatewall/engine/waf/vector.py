"""Hyperscan (Vectorscan): finds many patterns in one pass. The only module that knows it."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from threading import local
from typing import Any

from gatewall.engine.waf.scanning import Hit, Scanner

hyperscan: Any  # its stubs know neither flags nor errors
try:
    import hyperscan
except ImportError:  # pragma: no cover - a machine for which there is no wheel
    hyperscan = None

AVAILABLE = hyperscan is not None
VERSION = f"hyperscan {hyperscan.__version__}" if AVAILABLE else ""

_PARTS = 3  # compiling grows faster than the list: three databases take half the time of one, and scan as fast
_WORTH_PARTS = 32
_LENGTH_BYTES = 8


class DatabaseRefused(ValueError):
    """The patterns or bytes make no database; the message says why."""


class VectorScanner:
    """Databases in block mode. Safe to share: each thread has scratch space of its own."""

    name = "hyperscan"

    def __init__(self, databases: Sequence[Any]) -> None:
        self._databases = tuple(databases)
        self._local = local()

    @classmethod
    def compiled(cls, patterns: Sequence[bytes]) -> "VectorScanner":
        """Compile the patterns, each on its own lines (``^`` and ``$`` hold at line feeds).

        Raises DatabaseRefused if one of them cannot be compiled.
        """
        numbered = list(enumerate(patterns))
        parts = _PARTS if len(numbered) >= _WORTH_PARTS else 1
        return cls([_compile(numbered[part::parts]) for part in range(parts)])

    @classmethod
    def loaded(cls, data: bytes) -> "VectorScanner":
        """Return the scanner that ``dumped`` gave these bytes. Raises DatabaseRefused."""
        databases = []
        while data:
            end = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES], "big")
            try:
                databases.append(hyperscan.loadb(data[_LENGTH_BYTES:end], hyperscan.HS_MODE_BLOCK))
            except hyperscan.error as error:
                raise DatabaseRefused(f"not a database of this engine and processor: {error}") from None
            data = data[end:]
        return cls(databases)

    def dumped(self) -> bytes:
        """Return the databases as bytes for this version of the engine on this processor."""
        parts = [hyperscan.dumpb(database) for database in self._databases]
        return b"".join([len(part).to_bytes(_LENGTH_BYTES, "big") + part for part in parts])

    def scan(self, text: bytes) -> list[Hit]:
        """Return one match of each pattern that has any, in no order."""
        try:
            pairs = self._local.pairs
        except AttributeError:
            pairs = self._local.pairs = [(each.scan, hyperscan.Scratch(each)) for each in self._databases]
        hits: list[Hit] = []
        for scan, scratch in pairs:
            scan(text, _note, 0, hits, scratch)  # by position: names cost a tenth of a short scan
        return hits


def _compile(numbered: Sequence[tuple[int, bytes]]) -> Any:
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    flags = hyperscan.HS_FLAG_MULTILINE | hyperscan.HS_FLAG_SINGLEMATCH
    try:
        database.compile(
            expressions=[pattern for _, pattern in numbered],
            ids=[number for number, _ in numbered],
            flags=[flags] * len(numbered),
        )
    except hyperscan.error as error:
        raise DatabaseRefused(str(error)) from None
    return database


def _note(number: int, start: int, end: int, flags: int, hits: list[Hit]) -> None:
    hits.append((number, end))


class CompiledNow:
    """Scanners that are compiled while the caller waits: for measuring and for tests."""

    trouble = ""

    def want(self, patterns: Sequence[bytes], ready: Callable[[Scanner], None]) -> None:
        """Call ``ready`` at once. Raises DatabaseRefused."""
        ready(_compiled(tuple(patterns)))


@lru_cache(maxsize=4)
def _compiled(patterns: tuple[bytes, ...]) -> VectorScanner:
    return VectorScanner.compiled(patterns)
