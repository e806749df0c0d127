"""A browser that explores a whole program like a curious person: it follows links and fills in forms."""

import re
import time
from collections.abc import Iterable

from playwright.sync_api import Error, Page

from tests.corpora.programs.session import PASSWORD, USER, Session

SKIPPED = ("logout", "log-out", "signout", "delete", "remove", "shutdown", "restart", "destroy", "uninstall", "disable")
_FILL = """async ([form, texts]) => {
  const fields = [...form.querySelectorAll("input, textarea")].filter(each => !each.disabled && !each.readOnly);
  const set = (each, value) => {
    Object.getOwnPropertyDescriptor(Object.getPrototypeOf(each), "value").set.call(each, value);
    each.dispatchEvent(new Event("input", {bubbles: true}));
    each.dispatchEvent(new Event("change", {bubbles: true}));
  };
  for (const each of fields) {
    if (each.tagName === "TEXTAREA") set(each, texts.long);
    else if (each.type === "email") set(each, "alice@cloud.example");
    else if (each.type === "url" || /url/i.test(each.name)) set(each, "https://cloud.example/" + texts.word);
    else if (each.type === "number") set(each, each.min || "1");
    else if (each.type === "date") set(each, "2026-11-23");
    else if (["text", "search"].includes(each.type) && (!each.value || each.type === "search")) set(each, texts.short);
  }
  const button = form.querySelector("[type=submit], button:not([type=button])");
  setTimeout(() => { form.noValidate = true; button ? form.requestSubmit(button) : form.requestSubmit(); }, 0);
}"""
_LINKS = "all => all.map(each => each.href)"


def sign_in(session: Session, path: str, user: str = USER, password: str = PASSWORD) -> None:
    """Fill in the first form that has a password, and send it."""
    page = session.page
    page.goto(session.at + path)
    page.wait_for_selector("input[type=password]")
    page.fill("input[type=password] >> nth=0", password)
    names = page.locator("form:has(input[type=password]) input:is([type=text],[type=email],:not([type]))")
    if names.count():
        names.first.fill(user)
    page.press("input[type=password] >> nth=0", "Enter")
    settle(page)


def settle(page: Page, milliseconds: float = 4_000) -> None:
    """Wait until the page is at rest, or for some seconds: some never are."""
    try:
        page.wait_for_load_state("networkidle", timeout=milliseconds)
    except Error:
        return


def explore(
    session: Session, start: str = "/", *, requests: int = 220, seconds: float = 150, avoid: Iterable[str] = ()
) -> None:
    """Follow the links of the site, those of the first pages first, and send every form of every page once."""
    page, end = session.page, time.monotonic() + seconds
    waiting, known, sent = [session.at + start], {session.at + start}, set[str]()
    before, skipped = len(session.tape.seen), (*SKIPPED, *avoid)
    while waiting and len(session.tape.seen) - before < requests and time.monotonic() < end:
        url = waiting.pop(0)
        try:
            page.goto(url)
            settle(page, 2_500)
            for link in page.eval_on_selector_all("a[href]", _LINKS):
                target = link if "#/" in link else link.partition("#")[0]
                if (
                    target.startswith(session.at)
                    and target not in known
                    and not any(w in target.lower() for w in skipped)
                ):
                    known.add(target)
                    waiting.append(target)
            _send_forms(session, url, sent, skipped)
        except Error:  # a download, or a page that is gone
            continue


def _send_forms(session: Session, url: str, sent: set[str], skipped: Iterable[str]) -> None:
    page = session.page
    for number in range(min(page.locator("form").count(), 6)):
        form = page.locator("form").nth(number)
        shape = form.evaluate("each => each.method + each.action + [...each.elements].map(e => e.name)")
        shape = re.sub(r"\d+", "0", shape)
        if shape in sent or any(word in shape.lower() for word in skipped):
            continue
        sent.add(shape)
        content = session.content
        texts = {"long": content.markdown(), "short": content.title(), "word": str(content.number())}
        page.evaluate(_FILL, [form.element_handle(), texts])
        settle(page, 2_500)
        if page.url != url:
            page.goto(url)
