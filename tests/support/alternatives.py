"""Find redundant alternatives of a pattern: parse them, and sample texts that each one matches.

A recursive-descent parser of the syntax that the built-in rules use, and a sampler that walks what it parsed.
"""

import string
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

_POOL = "a1 /x=_-.,:'\"()Zz;<>?&\\~!@#$%^*+[]{}|`\t\x80\xff\r\x00\x01\x0b"
_CLASSES = {"w": string.ascii_letters + string.digits + "_", "d": string.digits, "s": " \t\r\x0c"}
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\x0c"}
_MANY = 1_000


@dataclass
class Item:
    """One of characters, or a group; repeated; ``characters`` is empty for an assertion."""

    characters: str = ""
    group: "list[Alternative]" = field(default_factory=list)
    least: int = 1
    most: int = 1

    def contains(self, number: int) -> bool:
        return any(each.contains(number) for each in self.group)


@dataclass
class Alternative:
    """A sequence of items, numbered within the pattern, with its place in the source."""

    number: int
    begin: int
    end: int = 0
    items: list[Item] = field(default_factory=list)

    def contains(self, number: int) -> bool:
        return self.number == number or any(item.contains(number) for item in self.items)


class Pattern:
    """A parsed pattern: its alternatives, samples of each, and the pattern without one."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._at = len("(?i)") if source.startswith("(?i)") else 0
        self._count = 0
        self._all: list[Alternative] = []
        self._siblings: dict[int, int] = {}
        self._root = self._group()
        if self._at != len(source):
            raise ValueError(f"not parsed from {self._at} on: {source[self._at :][:40]}")

    def alternatives(self) -> list[Alternative]:
        """Return the alternatives of groups with more than one."""
        return [each for each in self._all if self._siblings[each.number] > 1]

    def text_of(self, alternative: Alternative) -> str:
        return self.source[alternative.begin : alternative.end]

    def without(self, alternative: Alternative) -> str:
        """Return the pattern without an alternative."""
        begin, end = alternative.begin, alternative.end
        if self.source[end : end + 1] == "|":
            return self.source[:begin] + self.source[end + 1 :]
        return self.source[: begin - 1] + self.source[end:]

    def samples(self, alternative: Alternative, random: Random) -> Iterator[str]:
        """Yield texts that the alternative may match, in various contexts; an infinite generator."""
        around = ["", "", "", " ", "x", "1", "/", "'", "=", "(", ";", "&", ",", "\r", "<", "-", "["]
        while True:
            text = self._sample(self._root, alternative.number, random)
            yield random.choice(around) + text + random.choice(around)

    def _sample(self, group: list[Alternative], number: int, random: Random) -> str:
        chosen = next((each for each in group if each.contains(number)), None) or random.choice(group)
        found = []
        for item in chosen.items:
            is_forced = item.contains(number)
            least = max(item.least, 1) if is_forced else item.least
            times = random.choice([least, least, min(least + 1, item.most), min(least + 3, item.most)])
            for _ in range(times):
                if item.group:
                    found.append(self._sample(item.group, number, random))
                elif item.characters:
                    found.append(random.choice(item.characters))
        return "".join(found)

    def _group(self) -> list[Alternative]:
        found = []
        while True:
            alternative = Alternative(self._count, self._at)
            self._count += 1
            self._all.append(alternative)
            while self.source[self._at : self._at + 1] not in {"", "|", ")"}:
                alternative.items.append(self._item())
            alternative.end = self._at
            found.append(alternative)
            if self.source[self._at : self._at + 1] != "|":
                self._siblings.update({each.number: len(found) for each in found})
                return found
            self._at += 1

    def _item(self) -> Item:
        character = self._take()
        if character == "(":
            if self.source.startswith("?", self._at):
                self._at = self.source.index(":", self._at) + 1
            item = Item(group=self._group())
            self._at += 1
        elif character == "[":
            item = Item(self._class())
        elif character == "\\":
            item = Item(self._escaped())
        elif character in "^$":
            item = Item()
        else:
            item = Item(_POOL if character == "." else character)
        item.least, item.most = self._repeated()
        return item

    def _take(self) -> str:
        self._at += 1
        return self.source[self._at - 1]

    def _repeated(self) -> tuple[int, int]:
        following = self.source[self._at : self._at + 1]
        if following == "{" and self.source[self._at + 1 : self._at + 2].isdigit():
            end = self.source.index("}", self._at)
            least, comma, most = self.source[self._at + 1 : end].partition(",")
            self._at = end + 1
            return int(least), int(most or _MANY) if comma else int(least)
        if following in {"*", "+", "?"}:
            self._at += 1
            return {"*": (0, _MANY), "+": (1, _MANY), "?": (0, 1)}[following]
        return 1, 1

    def _escaped(self) -> str:
        letter = self._take()
        if letter == "x":
            self._at += 2
            return chr(int(self.source[self._at - 2 : self._at], 16))
        if letter in "bB":
            return ""
        if letter in "SWD":
            return "".join(each for each in _POOL if each not in _CLASSES[letter.lower()] + "\n")
        return _CLASSES.get(letter) or _ESCAPES.get(letter) or letter

    def _class(self) -> str:
        is_negated = self.source.startswith("^", self._at)
        self._at += is_negated
        found = ""
        while (character := self._take()) != "]":
            members = self._escaped() if character == "\\" else character
            if self.source[self._at] == "-" and self.source[self._at + 1] != "]" and len(members) == 1:
                self._at += 1
                last = self._take()
                last = self._escaped() if last == "\\" else last
                members = "".join(map(chr, range(ord(members), ord(last) + 1)))
            found += members
        return "".join(each for each in _POOL + string.ascii_letters if each not in found) if is_negated else found
