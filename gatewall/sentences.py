"""Sentences of the services in the reader's language.

The services speak English, for the API does. A page that shows what one of them said looks its sentence up here.
"""

import re
from collections.abc import Iterable

from django.utils.translation import gettext

_PLACE = re.compile(r"%\((\w+)\)s")
_PART = "why"
"""The place in which another sentence stands."""
_LONGEST, _DEEPEST = 2_000, 3
"""What a stranger wrote may be among the values: what is longer, or more sentences in each other, stays as it is."""


class Sentences:
    """Sentences that are known, each as a text of the catalogue; ``%(name)s`` stands where a value does."""

    def __init__(self, texts: Iterable[str]) -> None:
        every = list(texts)
        self._plain = frozenset(text for text in every if not _PLACE.search(text))
        self._filled = [(text, _pattern(text)) for text in every if text not in self._plain]

    def said(self, sentence: str) -> str:
        """Return the sentence in the active language, or as it is if it is none of those that are known."""
        return self._said(sentence, _DEEPEST) if len(sentence) <= _LONGEST else sentence

    def _said(self, sentence: str, deep: int) -> str:
        if sentence in self._plain:
            return gettext(sentence)
        for text, pattern in self._filled:
            if deep and (found := pattern.fullmatch(sentence)):
                return self._filled_in(gettext(text), found, deep - 1)
        return sentence

    def _filled_in(self, text: str, found: re.Match[str], deep: int) -> str:
        def value(place: re.Match[str]) -> str:
            name = place[1]
            return self._said(found[name], deep) if name == _PART else found[name]

        return _PLACE.sub(value, text)

    def knows(self, sentence: str) -> bool:
        """True if the sentence is one of those that are known."""
        return sentence in self._plain or any(pattern.fullmatch(sentence) for _, pattern in self._filled)


def _pattern(text: str) -> re.Pattern[str]:
    """Return what matches the text with values in it."""
    parts = _PLACE.split(text)
    return re.compile(
        "".join(f"(?P<{part}>.+?)" if number % 2 else re.escape(part) for number, part in enumerate(parts)), re.DOTALL
    )
