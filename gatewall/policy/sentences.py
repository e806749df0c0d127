"""Sentences of the services in the reader's language.

The services speak English, for the API does. A page that shows what one of them said looks its sentence up here.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.utils.translation import gettext

_PLACE = re.compile(r"%\((\w+)\)s")
_PART = "why"
"""The place in which another sentence stands."""
_LONGEST, _DEEPEST = 2_000, 3
"""What a stranger wrote may be among the values: what is longer, or more sentences in each other, stays as it is."""


@dataclass(frozen=True, slots=True)
class _Filled:
    """A text with places for values, and what stands before, between and behind them."""

    text: str
    names: tuple[str, ...]
    literals: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> "_Filled":
        parts = _PLACE.split(text)
        return cls(text, tuple(parts[1::2]), tuple(parts[::2]))

    def values_of(self, sentence: str) -> dict[str, str] | None:
        """Return the values with which the text is this sentence, the first ones as short as may be, None if it is not.

        In linear time: what stands first is found first, and nothing is tried twice.
        """
        before, *between, behind = self.literals
        if not (sentence.startswith(before) and sentence.endswith(behind)):
            return None
        values, begin, end = [], len(before), len(sentence) - len(behind)
        for literal in between:
            found = sentence.find(literal, begin + 1, end)
            if found < 0:
                return None
            values.append(sentence[begin:found])
            begin = found + len(literal)
        return dict(zip(self.names, [*values, sentence[begin:end]], strict=True)) if begin < end else None


class Sentences:
    """Sentences that are known, each as a text of the catalogue; ``%(name)s`` stands where a value does."""

    def __init__(self, texts: Iterable[str]) -> None:
        every = list(texts)
        self._plain = frozenset(text for text in every if not _PLACE.search(text))
        self._filled = [_Filled.of(text) for text in every if text not in self._plain]

    def said(self, sentence: str) -> str:
        """Return the sentence in the active language, or as it is if it is none of those that are known."""
        return self._said(sentence, _DEEPEST) if len(sentence) <= _LONGEST else sentence

    def _said(self, sentence: str, deep: int) -> str:
        if sentence in self._plain:
            return gettext(sentence)
        for known in self._filled if deep else ():
            if (values := known.values_of(sentence)) is not None:
                return self._filled_in(gettext(known.text), values, deep - 1)
        return sentence

    def _filled_in(self, text: str, values: Mapping[str, str], deep: int) -> str:
        def value(place: re.Match[str]) -> str:
            name = place[1]
            return self._said(values[name], deep) if name == _PART else values[name]

        return _PLACE.sub(value, text)

    def knows(self, sentence: str) -> bool:
        """True if the sentence is one of those that are known."""
        return sentence in self._plain or any(known.values_of(sentence) is not None for known in self._filled)
