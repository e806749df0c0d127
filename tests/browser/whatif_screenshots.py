"""`python -m tests.browser.whatif_screenshots` makes the pictures of a plan, a backtest and the shadow policy.

The data is real: users sign in and visit sites through nginx, the shadow policy is evaluated on their
requests, and the plan and the backtest replay them.
"""

import random
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from tests.browser.installation import SUFFIX, Wall, find_chromium, installation, launch
from tests.browser.operators import enter, visit_from
from tests.browser.screenshots import keep
from tests.support.processes import PASSWORD, PATIENCE, api, request, send, wait_until

REPORTS, WIKI = f"reports.{SUFFIX}", f"wiki.{SUFFIX}"
PEOPLE = {"alice": ["finance"], "bob": ["contractors"], "carla": ["contractors"], "dora": []}
_PATHS = {REPORTS: ("/q3/revenue", "/q3/costs", "/archive/2025"), WIKI: ("/start", "/handbook", "/drafts/roadmap")}
_STRANGERS = ("127.0.0.9", "127.0.0.21")
_ROUNDS = 60
DOCUMENT = f"""version: 1
access_rules:
- name: quarterly figures are not for contractors
  access: denied
  domains: [{REPORTS}]
  paths:
  - match: prefix
    value: /q3
  groups: [contractors]
- name: the handbook is public
  access: public
  domains: [{WIKI}]
  paths:
  - match: prefix
    value: /handbook
blocklist:
- ip: {_STRANGERS[0]}
  remark: scanner
expect:
- name: finance reads the figures
  request: {{client: 198.51.100.7, host: {REPORTS}, uri: /q3/revenue, as: {{user: alice}}}}
  effect: allow
- name: contractors do not
  request: {{client: 198.51.100.7, host: {REPORTS}, uri: /q3/revenue, as: {{user: bob}}}}
  effect: deny
- name: drafts stay closed
  request: {{client: 198.51.100.7, host: {WIKI}, uri: /drafts/roadmap}}
  effect: challenge
"""
_LOOKS: dict[str, dict[str, Any]] = {
    "": {"color_scheme": "light", "viewport": {"width": 1000, "height": 600}},
    "-dark": {"color_scheme": "dark", "viewport": {"width": 1000, "height": 600}},
    "-narrow": {"color_scheme": "light", "viewport": {"width": 360, "height": 600}},
}


def prepare_sites(wall: Wall) -> dict[str, str]:
    """Register two sites, two groups and four people; return the session of each person."""
    for host in (REPORTS, WIKI):
        api(wall.control, "/authorized-domains", name=host)
    for group in ("finance", "contractors"):
        api(wall.control, "/groups", name=group)
    for name, groups in PEOPLE.items():
        api(wall.control, "/users", username=name, password=PASSWORD, groups=groups)
    return {name: send(wall.control, "", "POST", "/login", _credentials(name))["token"] for name in PEOPLE}


def _credentials(name: str) -> dict[str, str]:
    return {"username": name, "password": PASSWORD}


def visit_sites(wall: Wall, sessions: dict[str, str], rounds: int = _ROUNDS) -> None:
    """Have the people and two strangers visit the sites."""
    numbers = random.Random(7)  # noqa: S311 - examples, no secrets
    for _ in range(rounds):
        for name, session in sessions.items():
            host = numbers.choice((REPORTS, REPORTS, WIKI))
            headers = {"Host": f"{host}:{wall.port}", "Cookie": f"service.token={session}"}
            request(wall.port, numbers.choice(_PATHS[host]) + f"?by={name}", headers)
        visit_from(wall, numbers.choice(_STRANGERS), numbers.choice(_PATHS[WIKI]), name="wiki")


def _has(wall: Wall, number: int, **filters: str) -> bool:
    query = "&".join(f"{name}={value}" for name, value in {"page_size": "1", **filters}.items())
    found = send(wall.control, wall.token, "GET", f"/access-logs?count=true&{query}")
    return bool((found.get("count") or 0) >= number)


