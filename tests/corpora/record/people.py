"""A browser: people who search and fill in forms, and this project's own admin site, API pages and documentation."""

import random
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from playwright.sync_api import Browser, Error, Page, sync_playwright

from tests.browser.installation import Wall, find_chromium, installation, launch
from tests.corpora.record import texts
from tests.corpora.record.tap import Reply, Seen, Tape
from tests.support.processes import PASSWORD

_FIELDS = ("q", "query", "search", "s", "term", "keywords", "filter", "name", "title", "comment", "subject", "text")
_PATHS = ("/search", "/", "/api/items", "/wiki/index.php", "/catalogue", "/autocomplete")
_FORM = """<!doctype html><meta charset="utf-8"><title>{uri}</title><form action="/search">
<input name="q"><input name="lang" value="en"><select name="sort"><option>relevance</select></form>"""
_ASK = """async ([page, asked]) => {
  for (const [path, fields, referer] of asked) {
    history.replaceState(null, "", referer);
    await fetch(path + "?" + new URLSearchParams(fields)).catch(() => 0);
  }
}"""
_BEACON = """async (asked) => {
  for (const text of asked) {
    history.replaceState(null, "", "/p?" + new URLSearchParams({title: text}));
    const data = {v: 2, dl: location.href, dt: text, sr: "1920x1080", ul: navigator.language, en: "page_view",
                  uid: null, _s: 1, ep: JSON.stringify({label: text, list: ["a", "b"], nested: {ok: true}})};
    await fetch("/g/collect?" + new URLSearchParams(data)).catch(() => 0);
    await fetch("/matomo.php?" + new URLSearchParams({action_name: text, url: location.href, rec: 1, h: 14, m: 5,
      _id: "8f2c1f9d0a7e4b3c", send_image: 0, cvar: JSON.stringify({1: ["group", text]}), pf_net: 0})).catch(() => 0);
  }
}"""


def searches(tape: Tape, folder: Path) -> None:
    """Type texts into forms; the page that the text led to is the referer of what follows."""
    _search(tape, "searches", [*texts.TYPED, *texts.NAMES, *texts.translations(1, 800)])


def pasted(tape: Tape, folder: Path) -> None:
    """Paste lines of documents and programs into the same forms."""
    _search(tape, "pasted", texts.pasted(2))


def _search(tape: Tape, session: str, words: list[str]) -> None:
    chosen = random.Random(4)  # noqa: S311 - the same session each time
    asked: list[list[Any]] = []
    before = "/"
    for text in words:
        name, path = chosen.choice(_FIELDS), chosen.choice(_PATHS)
        form = {name: text, "page": str(chosen.randint(1, 9)), "lang": chosen.choice(texts.LANGUAGES)}
        asked.append([path, form, before])
        before = f"{path}?{name}={_encoded(text)}"
    with tape.listening(session, answer=_page) as port, sync_playwright() as playwright:
        at = f"http://shop.gate.test:{port}"
        browser = _browser(playwright)
        page = browser.new_page()
        page.goto(at)
        for start in range(0, len(asked), 100):
            page.evaluate(_ASK, [None, asked[start : start + 100]])
        page.evaluate(_BEACON, words[::6])
        for text in words[:: len(words) // 40]:
            page.goto(f"{at}/{chosen.choice(('', 'shop/', 'wiki/'))}")
            page.fill("[name=q]", text)
            page.press("[name=q]", "Enter")
            page.wait_for_load_state()
        for text in words[2::15]:  # a title in a path
            page.goto(f"{at}/wiki/{_encoded(text)}")
        browser.close()


def _encoded(text: str) -> str:
    return quote(text, safe="!'()*~")  # encodeURIComponent


def _page(method: str, uri: str, body: bytes) -> Reply:
    return Reply(200, "text/html", _FORM.format(uri="page").encode())


def _browser(playwright: Any) -> Browser:
    executable = find_chromium()
    assert executable is not None, "apt-get install chromium"
    return launch(playwright, executable)


def own_pages(tape: Tape, folder: Path) -> None:
    """Work through the admin site, the pages of the API, its documentation and the visitor pages."""
    with installation(folder) as wall, sync_playwright() as playwright:
        browser = _browser(playwright)
        for visit in (_admin, _api_pages):
            context = browser.new_context()
            context.set_default_timeout(20_000)
            seen: list[Any] = []
            context.on("requestfinished", seen.append)
            visit(wall, context.new_page())
            _note(tape, seen)
            context.close()
        browser.close()


def _note(tape: Tape, requests: Iterable[Any]) -> None:
    for request in requests:
        try:
            headers = request.all_headers()
        except Error:
            headers = request.headers
        parts = re.fullmatch(r"https?://([^/]*)(.*)", request.url, re.DOTALL)
        assert parts is not None, request.url
        site, uri = parts.groups()
        named = {"Host": site, **{name.title(): value for name, value in headers.items() if name != "host"}}
        tape.seen.append(Seen("own-pages", request.method, uri.partition("#")[0], tuple(named.items())))


def _admin(wall: Wall, page: Page) -> None:
    page.goto(wall.page("/admin/"))
    page.fill("#id_username", "admin")
    page.fill("#id_password", PASSWORD)
    page.click("[type=submit]")
    _crawl(page, wall.page("/admin/"), 150, avoid=("logout", "delete"))
    for model in ("policies/wafrule", "accounts/user", "policies/authorizeddomain", "policies/blocklistentry"):
        for text in texts.TYPED[::20]:
            page.goto(wall.page(f"/admin/{model}/?q={_encoded(text)}"))


def _api_pages(wall: Wall, page: Page) -> None:
    page.goto(wall.page("/"))
    page.fill("#username", "admin")
    page.fill("#password", PASSWORD)
    page.click("button")
    page.goto(wall.page("/docs"))
    page.wait_for_load_state("networkidle")
    _crawl(page, wall.page("/ip-black-list"), 60, avoid=("logout",))
    for name in ("office", "vault", "closed"):
        for path in ("/", "/reports/2024?q=O'Brien&sort=-date", "/a b/c;d=1?x[]=1&x[]=2", "/über/日本?a=1#top"):
            page.goto(wall.url(name, path))


def _crawl(page: Page, start: str, pages: int, avoid: Iterable[str]) -> None:
    """Follow the links of the site, those of the first pages first."""
    waiting, known = [start], {start}
    base = re.sub(r"[^/]*$", "", start)
    while waiting and pages:
        pages -= 1
        url = waiting.pop(0)
        try:
            page.goto(url)
            links = page.eval_on_selector_all("a[href]", "all => all.map(each => each.href)")
        except Error:  # a download
            continue
        for link in links:
            link = link.partition("#")[0]  # noqa: PLW2901 - the page that it is on
            if link.startswith(base) and link not in known and not any(word in link for word in avoid):
                known.add(link)
                waiting.append(link)
