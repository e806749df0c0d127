"""Hyperscan (Vectorscan): finds many patterns in one pass. The only module that knows it."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from threading import local
from typing import Any

from gatewall.engine.waf.scanning import Hit, Scanner

hyperscan: Any  # its stubs know neither flags nor errors
try:
    import hyperscan
except ImportError:  # no wheel for this machine
    hyperscan = None

AVAILABLE = hyperscan is not None
VERSION = f"hyperscan {hyperscan.__version__}" if AVAILABLE else ""


class DatabaseRefused(ValueError):
    """The patterns or bytes make no database; the message says why."""


class VectorScanner:
    """A block-mode database. Safe to share: each thread has its own scratch space."""

    name = "hyperscan"

    def __init__(self, database: Any) -> None:
        self._database = database
        self._local = local()

    @classmethod
    def compiled(cls, patterns: Sequence[bytes]) -> "VectorScanner":
        """Compile the patterns, each on its own lines (``^`` and ``$`` hold at line feeds).

        Raises DatabaseRefused if one of them cannot be compiled.
        """
        database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        flags = hyperscan.HS_FLAG_MULTILINE | hyperscan.HS_FLAG_SINGLEMATCH
        try:
            database.compile(expressions=list(patterns), ids=list(range(len(patterns))), flags=[flags] * len(patterns))
        except hyperscan.HyperscanError as error:
            raise DatabaseRefused(str(error)) from None
        return cls(database)

    @classmethod
    def loaded(cls, data: bytes) -> "VectorScanner":
        """Return the scanner that ``dumped`` gave these bytes. Raises DatabaseRefused."""
        try:
            return cls(hyperscan.loadb(data, hyperscan.HS_MODE_BLOCK))
        except hyperscan.HyperscanError as error:
            raise DatabaseRefused(str(error)) from None

    def dumped(self) -> bytes:
        """Return the database as bytes for this version of the engine on this processor."""
        data: bytes = hyperscan.dumpb(self._database)
        return data

    def scan(self, text: bytes) -> list[Hit]:
        try:
            scratch = self._local.scratch
        except AttributeError:
            scratch = self._local.scratch = hyperscan.Scratch(self._database)
        hits: list[Hit] = []
        self._database.scan(text, _note, context=hits, scratch=scratch)
        return hits


def _note(number: int, start: int, end: int, flags: int, hits: list[Hit]) -> None:
    hits.append((number, end))


class CompiledNow:
    """Scanners that are compiled while the caller waits: for measuring and for tests."""

    def want(self, patterns: Sequence[bytes], ready: Callable[[Scanner], None]) -> None:
        """Call ``ready`` at once. Raises DatabaseRefused."""
        ready(_compiled(tuple(patterns)))


@lru_cache(maxsize=4)
def _compiled(patterns: tuple[bytes, ...]) -> VectorScanner:
    return VectorScanner.compiled(patterns)