def _has_figures(wall: Wall) -> bool:
    found = send(wall.control, wall.token, "GET", "/policy/shadow")
    return found["sampled_percent"] is not None


def photograph(wall: Wall, page: Page, names: Sequence[tuple[str, str]], suffix: str) -> None:
    """Write a picture of each page."""
    for name, path in names:
        page.goto(wall.page(f"/admin{path}"))
        keep(page, f"operator-{name}{suffix}")


def _try_in_the_shadow(wall: Wall, sessions: dict[str, str]) -> None:
    send(wall.control, wall.token, "PUT", "/system/settings", {"shadow_cpu_percent": 100})
    send(wall.control, wall.token, "PUT", "/policy/shadow", {"document": DOCUMENT, "percent": 100})
    state = partial(send, wall.control, wall.token, "GET", "/policy/shadow")
    wait_until(lambda: state()["state"] == "active", 60, "the shadow policy")
    visit_sites(wall, sessions)
    wait_until(lambda: state()["differing"] > _ROUNDS, 60, "differences")
    wait_until(lambda: _has(wall, _ROUNDS, shadow="differs"), 60, "differences in the log")


def _backtest(wall: Wall, page: Page) -> str:
    enter(wall, page, "/backtest/?kind=access-rules")
    page.fill("#id_name", "quarterly figures are closed")
    page.select_option("#id_access", "denied")
    page.fill("#id_domains", REPORTS)
    page.fill("#id_paths", "/q3")
    page.get_by_role("button", name="Run the backtest").click()
    page.get_by_role("button", name="Enforce").wait_for(timeout=1000 * PATIENCE)
    return page.url.partition("/admin")[2]


def _plan(wall: Wall, page: Page) -> str:
    page.goto(wall.page("/admin/plan/"))
    page.fill("#id_document", DOCUMENT)
    page.get_by_role("button", name="Plan", exact=True).click()
    page.get_by_text("requests in total").wait_for(timeout=1000 * PATIENCE)
    return page.url.partition("/admin")[2]


def main() -> None:
    """Write each page in light, dark and narrow form; then the applied plan."""
    executable = find_chromium()
    if executable is None:
        sys.exit("there is no chromium (apt install chromium)")
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright, installation(Path(home)) as wall:
        browser = launch(playwright, executable)
        sessions = prepare_sites(wall)
        _try_in_the_shadow(wall, sessions)
        page = browser.new_page(**_LOOKS[""])
        backtest = _backtest(wall, page)
        plan = _plan(wall, page)
        names = [("shadow", "/shadow/"), ("plan", plan), ("backtest-result", backtest)]
        for suffix, look in _LOOKS.items():
            window = browser.new_page(**look)
            enter(wall, window)
            visit_sites(wall, sessions, rounds=8)
            wait_until(partial(_has_figures, wall), 30, "figures of the last ten seconds")
            photograph(wall, window, names[: 2 if suffix == "-narrow" else 3], suffix)
        page.goto(wall.page(f"/admin{plan}"))
        keep(page.locator(".access"), "operator-plan-people")
        page.goto(wall.page("/admin/plan/?document=current"))
        keep(page, "operator-plan-form")
        page.goto(wall.page(f"/admin{plan}"))
        page.fill("#id_undo_people", "1")
        page.fill("#id_undo_minutes", "30")
        page.get_by_role("button", name="Apply").click()
        page.get_by_text("So far it refused").wait_for()
        keep(page, "operator-plan-applied")
        if "--chinese" in sys.argv:  # to look at; needs a font (apt install fonts-wqy-microhei)
            window = browser.new_page(**_LOOKS[""], locale="zh-CN")
            enter(wall, window)
            photograph(wall, window, names, "-zh")
        browser.close()


if __name__ == "__main__":
    main()
