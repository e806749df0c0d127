"""README.md and its Chinese form: short, with equal commands, figures and pictures that match other pages."""

import re

import pytest

from tests.docs.links import BASE, DOCS, targets

PAGES = [BASE / "README.md", BASE / "README.zh-CN.md"]
PEERS = [
    "Gatewall, page load | 47 (",
    "oauth2-proxy, page load | 110 (",
    "vouch-proxy, page load | 38 (",
    "coraza, page load | 1701 (",
]
_BLOCK = re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_readme_has_under_200_lines_and_three_commands_to_run_gatewall(page):
    text = page.read_text()

    assert len(text.splitlines()) < 200
    (lines,) = _BLOCK.findall(text)
    assert [line.partition(" ")[0] for line in lines.splitlines()] == ["git", "export", "gatewall"]


def test_both_forms_have_the_same_lines_figures_and_pictures():
    english, chinese = (page.read_text() for page in PAGES)

    def figures(text):
        table = re.findall(r"\|[^|]*\d[^|]*\| \[.*", text)
        return [sorted(re.findall(r"\d[\d,.]*\d", line.rpartition("](")[0])) for line in table]

    assert _BLOCK.findall(english) == _BLOCK.findall(chinese)
    assert figures(english) == figures(chinese)
    assert len(figures(english)) >= 5
    assert [each for each in targets(PAGES[0]) if each.endswith(".png")] == [
        each for each in targets(PAGES[1]) if each.endswith(".png")
    ]


@pytest.mark.parametrize(
    ("page", "figures"),
    [
        ("performance.md", ["| 422 (", "| 192 (", "| 4.34 (", "| 77.88 (", *PEERS]),
        ("waf.md", ["97.39 / 95.61", "0 / 0.060", "Refused: 4 of 3704"]),
        ("reliability.md", ["1009189 answers", "1011 changes", "37731 answers", "101 kills"]),
    ],
)
def test_figures_of_the_readme_are_on_the_linked_page(page, figures):
    text = (DOCS / page).read_text()

    assert [figure for figure in figures if figure not in text] == []


def test_the_chinese_tutorial_has_the_blocks_of_the_english_one():
    """test_tutorial.py runs these blocks."""
    english, chinese = ((DOCS / f"tutorial{suffix}.md").read_text() for suffix in ("", ".zh-CN"))
    block = re.compile(r"^```\w+\n.*?^```", re.DOTALL | re.MULTILINE)

    assert block.findall(english) == block.findall(chinese)
    assert english.count("\n## ") == chinese.count("\n## ")
