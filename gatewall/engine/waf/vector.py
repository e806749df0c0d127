"""Multi-pattern scanning with hyperscan (Vectorscan); the only module that imports it."""

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from threading import local
from typing import Any

from gatewall.engine.waf.canaries import misread
from gatewall.engine.waf.scanning import Hit, Scanner
from gatewall.engine.waf.uncommon import COMMON, Numbered, split_up

hyperscan: Any  # its stubs lack flags and errors
try:
    import hyperscan
except ImportError:  # pragma: no cover - no wheel for this machine
    hyperscan = None

AVAILABLE = hyperscan is not None
VERSION = f"hyperscan {hyperscan.__version__}" if AVAILABLE else ""

LAYOUT = f"3 {COMMON.hex()}"
"""Layout of serialized databases, apart from their patterns; part of the cache key."""
_PARTS = 3  # compile time grows faster than the list: three databases take half the time of one
_WORTH_PARTS = 128
_BEGINNING = 2_048
_LENGTH_BYTES = 8
_NUMBER_BYTES = 4
_ANYWHERE, _ELSEWHERE, _TOGETHER, _LEFT_OUT = b"a", b"e", b"t", b"l"

Scan = tuple[Callable[..., None], Any]
"""Scan method of a database, and its scratch space."""


class DatabaseRefused(ValueError):
    """The patterns cannot be compiled, or the bytes are not a database; the message says why."""


class VectorScanner:
    """Hyperscan databases in block mode; thread-safe, with scratch space per thread.

    Patterns that need an uncommon character are in separate databases, which scan only texts with one. For
    few patterns, ``together`` is one database of both, for such texts: one pass is faster than two.
    """

    name = "hyperscan"

    def __init__(
        self,
        anywhere: Sequence[Any],
        elsewhere: Sequence[Any],
        left_out: AbstractSet[int] = frozenset(),
        together: Sequence[Any] = (),
    ) -> None:
        self._anywhere = tuple(anywhere)
        self._elsewhere = tuple(elsewhere)
        self._together = tuple(together)
        self.left_out = frozenset(left_out)
        self._local = local()

    @classmethod
    def compiled(cls, patterns: Sequence[bytes]) -> "VectorScanner":
        """Compile the patterns (``^`` and ``$`` match at line feeds).

        Patterns that hyperscan refuses, or matches unlike RE2 in the canaries, are omitted and listed in ``left_out``.
        """
        anywhere, elsewhere = split_up(patterns)
        try:
            together = [_compile(list(enumerate(patterns)))] if elsewhere and len(patterns) < _WORTH_PARTS else []
            scanner = cls(_compiled_parts(anywhere), _compiled_parts(elsewhere), together=together)
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
        """Load a scanner from the bytes of ``dumped``. Raises DatabaseRefused."""
        found: dict[bytes, list[Any]] = {_ANYWHERE: [], _ELSEWHERE: [], _TOGETHER: []}
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
        return cls(found[_ANYWHERE], found[_ELSEWHERE], left_out, found[_TOGETHER])

    def dumped(self) -> bytes:
        """Serialize the databases, for this version of hyperscan and layout, and this processor."""
        kinds = ((_ANYWHERE, self._anywhere), (_ELSEWHERE, self._elsewhere), (_TOGETHER, self._together))
        databases = [(kind, each) for kind, databases in kinds for each in databases]
        parts = [(kind, hyperscan.dumpb(database)) for kind, database in databases]
        parts += [(_LEFT_OUT, number.to_bytes(_NUMBER_BYTES, "big")) for number in sorted(self.left_out)]
        return b"".join([kind + len(part).to_bytes(_LENGTH_BYTES, "big") + part for kind, part in parts])

    def scan(self, text: bytes) -> list[Hit]:
        try:
            anywhere, elsewhere, together, uncommon = self._local.scans
        except AttributeError:
            anywhere, elsewhere, together, uncommon = self._local.scans = self._with_scratch()
        hits: list[Hit] = []
        is_unusual = elsewhere and (
            text[:_BEGINNING].translate(None, COMMON) or (text[_BEGINNING:] and _holds_uncommon(text, uncommon))
        )
        for scan, scratch in together if together and is_unusual else anywhere:
            scan(text, _note, 0, hits, scratch)  # keyword arguments cost a tenth of a short scan
        if is_unusual and not together:
            for scan, scratch in elsewhere:
                scan(text, _note, 0, hits, scratch)
            return list(dict(sorted(hits, reverse=True)).items())  # a split pattern may match in both: keep the first
        return hits

    def scan_until(self, text: bytes, is_enough: Callable[[Hit], bool]) -> list[Hit]:
        try:
            anywhere, elsewhere, together, uncommon = self._local.scans
        except AttributeError:
            anywhere, elsewhere, together, uncommon = self._local.scans = self._with_scratch()
        hits: list[Hit] = []

        def note(number: int, start: int, end: int, flags: int, context: None) -> bool:
            hits.append((number, end))
            return is_enough(hits[-1])

        databases = anywhere
        if elsewhere and (text[:_BEGINNING].translate(None, COMMON) or _holds_uncommon(text, uncommon)):
            databases = together or elsewhere + anywhere  # in this order: most attacks have an uncommon character
        try:
            for scan, scratch in databases:
                scan(text, note, 0, None, scratch)
        except hyperscan.ScanTerminated:
            pass
        return list(dict(sorted(hits, reverse=True)).items())

    def _with_scratch(self) -> tuple[list[Scan], list[Scan], list[Scan], Scan]:
        anywhere, elsewhere, together, (uncommon,) = (
            [(each.scan, hyperscan.Scratch(each)) for each in databases]
            for databases in (self._anywhere, self._elsewhere, self._together, [_uncommon()])
        )
        return anywhere, elsewhere, together, uncommon


@lru_cache(maxsize=1)
def _uncommon() -> Any:
    """Return a database that finds an uncommon character."""
    return _compile([(0, b"[^%s]" % b"".join([b"\\x%02x" % each for each in COMMON]))])


def _holds_uncommon(text: bytes, uncommon: Scan) -> bool:
    """True if a text has an uncommon character; ten times as fast as ``translate`` for a long text."""
    scan, scratch = uncommon
    try:
        scan(text, _stop, 0, None, scratch)
    except hyperscan.ScanTerminated:
        return True
    return False


def _stop(number: int, start: int, end: int, flags: int, context: None) -> bool:
    return True


def _compiled_parts(numbered: Sequence[Numbered]) -> list[Any]:
    parts = _PARTS if len(numbered) >= _WORTH_PARTS else 1
    return [_compile(numbered[part::parts]) for part in range(parts)] if numbered else []


def _databases(numbered: Sequence[Numbered]) -> list[Any]:
    """Compile patterns that are accepted one by one; split the list if it is too large as a whole."""
    try:
        return _compiled_parts(numbered)
    except DatabaseRefused:
        if len(numbered) == 1:
            raise
    half = len(numbered) // 2
    return _databases(numbered[:half]) + _databases(numbered[half:])


@lru_cache(maxsize=1024)
def why_refused(pattern: bytes) -> str:
    """Return hyperscan's reason for refusing a pattern, or empty."""
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
    """Source of scanners that compiles synchronously, for measuring and for tests."""

    trouble = ""

    def want(self, patterns: Sequence[bytes], ready: Callable[[Scanner], None]) -> None:
        """Call ``ready`` before returning. Raises DatabaseRefused."""
        ready(_compiled(tuple(patterns)))


@lru_cache(maxsize=4)
def _compiled(patterns: tuple[bytes, ...]) -> VectorScanner:
    return VectorScanner.compiled(patterns)
