"""Links of README, docs/ and the other pages: they work, and lead from docs/README.md to every page."""

import re

import pytest

from tests.docs.links import BASE, DOCS, PAGES, anchors, broken, reachable, slug_of


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(BASE)))
def test_no_link_of_a_page_is_broken(page):
    assert list(broken(page)) == []


def test_every_page_can_be_reached_from_the_index():
    assert {path.relative_to(DOCS) for path in DOCS.rglob("*.md")} - {
        path.relative_to(DOCS) for path in reachable(DOCS / "README.md") if path.is_relative_to(DOCS)
    } == set()


def test_a_broken_target_and_a_broken_anchor_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.docs.links.BASE", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(
        "# A b\n[x](#a-b) [y](#c) [z](none.md) `[code](none.md)` [v](../../etc/passwd) [w](https://a.example/)\n"
    )

    assert list(broken(page)) == ["#c", "none.md", "../../etc/passwd"]


def test_headings_have_the_anchors_of_github(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# 403, and its `decision` id\n## A\n## A\n```sh\n# no heading\n```\n")

    assert anchors(page) == {"403-and-its-decision-id", "a", "a-1"}
    assert slug_of("Über [uns](x.md)") == "über-uns"


_OURS = re.compile(
    r"`((?:accounts|audit|bench|bin|deploy|docs|gatewall|licensing|policies|tests|webhooks)/[\w/.-]+\.\w+)(?:: \w+)?`"
)


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent.name != "adr"], ids=lambda page: page.name)
def test_every_named_file_of_the_repository_exists(page):
    assert [name for name in _OURS.findall(page.read_text()) if "NAME" not in name and not (BASE / name).exists()] == []


def test_each_adr_has_a_unique_number():
    numbers = [page.name[:4] for page in PAGES if page.parent.name == "adr" and page.name != "README.md"]

    assert sorted(set(numbers)) == sorted(numbers)
