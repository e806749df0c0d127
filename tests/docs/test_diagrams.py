"""docs/diagrams: each picture matches its source, has no script, loads from no other host, and is on a page."""

import re

import pytest

from tests.diagrams import FOLDER, mark
from tests.docs.links import DOCS

SOURCES = sorted(FOLDER.glob("*.d2"))
PAGES = {page: page.read_text() for page in DOCS.rglob("*.md")}


def test_every_main_flow_has_a_diagram():
    assert {source.stem for source in SOURCES} >= {"architecture", "request", "policy", "spool", "sign-in"}


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_a_picture_is_current_and_shown(source):
    picture = source.with_suffix(".svg")
    text = picture.read_text()

    assert text.endswith(mark(source)), "python -m tests.diagrams"
    assert not re.search(r"<script|\son[a-z]+=|@import|url\((?!#|\"?data:)|href=\"http", text)
    assert len(text) < 64 * 1024
    assert [page for page, words in PAGES.items() if f"diagrams/{picture.name})" in words]
