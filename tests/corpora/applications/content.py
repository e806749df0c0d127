"""What people put into applications: titles, sentences, Markdown, HTML of editors, source code, files, identifiers."""

import base64
import gzip
import html
import json
import random
import re
import uuid
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from tests.corpora.record import texts

KEPT = Path(__file__).parent / "contents.json.gz"
"""Documents and source files of this project at one time, so that the requests stay the same."""
_ABOUT_ATTACKS = {"waf.md", "security.md"}
_SEED = 20261123
_FILES = ("Report (final).pdf", "O'Brien's notes.md", "IMG_2043.HEIC", "budget 2026 v2.xlsx", "R&D; plans.txt", "50%.txt",
          "Müller & Söhne.docx", "日本語.md", "backup-2026.tar.gz", "docker-compose.yml", "my photo [1].jpg", "nginx.conf",
          "Passwords.kdbx", "script.js", "a=b.csv", "README", "#1 song.mp3", "Übersicht.ods", "select.sql", ".env.example")  # fmt: skip


class Content:
    """A source of contents; the same generator gives the same ones."""

    def __init__(self, random_: random.Random) -> None:
        self._random = random_

    def number(self, most: int = 10_000) -> int:
        return self._random.randrange(1, most)

    def one_of(self, *choices: str) -> str:
        return self._random.choice(choices)

    def id(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def data(self, size: int = 3_000) -> bytes:
        """Return bytes of a packed file."""
        return b"\x89PNG\r\n\x1a\n" + self._random.randbytes(size)

    def title(self) -> str:
        return self._random.choice(_titles())

    def sentence(self) -> str:
        return self._random.choice(_sentences())

    def file_name(self) -> str:
        return self._random.choice(_FILES)

    def person(self) -> str:
        return self._random.choice(texts.NAMES)

    def markdown(self) -> str:
        """Return a section of a document."""
        return self._random.choice(_sections())

    def page(self) -> str:
        """Return the HTML that an editor writes for a section."""
        return as_html(self.markdown())

    def code(self) -> tuple[str, str]:
        """Return name and content of a source file."""
        return self._random.choice(_code())

    def comment(self) -> str:
        return self._random.choice((self.sentence, self.sentence, self.markdown))()

    def token(self) -> str:
        """Return a signed token (JWT) of random claims."""
        head, claims = {"alg": "RS256", "typ": "JWT"}, {"sub": self.id(), "name": self.person(), "iat": 1_770_000_000}
        coded = [base64.urlsafe_b64encode(json.dumps(each).encode()).decode().rstrip("=") for each in (head, claims)]
        return ".".join([*coded, base64.urlsafe_b64encode(self._random.randbytes(64)).decode().rstrip("=")])


@lru_cache
def _titles() -> list[str]:
    return [*texts.TYPED, *_sentences()[:300]]


@lru_cache
def _sentences() -> list[str]:
    return texts.translations(_SEED, 2_000)


def _sections() -> list[str]:
    return _kept()["sections"]


def _code() -> list[tuple[str, str]]:
    return [(name, text) for name, text in _kept()["code"]]


@lru_cache
def _kept() -> dict[str, list[Any]]:
    return cast("dict[str, list[Any]]", json.loads(gzip.decompress(KEPT.read_bytes())))


def keep() -> None:
    """Rewrite the sections of this project's documents and source files, without those about attacks."""
    random_ = random.Random(_SEED)  # noqa: S311 - the same ones each time
    sections = []
    for path in sorted((texts.BASE / "docs").rglob("*.md")):
        if path.name not in _ABOUT_ATTACKS:
            sections += [each.strip() for each in re.split(r"(?m)^(?=#+ )", path.read_text()) if len(each) > 60]
    folders = (("gatewall", "*.py"), ("accounts", "*.py"), ("deploy", "*.y*ml"), ("bin", "*"), ("docs", "*.md"))
    paths = [
        path
        for folder, pattern in folders
        for path in sorted((texts.BASE / folder).rglob(pattern))
        if path.is_file() and "waf" not in path.parts and path.name not in _ABOUT_ATTACKS
    ]
    code = [(path.name, path.read_text()[:12_000]) for path in random_.sample(paths, 60)]
    kept = {"sections": [each[:6_000] for each in random_.sample(sections, 400)], "code": code}
    KEPT.write_bytes(gzip.compress(json.dumps(kept).encode(), 9, mtime=0))


def as_html(markdown: str) -> str:
    """Return HTML as an editor writes it: paragraphs, headings, lists, links, code."""
    found = []
    for block in markdown.split("\n\n"):
        text = block.strip()
        if text.startswith("```"):
            found.append(f"<pre><code>{html.escape(text.strip('`'))}</code></pre>")
            continue
        text = html.escape(text, quote=False)
        text = re.sub(r"\[([^\]]*)\]\(([^)\s]*)\)", r'<a href="\2" target="_blank" rel="noopener">\1</a>', text)
        text = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", text)
        text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
        if heading := re.match(r"(#+) (.*)", text):
            found.append(f"<h{len(heading[1])}>{heading[2]}</h{len(heading[1])}>")
        elif text.startswith(("* ", "- ")):
            found.append("<ul>" + "".join(f"<li>{each.lstrip('*- ')}</li>" for each in text.split("\n")) + "</ul>")
        else:
            found.append(f'<p style="text-align: left">{text}</p>')
    return "\n".join(found)
