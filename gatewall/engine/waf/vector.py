"""Hyperscan (Vectorscan): finds many patterns in one pass. The only module that knows it."""

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from threading import local
from typing import Any

from gatewall.engine.waf.canaries import misread
from gatewall.engine.waf.scanning import Hit, Scanner
from gatewall.engine.waf.uncommon import COMMON, Numbered, split_up

hyperscan: Any  # its stubs know neither flags nor errors
try:
    import hyperscan
except ImportError:  # pragma: no cover - a machine for which there is no wheel
    hyperscan = None

AVAILABLE = hyperscan is not None
VERSION = f"hyperscan {hyperscan.__version__}" if AVAILABLE else ""

LAYOUT = f"2 {COMMON.hex()}"
"""What databases are made of besides their patterns: kept ones are of use to those alone that lay them out alike."""
_PARTS = 3  # compiling grows faster than the list: three databases take half the time of one
_WORTH_PARTS = 128
_LENGTH_BYTES = 8
_NUMBER_BYTES = 4
_ANYWHERE, _ELSEWHERE, _LEFT_OUT = b"a", b"e", b"l"

Scan = tuple[Callable[..., None], Any]
"""The method of a database, and scratch space for it."""


class DatabaseRefused(ValueError):
    """The patterns or bytes make no database; the message says why."""


class VectorScanner:
    """Databases in block mode. Safe to share: each thread has scratch space of its own.

    Patterns that need a character which harmless text seldom holds have databases of their own, which
    are used on texts with such a character alone.
    """

    name = "hyperscan"

    def __init__(
        self, anywhere: Sequence[Any], elsewhere: Sequence[Any], left_out: AbstractSet[int] = frozenset()
    ) -> None:
        self._anywhere = tuple(anywhere)
        self._elsewhere = tuple(elsewhere)
        self.left_out = frozenset(left_out)
        self._local = local()

    @classmethod
    def compiled(cls, patterns: Sequence[bytes]) -> "VectorScanner":
        """Compile the patterns, each on its own lines (``^`` and ``$`` hold at line feeds).

        A pattern that the engine does not take, or reads otherwise than RE2 in the canaries, is left out and named in
        ``left_out``: it costs the others nothing.
        """
        anywhere, elsewhere = split_up(patterns)
        try:
            scanner = cls(_compiled_parts(anywhere), _compiled_parts(elsewhere))
        except DatabaseRefused:
            left_out = {number for number, pattern in (*anywhere, *elsewhere) if why_refused(pattern)}
            scanner = cls._compiled_without(left_out, anywhere, elsewhere)
        wrong = misread(scanner, patterns)
        return cls._compiled_without(wrong | scanner.left_out, anywhere, elsewhere) if wrong else scanner

    @classmethod
    def _compiled_without(
        cls, left_out: AbstractSet[int], anywhere: Sequence[Numbered], elsewhere: Sequence[Numbered]
    ) -> "VectorScanner":
        anywhere, elsewhere = (
            [each for each in numbered if each[0] not in left_out] for numbered in (anywhere, elsewhere)
        )
        return cls(_databases(anywhere), _databases(elsewhere), left_out)

    @classmethod
    def loaded(cls, data: bytes) -> "VectorScanner":
        """Return the scanner that ``dumped`` gave these bytes. Raises DatabaseRefused."""
        found: dict[bytes, list[Any]] = {_ANYWHERE: [], _ELSEWHERE: []}
        left_out: set[int] = set()
        while data:
            begin = 1 + _LENGTH_BYTES
            kind, end = data[:1], begin + int.from_bytes(data[1:begin], "big")
            if kind == _LEFT_OUT:
                left_out.add(int.from_bytes(data[begin:end], "big"))
                data = data[end:]
                continue
            if kind not in found:
                raise DatabaseRefused("not a database of this engine and processor: another layout")
            try:
                found[kind].append(hyperscan.loadb(data[begin:end], hyperscan.HS_MODE_BLOCK))
            except hyperscan.error as error:
                raise DatabaseRefused(f"not a database of this engine and processor: {error}") from None
            data = data[end:]
        return cls(found[_ANYWHERE], found[_ELSEWHERE], left_out)

    def dumped(self) -> bytes:
        """Return the databases as bytes for this version of the engine and of ours, on this processor."""
        databases = [(_ANYWHERE, each) for each in self._anywhere] + [(_ELSEWHERE, each) for each in self._elsewhere]
        parts = [(kind, hyperscan.dumpb(database)) for kind, database in databases]
        parts += [(_LEFT_OUT, number.to_bytes(_NUMBER_BYTES, "big")) for number in sorted(self.left_out)]
        return b"".join([kind + len(part).to_bytes(_LENGTH_BYTES, "big") + part for kind, part in parts])

    def scan(self, text: bytes) -> list[Hit]:
        """Return one match of each pattern that has any, in no order."""
        try:
            anywhere, elsewhere = self._local.scans
        except AttributeError:
            anywhere, elsewhere = self._local.scans = self._with_scratch()
        hits: list[Hit] = []
        for scan, scratch in anywhere:
            scan(text, _note, 0, hits, scratch)  # by position: names cost a tenth of a short scan
        if elsewhere and text.translate(None, COMMON):
            for scan, scratch in elsewhere:
                scan(text, _note, 0, hits, scratch)
            return list(dict(sorted(hits, reverse=True)).items())  # the first of two, one from each kind
        return hits

    def _with_scratch(self) -> tuple[list[Scan], list[Scan]]:
        anywhere, elsewhere = (
            [(each.scan, hyperscan.Scratch(each)) for each in databases]
            for databases in (self._anywhere, self._elsewhere)
        )
        return anywhere, elsewhere


def _compiled_parts(numbered: Sequence[Numbered]) -> list[Any]:
    parts = _PARTS if len(numbered) >= _WORTH_PARTS else 1
    return [_compile(numbered[part::parts]) for part in range(parts)] if numbered else []


def _databases(numbered: Sequence[Numbered]) -> list[Any]:
    """Return databases of patterns each of which the engine takes alone, while all together may be too large for it."""
    try:
        return _compiled_parts(numbered)
    except DatabaseRefused:
        if len(numbered) == 1:
            raise
    half = len(numbered) // 2
    return _databases(numbered[:half]) + _databases(numbered[half:])


@lru_cache(maxsize=1024)
def why_refused(pattern: bytes) -> str:
    """Return why the engine does not take a pattern, in its own words; empty if it does."""
    try:
        _compile([(0, pattern)])
    except DatabaseRefused as error:
        return str(error)
    return ""


def _compile(numbered: Sequence[Numbered]) -> Any:
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
