"""The site of bin/docs: builds without warnings, has every page, loads from no other host, searches offline."""

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


def test_every_page_is_built_and_in_the_search_index(site):
    pages = {path.relative_to(DOCS).with_suffix(".html").as_posix() for path in DOCS.rglob("*.md")}
    pages = {re.sub(r"README\.html$", "index.html", page) for page in pages}
    index = json.loads((site / "search" / "search_index.json").read_text())

    assert [page for page in pages if not (site / page).is_file()] == []
    assert pages <= {entry["location"].partition("#")[0] for entry in index["docs"]}


def test_the_index_of_adrs_has_their_status_and_date(site):
    text = (site / "adr" / "index.html").read_text()
    rows = re.findall(r"<td><a href=\"(\d{4})[^\n]*\n<td>(\w+)</td>\n<td>([\d-]+)</td>", text)

    assert [number for number, *_ in rows] == sorted(path.name[:4] for path in (DOCS / "adr").glob("[0-9]*.md"))


TASKS = {
    "jellyfin traefik": "how-to/jellyfin",
    "why 403": "troubleshooting",
    "restore backup": "backup",
    "google sign-in": "providers/google",
    "block country": "geo",
    "open webhook path": "how-to/webhook",
    "several hosts": "how-to/many-hosts",
    "who would be locked out": "how-to/plan-a-change",
    "policy git pipeline": "how-to/policy-in-git",
    "verify identity django": "signed-identity",
    "why did Bob get a 403?": "troubleshooting",
    "share a folder with a guest for an evening": "how-to/share-for-an-evening",
    "how do I add a field to the log": "contributing/log-field",
    "host-not-in-scope": "reference/reasons",
    "session lifetime": "visitors",
    "slack notification": "webhooks",
}
"""Search terms of a reader, and the page that they need."""


@pytest.mark.parametrize("number", [1, pytest.param(len(TASKS), marks=pytest.mark.full)])
def test_a_page_asks_no_other_host_and_the_search_finds_the_page_for_a_task(site, number):
    executable = find_chromium()
    assert executable is not None
    asked, missed = [], {}
    with sync_playwright() as playwright:
        browser = launch(playwright, executable)
        page = browser.new_page()
        page.on("request", lambda request: asked.append(request.url))
        for words, wanted in list(TASKS.items())[:number]:
            page.goto((site / "index.html").as_uri())
            page.evaluate("document.querySelector('.md-search__input').focus()")
            page.keyboard.insert_text(words)
            page.keyboard.press("End")  # the search reacts to key events
            page.wait_for_selector(".md-search-result__link", state="attached")
            links = page.locator(".md-search-result__link").evaluate_all("links => links.map(link => link.href)")
            found = list(dict.fromkeys(re.split(r"[?#]", link)[0] for link in links))[:5]
            if not any(link.endswith(f"/{wanted}.html") for link in found):
                missed[words] = found
        browser.close()

    assert missed == {}
    assert [url for url in asked if not url.startswith(("file:", "data:", "about:", "blob:"))] == []
