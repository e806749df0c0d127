"""Sentences of a Markdown page and the share of long ones: `python -m tests.docs.sentences` prints them."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.docs.links import BASE, PAGES

LONG = 25
"""Words."""
_FENCE = re.compile(r"^ *```.*?^ *```|<!--.*?-->", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\]]*\])*)\]\([^)]*\)")
_ITEM = re.compile(r"(?:[*-]|\d+\.) ")
_END = re.compile(r"(?<=[.!?])[\"')*]*\s+(?=[A-Z`*\[(\"0-9])")


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a page, without headings; a table cell and a list item end a sentence."""
    for block in _blocks(_FENCE.sub("", text)):
        words = re.sub(r"`[^`]*`", "X", _LINK.sub(r"\1", " ".join(block.split())))
        yield from filter(None, _END.split(words))


def _blocks(text: str) -> Iterator[str]:
    block = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("|"):
            yield from re.split(r" \| ", line.strip("| "))
        elif not line or line.startswith("#") or _ITEM.match(line):
            yield block
            block = "" if line.startswith("#") else _ITEM.sub("", line, count=1)
        else:
            block = f"{block} {line}"
    yield block


def long_ones(text: str) -> list[str]:
    """Return the sentences of more than ``LONG`` words."""
    return [each for each in sentences(text) if len(each.split()) > LONG]


def main() -> None:
    """Print the long sentences of the named pages, or their number and share for every page."""
    for page in map(Path, sys.argv[1:]):
        for each in long_ones(page.read_text()):
            sys.stdout.write(f"{len(each.split())}  {each}\n")
    for page in [] if sys.argv[1:] else PAGES:
        number, total = len(long_ones(page.read_text())), len(list(sentences(page.read_text())))
        sys.stdout.write(f"{number:4} of {total:5}  {number / max(1, total):4.0%}  {page.relative_to(BASE)}\n")


if __name__ == "__main__":
    main()
