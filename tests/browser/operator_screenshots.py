"""`python -m tests.browser.operator_screenshots` makes docs/screenshots/operator-*: the pages of operators."""

import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from tests.browser.installation import find_chromium, installation, launch
from tests.browser.operators import enter, fill_log
from tests.browser.screenshots import FOLDER, keep
from tests.support.processes import wait_until

PAGES = {
    "dashboard": "/dashboard/",
    "log": "/log/?outcome=deny&exclude_country_code=DE&page_size=8",
    "ban": "/log/ban/?network=203.0.113.44",
}
_LOOKS: dict[str, tuple[Any, int]] = {"": ("light", 1200), "-dark": ("dark", 1200), "-narrow": ("dark", 320)}


def _is_busy(page: Page) -> bool:
    page.reload()
    return page.locator(".counted li").count() > 8


def main() -> None:
    """Write each page in the light, in the dark, and narrow."""
    executable = find_chromium()
    if executable is None:
        sys.exit("there is no chromium (apt install chromium)")
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright, installation(Path(home)) as wall:
        browser = launch(playwright, executable)
        fill_log(wall.home)
        for suffix, (scheme, width) in _LOOKS.items():
            page = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 600})
            enter(wall, page, "/dashboard/")
            wait_until(partial(_is_busy, page), 300, "a busy log")
            for name, path in PAGES.items():
                page.goto(wall.page(f"/admin{path}"))
                keep(page, f"operator-{name}{suffix}")
        browser.close()


if __name__ == "__main__":
    main()
