"""`python -m tests.browser.doctor_pictures` makes the pictures of the proxy doctor in docs/screenshots."""

import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from tests.browser.installation import find_chromium, installation, launch
from tests.browser.screenshots import keep
from tests.browser.test_operator_doctor import PASSED_THROUGH, broken, enter, examine
from tests.proxies.changed import KEPT

LOOKS: dict[str, dict[str, Any]] = {
    "": {"viewport": {"width": 1000, "height": 700}, "color_scheme": "light"},
    "-dark": {"viewport": {"width": 320, "height": 700}, "color_scheme": "dark"},
}


def main() -> None:
    """Write the page before an examination, with a correct proxy, and with a forgeable one."""
    executable = find_chromium()
    if executable is None:
        sys.exit("there is no chromium (apt install chromium)")
    with (
        tempfile.TemporaryDirectory() as home,
        tempfile.TemporaryDirectory() as folder,
        sync_playwright() as playwright,
    ):
        browser = launch(playwright, executable)
        with installation(Path(home)) as wall:
            site, proxy = broken(wall, Path(folder), PASSED_THROUGH, KEPT)
            with site, proxy as port:
                for suffix, look in LOOKS.items():
                    page = browser.new_page(**look)
                    page.set_default_timeout(120_000)
                    enter(wall, page)
                    _walk(page, suffix, right=wall.port, wrong=port)
        browser.close()


def _walk(page: Page, suffix: str, *, right: int, wrong: int) -> None:
    keep(page, f"operator-doctor{suffix}")
    examine(page, f"http://127.0.0.1:{right}/")
    keep(page, f"operator-doctor-right{suffix}")
    examine(page, f"http://127.0.0.1:{wrong}/")
    keep(page, f"operator-doctor-wrong{suffix}")


if __name__ == "__main__":
    main()
