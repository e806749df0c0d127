"""The site of bin/docs: it builds without a warning, has every page, asks no other host, can be searched offline."""

import json
import os
import re
import subprocess
import sys

import pytest
from playwright.sync_api import sync_playwright

from tests.browser.installation import find_chromium, launch
from tests.docs.links import BASE, DOCS


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "--quiet", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    run = subprocess.run(command, cwd=BASE, env=environment, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout + run.stderr) == (0, "")
    return folder


def test_every_page_is_there_and_the_search_knows_it(site):
    pages = {path.relative_to(DOCS).with_suffix(".html").as_posix() for path in DOCS.rglob("*.md")}
    pages = {re.sub(r"README\.html$", "index.html", page) for page in pages}
    index = json.loads((site / "search" / "search_index.json").read_text())

    assert [page for page in pages if not (site / page).is_file()] == []
    assert pages <= {entry["location"].partition("#")[0] for entry in index["docs"]}


def test_the_index_of_adrs_has_their_status_and_date(site):
    text = (site / "adr" / "index.html").read_text()
    rows = re.findall(r"<td><a href=\"(\d{4})[^\n]*\n<td>(\w+)</td>\n<td>([\d-]+)</td>", text)

    assert [number for number, *_ in rows] == sorted(path.name[:4] for path in (DOCS / "adr").glob("[0-9]*.md"))


def test_a_page_asks_no_other_host_and_the_search_works_from_files(site):
    executable = find_chromium()
    assert executable is not None
    asked = []
    with sync_playwright() as playwright:
        browser = launch(playwright, executable)
        page = browser.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.goto((site / "how-to" / "index.html").as_uri())
        page.evaluate("document.querySelector('.md-search__input').focus()")
        page.keyboard.type("locked out")
        page.wait_for_selector(".md-search-result__item")
        found = page.locator(".md-search-result__link").evaluate_all("links => links.map(link => link.href)")
        browser.close()

    assert [url for url in asked if not url.startswith(("file:", "data:", "about:", "blob:"))] == []
    assert any("troubleshooting.html" in link for link in found)
