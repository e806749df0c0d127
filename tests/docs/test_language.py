"""The language of the pages: neutral pronouns, no riddles with who and whom, American spelling."""

import re
from pathlib import Path

import pytest

from tests.docs.links import BASE, PAGES, without_code
from tests.docs.sentences import long_ones, sentences

PACKAGES = ("gatewall", "accounts", "policies", "audit", "licensing", "webhooks")
SOURCES = sorted(path for package in PACKAGES for kind in ("*.py", "*.html") for path in (BASE / package).rglob(kind))
WORDS = {
    "people are they": re.compile(r"\b(?:he|him|himself|his|she|her|hers|herself)\b"),
    "name the actor instead of who": re.compile(
        r"(?:^|[.:;] |\* )(?:Who|Whom|Whoever) (?:(?![.?!|]\s).)*[.;]\s", re.DOTALL
    ),
    "American spelling": re.compile(
        r"\b(?:licences?|behaviour|colours?|favour\w*|honour\w*|neighbours?|centre|catalogue|judgement|"
        r"(?:author|initial|minim|normal|optim|organ|recogn|serial|summar|synchron|util)is(?:e[ds]?|ing|ation))\b"
    ),
}
"""Forbidden words of all pages, outside of code."""
EDITED = {"no intensifier": re.compile(r"\bvery\b")}
"""Further forbidden words, except in ADRs (docs/adr/0120-prose-is-checked-by-our-own-test.md)."""
FOLLOWED = (
    *("README.md", "CONTRIBUTING.md", "docs/README.md", "docs/tutorial.md", "docs/first-change.md", "docs/upgrade.md"),
    *("docs/how-to/", "docs/providers/", "docs/contributing/", "docs/backup.md", "docs/geo.md"),
)
SHORT = [page for page in PAGES if page.parent.name != "adr" and page.name != "SECURITY.md"]
"""Pages except ADRs, which are not edited."""
RIDDLES = (Path(__file__).parent / "riddles.txt").read_text().splitlines()
"""Unclear sentences that must not return, in pages and in the program."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(BASE)))
def test_a_page_uses_no_forbidden_words(page):
    text, rules = without_code(page.read_text()), WORDS | (EDITED if page in SHORT else {})

    found = {rule: [" ".join(hit[0].split()) for hit in words.finditer(text)] for rule, words in rules.items()}

    assert {rule: hits for rule, hits in found.items() if hits} == {}


def most(page):
    """Return the permitted share of long sentences of a page: none for step-by-step instructions."""
    path = page.relative_to(BASE).as_posix()
    return 0 if path.startswith(FOLLOWED) else 0.25 if path.startswith("docs/proxies/") else 0.09


@pytest.mark.parametrize("page", SHORT, ids=lambda page: str(page.relative_to(BASE)))
def test_sentences_are_short(page):
    found = long_ones(page.read_text())

    assert len(found) <= most(page) * len(list(sentences(page.read_text()))), "\n".join(found)


def test_long_sentences_are_found_in_text_lists_and_tables():
    long = "Word " + "word " * 25 + "end."
    short = "Word " + "word " * 23 + "end."

    assert len(long_ones(f"# T\n{long} {short}\n\n* {long}\n| a | {long} |\n```sh\n{long}\n```\n")) == 3
    assert long_ones(f"{short} {short}\n* {short}\n") == []


def test_no_listed_unclear_sentence_is_left():
    for path in (*PAGES, *SOURCES):
        text = " ".join(path.read_text().replace("`", "").split())
        assert [riddle for riddle in RIDDLES if riddle in text] == [], path


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("The user sees his page.", "people are they"),
        ("Seen. Who is found is banned. More.", "name the actor instead of who"),
        ("A licence is a token.", "American spelling"),
        ("A very large network.", "no intensifier"),
    ],
)
def test_each_rule_finds_its_words_and_ignores_questions(text, rule):
    words = (WORDS | EDITED)[rule]

    assert words.search(text)
    assert not words.search("Who can enter? They see their page with a license.")
