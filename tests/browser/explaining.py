"""A walk through the pages for explanation, history, import and confirmation: for pictures, and for checks.

`python -m tests.browser.explaining` makes the pictures of docs/screenshots.
"""

import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from tests.browser.installation import Wall, find_chromium, installation, launch, sign_in
from tests.browser.screenshots import FOLDER, keep
from tests.support.processes import PASSWORD, PATIENCE, wait_until

ATTACK = "/editor/page?text=%3Cscript%3Ealert(1)%3C/script%3E&other=1"
LOOKS: dict[str, dict[str, Any]] = {
    "": {"viewport": {"width": 1000, "height": 700}, "color_scheme": "light"},
    "-dark": {"viewport": {"width": 320, "height": 700}, "color_scheme": "dark"},
}


def enter(wall: Wall, page: Page) -> None:
    """Sign in at the admin site, through nginx."""
    page.goto(wall.page("/admin/"))
    page.fill("#id_username", "admin")
    page.fill("#id_password", PASSWORD)
    page.click("[type=submit]")


def refused(wall: Wall, page: Page) -> str:
    """Sign in as a visitor, be refused, and return the decision id on the page."""
    page.goto(wall.url("office"))
    sign_in(page, wall.a_user())
    page.goto(wall.url("office", ATTACK))
    return page.locator("code").inner_text()


def receipt(wall: Wall, page: Page, number: str) -> None:
    """Look up the decision id of a refused visitor, once its answer is in the log."""

    def is_there() -> bool:
        page.goto(wall.page("/admin/explain/"))
        page.fill("#decision_id", number)
        page.click("form[method=get] button")
        return number in page.url and "/explain/" + number in page.url

    wait_until(is_there, PATIENCE, "the answer in the log")


def made_up(wall: Wall, page: Page) -> None:
    """Explain a made-up request."""
    page.goto(wall.page("/admin/explain/"))
    for name, value in {"client_ip": "203.0.113.9", "host": "office.gate.test", "uri": ATTACK}.items():
        page.fill(f"#{name}", value)
    page.click("text=Explain this request")


def shut_out(wall: Wall, page: Page) -> None:
    """Block the own address, by force."""
    page.goto(wall.page("/admin/policies/blocklistentry/add/"))
    page.fill("#id_network", "127.0.0.1")
    page.click("[name=_save]")
    page.check("#id_force")
    page.click("[name=_save]")


def explaining(wall: Wall, page: Page, number: str) -> Iterator[str]:
    """Walk through the pages as a signed-in admin; yield a name for each page."""
    page.goto(wall.page("/admin/explain/"))
    yield "explain"
    receipt(wall, page, number)
    yield "receipt"
    page.click("text=Decide again")
    yield "receipt-again"
    made_up(wall, page)
    yield "made-up"
    page.goto(wall.page("/admin/history/"))
    yield "history"
    page.locator(".revisions h2 a").nth(2).click()
    yield "revision"
    page.click("text=Show what a restore would change")
    yield "restore"
    page.goto(wall.page("/admin/import/"))
    yield "import"
    page.fill("#list-name", "drop")
    page.fill("#text", "203.0.113.0/24 # scanners\n198.51.100.7\n10.0.0.1\n")
    page.click("text=Show what it would do")
    yield "import-preview"
    shut_out(wall, page)
    page.goto(wall.page("/admin/history/"))
    yield "waiting"
    page.click("text=Revert it now")
    yield "reverted"


def main() -> None:
    """Write a picture of each page, light and wide, dark and narrow."""
    executable = find_chromium()
    if executable is None:
        sys.exit("there is no chromium (apt install chromium)")
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        browser = launch(playwright, executable)
        with installation(Path(home)) as wall:
            number = refused(wall, browser.new_page())
            for suffix, look in LOOKS.items():
                page = browser.new_page(**look)
                enter(wall, page)
                for name in explaining(wall, page, number):
                    if re.fullmatch("receipt-again|made-up|revision|restore|import-preview|waiting", name):
                        keep(page, f"operator-{name}{suffix}")
        browser.close()
    sys.stdout.write(f"pictures are in {FOLDER}\n")


if __name__ == "__main__":
    main()
