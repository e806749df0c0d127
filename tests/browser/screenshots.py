"""`python -m tests.browser.screenshots` makes docs/screenshots: every visitor page, as chromium shows it."""

import io
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Locator, Page, sync_playwright

from tests.browser.gallery import a_guest, first_visit
from tests.browser.installation import find_chromium, installation, launch, without_admin
from tests.support.mailbox import body_of
from tests.support.processes import BASE

FOLDER = BASE / "docs" / "screenshots"
NARROW_AND_DARK = {"sign-in", "second-factor", "set-up", "account", "denied", "new-password"}
_WIDE: dict[str, Any] = {"viewport": {"width": 560, "height": 480}, "color_scheme": "light"}
_NARROW: dict[str, Any] = {"viewport": {"width": 320, "height": 480}, "color_scheme": "dark"}


def main() -> None:
    """Write one picture per page, and a narrow dark one of some pages."""
    executable = find_chromium()
    if executable is None:
        sys.exit("there is no chromium (apt install chromium)")
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as empty, sync_playwright() as playwright:
        browser = launch(playwright, executable)
        with installation(Path(home)) as wall:
            for look, chosen in ((_WIDE, None), (_NARROW, NARROW_AND_DARK)):
                page = browser.new_page(**look)
                guest = a_guest(wall)
                for name in first_visit(wall, page, guest):
                    if chosen is None or name in chosen:
                        suffix = "" if chosen is None else "-dark"
                        keep(page, f"{name}{suffix}")
                page.goto("about:blank")  # mails have no content security policy
                page.set_content(body_of(wall.mailbox.mails[-1], "html"))
                keep(page, f"mail-invitation{'' if chosen is None else '-dark'}")
        with without_admin(Path(empty)) as link:
            page = browser.new_page(**_WIDE)
            page.goto(link)
            keep(page, "first-admin")
        browser.close()


def keep(shown: Page | Locator, name: str, *, whole: bool = True) -> None:
    """Write a picture of a page, of its window alone, or of a part, in 32 colors: fewer bytes, and text stays sharp."""
    taken = shown.screenshot(full_page=whole) if isinstance(shown, Page) else shown.screenshot()
    picture = Image.open(io.BytesIO(taken))
    picture.convert("RGB").quantize(32).save(FOLDER / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
