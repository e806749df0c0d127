"""The documentation as HTML: the Markdown pages of a folder, and the pictures that they show. No Django.

A page is found by its path in the folder, never by a path of the file system, so nothing else can be read.
"""

import mimetypes
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from html import escape
from itertools import islice, pairwise
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

INDEX = "README.md"
_PICTURES = frozenset({".png", ".svg"})
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)
_FENCE = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^#{1,3} (.+?)\s*$", re.MULTILINE)
_MARKUP = re.compile(r"[`*]|\[([^\]]*)\]\([^)]*\)")
_RENDERED = 16
"""Pages kept as HTML."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a page; the anchor of the page's title is empty."""

    page: str
    text: str
    anchor: str

    @property
    def target(self) -> str:
        return f"{self.page}#{self.anchor}" if self.anchor else self.page


@dataclass(frozen=True, slots=True)
class Document:
    """A page: its title, and the HTML of its body."""

    title: str
    html: str


def slug(heading: str) -> str:
    """Return the anchor of a heading, as GitHub and the built site name it."""
    kept = (each for each in _MARKUP.sub(r"\1", heading).lower() if each.isalnum() or each in "-_ ")
    return "".join(kept).replace(" ", "-")


class Documents:
    """The pages and pictures of a folder, listed at the first request."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._render = lru_cache(_RENDERED)(self._rendered)

    @cached_property
    def _files(self) -> Mapping[str, Path]:
        found = (path for path in self._folder.rglob("*") if path.suffix in {".md", *_PICTURES})
        return {path.relative_to(self._folder).as_posix(): path for path in found}

    @cached_property
    def headings(self) -> tuple[Heading, ...]:
        """Return the headings of all pages."""
        return tuple(
            heading for name in sorted(self._files) if name.endswith(".md") for heading in self._headings(name)
        )

    def page(self, name: str) -> Document | None:
        """Return a page, or None if there is no such page; a folder is its index."""
        name = name if name.endswith(".md") else str(PurePosixPath(name) / INDEX)
        return self._render(name) if name in self._files else None

    def picture(self, name: str) -> tuple[bytes, str] | None:
        """Return the bytes of a picture and its media type, or None if there is no such picture."""
        if PurePosixPath(name).suffix not in _PICTURES or name not in self._files:
            return None
        return self._files[name].read_bytes(), mimetypes.types_map[PurePosixPath(name).suffix]

    def find(self, text: str, at_most: int) -> list[Heading]:
        """Return headings that have all words of the text."""
        words = text.lower().split()
        found = (heading for heading in self.headings if all(word in heading.text.lower() for word in words))
        return list(islice(found, at_most))

    def _text(self, name: str) -> str:
        return _COMMENT.sub("", self._files[name].read_text())

    def _headings(self, name: str) -> Iterator[Heading]:
        first, *others = [found[1] for found in _HEADING.finditer(_FENCE.sub("", self._text(name)))]
        yield Heading(name, _MARKUP.sub(r"\1", first), "")
        for text in others:
            yield Heading(name, _MARKUP.sub(r"\1", text), slug(text))

    def _rendered(self, name: str) -> Document:
        title, _, text = self._text(name).partition("\n")
        markdown = _markdown()
        tokens = markdown.parse(text)
        _name_and_strip(tokens)
        for token in tokens:
            for child in token.children or ():
                self._lead(child, PurePosixPath(name).parent)
        html = markdown.renderer.render(tokens, markdown.options, {})
        html = html.replace("<th></th>", "<td></td>")  # a header without text is none for screen readers
        html = html.replace("<table>", '<div class="wide" tabindex="0"><table>').replace("</table>", "</table></div>")
        return Document(_MARKUP.sub(r"\1", title.removeprefix("# ")), html.replace("<pre>", '<pre tabindex="0">'))

    def _lead(self, token: "Token", folder: PurePosixPath) -> None:
        """Keep links to pages, pictures and other hosts; a link to another file of the repository becomes text."""
        target = str(token.attrs.get("href", ""))
        if token.type != "link_open" or urlsplit(target).scheme or target.startswith("#"):
            return
        path = _normal(folder / target.partition("#")[0])
        if path not in self._files and f"{path}/{INDEX}" not in self._files:
            token.tag, token.attrs = "span", {"class": "no-link", "title": escape(path)}


def _normal(path: PurePosixPath) -> str:
    """Return a path without its dot segments; a path outside the folder begins with ``..``."""
    kept: list[str] = []
    for part in path.parts:
        if part == ".." and kept and kept[-1] != "..":
            kept.pop()
        elif part != ".":
            kept.append(part)
    return "/".join(kept)


def _name_and_strip(tokens: "list[Token]") -> None:
    """Add an anchor to each heading, and remove the styles of all tokens."""
    seen: dict[str, int] = {}
    for token, inline in pairwise(tokens):
        token.attrs.pop("style", None)  # alignment of a column: the content security policy forbids styles
        if token.type == "heading_open":
            name = slug(inline.content)
            seen[name] = seen.get(name, -1) + 1
            token.attrs["id"] = f"{name}-{seen[name]}" if seen[name] else name


def _markdown() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # noqa: PLC0415 - 6 MB that only the reader of a page needs

    return MarkdownIt("commonmark", {"html": False}).enable("table")
