"""The contact sheet of the operator pages has every picture of every page."""

from pathlib import Path

import pytest
from django.urls import reverse

from gatewall.console.shell.navigation import ALONE, SECTIONS, Page, registered
from tests.browser.operator_screenshots import LOOKS, PAGES

DOCS = Path(__file__).resolve().parents[2] / "docs"
SHEET = (DOCS / "operator.md").read_text().partition("## Contact sheet")[2]


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: look or "light")
def test_every_page_is_on_the_contact_sheet(look):
    pictures = [f"screenshots/operator-{name}{look}.png" for name in PAGES]

    assert [picture for picture in pictures if f"]({picture})" not in SHEET] == []
    assert [picture for picture in pictures if not (DOCS / picture).exists()] == []


def test_every_page_of_the_sidebar_is_pictured():
    pages = {
        item.view for each in (ALONE, *(section.items for section in SECTIONS)) for item in each if type(item) is Page
    }
    models = {f"/{label.replace('.', '/')}/" for label in registered()}
    pictured = {path.partition("?")[0] for path in PAGES.values()}

    expected = {
        reverse(f"console:{view}").removeprefix("/wall/admin") for view in pages - {"overview", "backup"}
    } | models
    assert {path for path in expected if not any(each.startswith(path) for each in pictured)} == set()
