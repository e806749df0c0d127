r"""Find the patterns that match only texts with an uncommon character, such as ``<`` or a quote. No I/O.

Most harmless texts have none and need not be scanned for them. When in doubt, a pattern is scanned for in all texts.
Case does not matter: uncommon characters have none.
"""

import string
from collections.abc import Sequence
from dataclasses import dataclass

COMMON = f"{string.ascii_letters}{string.digits}_ \n\x01/().;,-:=+".encode() + bytes(range(0x80, 0x100))
"""Bytes of harmless paths, arguments and user agents, and the marks of ``reading.py``. All others are uncommon."""
_LITERAL_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_HEX = frozenset(string.hexdigits)

Numbered = tuple[int, bytes]
"""A pattern with its number in the original list."""


class _Unsupported(Exception):
    """Syntax that this parser does not support."""


def split_up(patterns: Sequence[bytes]) -> tuple[list[Numbered], list[Numbered]]:
    """Return the patterns for all texts, and those only for texts with an uncommon character.

    A pattern's alternatives may be split between both lists; it matches where one of them does.
    """
    anywhere: list[Numbered] = []
    elsewhere: list[Numbered] = []
    for number, pattern in enumerate(patterns):
        prefix, alternatives = _read(pattern)
        for found, needed in ((anywhere, False), (elsewhere, True)):
            if chosen := [text for text, needs in alternatives if needs is needed]:
                found.append((number, prefix + b"|".join(chosen)))
    return anywhere, elsewhere


def _read(pattern: bytes) -> tuple[bytes, list[tuple[bytes, bool]]]:
    """Return a pattern's leading flag, and its alternatives, each with whether it needs an uncommon character."""
    prefix = b"(?i)" if pattern.startswith(b"(?i)") else b""
    reader = _Reader(pattern[len(prefix) :].decode("latin-1"))
    try:
        found = reader.alternatives()
    except (_Unsupported, RecursionError):
        return b"", [(pattern, False)]
    if not reader.is_at_end:
        return b"", [(pattern, False)]
    return prefix, [(text.encode("latin-1"), needs) for text, needs in found]


@dataclass(slots=True)
class _Reader:
    """Recursive-descent parser of the syntax common to RE2 and hyperscan."""

    pattern: str
    at: int = 0

    @property
    def is_at_end(self) -> bool:
        return self.at == len(self.pattern)

    def _next(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def _take(self) -> str:
        character = self._next()
        if not character:
            raise _Unsupported
        self.at += 1
        return character

    def _took(self, text: str) -> bool:
        if not self.pattern.startswith(text, self.at):
            return False
        self.at += len(text)
        return True

    def alternatives(self) -> list[tuple[str, bool]]:
        """Return each alternative of the group, and whether it needs an uncommon character."""
        found = []
        while True:
            began = self.at
            needs = self._sequence()
            found.append((self.pattern[began : self.at], needs))
            if not self._took("|"):
                return found

    def _sequence(self) -> bool:
        needs = False
        while self._next() not in {"", "|", ")"}:
            item = self._item()
            is_there = self._is_at_least_once()
            needs = needs or (item and is_there)
        return needs

    def _item(self) -> bool:
        character = self._take()
        match character:
            case "(":
                return self._group()
            case "[":
                return self._class()
            case "\\":
                return _is_uncommon(self._escaped())
            case "^" | "$" | ".":
                return False
            case "*" | "+" | "?" | "{":
                raise _Unsupported
        return _is_uncommon(character)

    def _group(self) -> bool:
        if self._next() == "?" and not (self._took("?:") or self._took("?i:")):
            raise _Unsupported  # inline flags, named groups, look-around
        found = self.alternatives()
        if not self._took(")"):
            raise _Unsupported
        return all(needs for _, needs in found)

    def _is_at_least_once(self) -> bool:
        """Parse a quantifier; True unless it allows zero repetitions."""
        if self._took("*") or self._took("?"):
            least = 0
        elif self._took("+"):
            least = 1
        elif self._took("{"):
            least = self._counted()
        else:
            return True
        self._took("?")  # lazy: matches the same texts
        if self._next() in {"*", "+", "?", "{"}:
            raise _Unsupported
        return least > 0

    def _counted(self) -> int:
        """Return the minimum of ``{2}``, ``{2,}`` or ``{2,3}``."""
        text, end, _ = self.pattern[self.at :].partition("}")
        least, _, most = text.partition(",")
        if not (end and _is_number(least) and (not most or _is_number(most))):
            raise _Unsupported
        self.at += len(text) + 1
        return int(least)

    def _escaped(self) -> str:
        """Return the escaped character, empty for an assertion or a class."""
        letter = self._take()
        if letter == "x":
            digits = self._take() + self._take()
            if not _HEX.issuperset(digits):
                raise _Unsupported
            return chr(int(digits, 16))
        if letter in _LITERAL_ESCAPES:
            return _LITERAL_ESCAPES[letter]
        if letter in "dDwWsSbB":
            return ""  # each class contains common characters
        if letter.isalnum() or not letter.isascii():
            raise _Unsupported
        return letter

    def _class(self) -> bool:
        is_negated = self._took("^")
        if self._next() == "]":
            raise _Unsupported
        needs = not is_negated  # a negated class always contains common characters
        while not self._took("]"):
            if self._next() == "[" and self.pattern[self.at + 1 : self.at + 2] in {":", ".", "="}:
                raise _Unsupported
            first = self._member()
            last = first
            if self._next() == "-" and self.pattern[self.at + 1 : self.at + 2] != "]":
                self.at += 1
                last = self._member()
                if not (first and last):
                    raise _Unsupported
            needs = needs and bool(first) and all(map(_is_uncommon, map(chr, range(ord(first), ord(last) + 1))))
        return needs

    def _member(self) -> str:
        if not self._took("\\"):
            return self._take()
        if self._next() in {"b", "B"}:
            raise _Unsupported
        return self._escaped()


def _is_uncommon(character: str) -> bool:
    """True for an uncommon character; False for none."""
    return bool(character) and ord(character) not in COMMON


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()
