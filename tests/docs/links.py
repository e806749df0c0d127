"""Links of Markdown pages: targets, anchors, and reachable pages."""

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

BASE = Path(__file__).resolve().parents[2]
DOCS = BASE / "docs"
PAGES = sorted([*BASE.glob("*.md"), *DOCS.rglob("*.md")])

_CODE = re.compile(r"^ *```.*?^ *```|(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(?<!\\)\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)")
_PICTURE = re.compile(r"!\[[^\]]*\]\(([^)\s]+)")
_HEADING = re.compile(r"^#{1,6} (.+?)\s*#*$", re.MULTILINE)


def without_code(text: str) -> str:
    """Return the text without blocks and spans of code."""
    return _CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def targets(page: Path) -> list[str]:
    """Return the targets of links and pictures within this repository."""
    text = without_code(page.read_text())
    found = [*_LINK.findall(text), *_PICTURE.findall(text)]
    return [target for target in found if not re.match(r"[a-z][a-z0-9+.-]*:", target)]


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and the built site name them."""
    blocks = re.sub(r"^ *```.*?^ *```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    found: dict[str, int] = {}
    for heading in _HEADING.findall(blocks):
        slug = slug_of(heading)
        found[slug] = found.get(slug, -1) + 1
    return {f"{slug}-{number}" if number else slug for slug, last in found.items() for number in range(last + 1)}


def slug_of(heading: str) -> str:
    """Return the anchor of a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    kept = (each for each in unicodedata.normalize("NFC", text.lower()) if each.isalnum() or each in "-_ ")
    return "".join(kept).replace(" ", "-")


def broken(page: Path) -> Iterator[str]:
    """Yield the broken targets of the page."""
    for target in targets(page):
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        is_there = path.is_relative_to(BASE) and path.exists()
        if not is_there or (anchor and path.suffix == ".md" and anchor not in anchors(path)):
            yield target


def reachable(start: Path) -> set[Path]:
    """Return the pages reachable by links from a page; a link to a folder includes its pages."""
    seen: set[Path] = set()
    ahead = [start]
    while ahead:
        page = ahead.pop()
        if page in seen:
            continue
        seen.add(page)
        for target in targets(page):
            path = (page.parent / target.partition("#")[0]).resolve()
            ahead += [path] if path.suffix == ".md" and path.is_file() else []
            ahead += path.glob("*.md") if path.is_dir() and path.is_relative_to(DOCS) else []
    return seen
