"""`python -m tests.browser.readme_pictures` makes the pictures of README.md: the dashboard, and a refusal explained."""

import re
import sys
import tempfile
from functools import partial
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tests.browser.explaining import enter, receipt, refused
from tests.browser.installation import find_chromium, installation, launch
from tests.browser.operators import fill_log
from tests.browser.screenshots import FOLDER, keep
from tests.support.processes import PATIENCE, wait_until

_REQUESTS = 1_000
"""The pictures wait until the window of the dashboard has more requests than this."""


def _has_all(page: Page) -> bool:
    page.reload()
    found = re.search(r"Requests\s+([\d,]+)", page.locator("#content").inner_text())
    return found is not None and int(found[1].replace(",", "")) > _REQUESTS


def main() -> None:
    """Write the upper part of each page, in the size of a laptop window."""
    executable = find_chromium()
    if executable is None:
        sys.exit("there is no chromium (apt install chromium)")
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright, installation(Path(home)) as wall:
        browser = launch(playwright, executable)
        number = refused(wall, browser.new_page())
        fill_log(wall.home)
        page = browser.new_page(viewport={"width": 1200, "height": 980}, color_scheme="light")
        enter(wall, page)
        receipt(wall, page, number)
        keep(page, "readme-refusal", whole=False)
        page.goto(wall.page("/admin/dashboard/"))
        wait_until(partial(_has_all, page), 5 * PATIENCE, "a busy log")
        keep(page, "readme-dashboard", whole=False)
        browser.close()
    sys.stdout.write(f"pictures are in {FOLDER}\n")


if __name__ == "__main__":
    main()
