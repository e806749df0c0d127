"""Help: every page of docs/ becomes HTML with anchors for its headings; no other file of the machine is read."""

import re

import pytest

from gatewall.console.help.documents import Documents, slug
from tests.docs.links import DOCS, anchors

PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
OF_THE_FRAME = {"search", "header", "main", "content", "crumbs", "sidebar", "drawer", "theme", "brand", "footer"}


@pytest.fixture(scope="module")
def documents():
    return Documents(DOCS)


def test_every_page_has_a_title_and_the_anchors_of_its_headings(documents):
    for name in PAGES:
        page = documents.page(name)
        ids = re.findall(r"<h[1-6] id=\"([^\"]*)\"", page.html)

        assert page.title, name
        assert sorted(ids) == sorted(anchors(DOCS / name) - {slug(page.title)}), name
        assert not OF_THE_FRAME & set(ids), name
        assert "<th></th>" not in page.html, name
        assert not re.search(r"<script|<style|\sstyle=|\son[a-z]+=", re.sub(r">[^<]*<", "><", page.html)), name


def test_links_to_pages_stay_and_links_to_other_files_become_text(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "README.md").write_text("# Deep\n")
    (tmp_path / "a.md").write_text(
        "# A `b`\n[x](deep/README.md#deep) [y](deep) [z](../secrets) [w](https://example.com) [v](#c)\n"
        "<!-- made -->\n<script>alert(1)</script>\n## C\n"
    )

    page = Documents(tmp_path).page("a.md")

    assert page.title == "A b"
    assert re.findall(r'href="([^"]*)"', page.html) == ["deep/README.md#deep", "deep", "https://example.com", "#c"]
    assert "made" not in page.html
    assert "<script" not in page.html


@pytest.mark.parametrize("name", ["../README.md", "/etc/passwd", "none.md", "..", "openapi.json", "how-to/../api.md"])
def test_only_pages_and_pictures_of_the_folder_are_found(documents, name):
    assert documents.page(name) is None
    assert documents.picture(name) is None


def test_a_folder_is_its_index_and_a_picture_has_its_type(documents):
    assert documents.page("how-to").title == "How-to pages"
    assert documents.picture("screenshots/sign-in.png")[1] == "image/png"
    assert documents.picture("api.md") is None


def test_headings_are_found_by_their_words_up_to_a_limit(documents):
    found = documents.find("PASSKEYS sign", 6)

    assert "how-to/passkeys.md" in {heading.target for heading in found}
    assert len(documents.find("a", 6)) == 6
    assert documents.find("no such words", 6) == []
