"""The contact sheet of the operator pages shows every page that is pictured, in every look."""

from pathlib import Path

import pytest

from tests.browser.operator_screenshots import LOOKS, PAGES

DOCS = Path(__file__).resolve().parents[2] / "docs"
SHEET = (DOCS / "operator.md").read_text().partition("## Contact sheet")[2]


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: look or "light")
def test_every_page_is_on_the_contact_sheet(look):
    pictures = [f"screenshots/operator-{name}{look}.png" for name in PAGES]

    assert [picture for picture in pictures if f"]({picture})" not in SHEET] == []
    assert [picture for picture in pictures if not (DOCS / picture).exists()] == []
