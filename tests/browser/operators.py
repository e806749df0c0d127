"""An admin at the operator pages, a filled log, and visitors from other addresses."""

import http.client
import math
import random
import time
import uuid
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from audit.spool.records import AccessRecord
from audit.spool.writer import SpoolWriter
from tests.browser.installation import Wall
from tests.support.processes import PASSWORD, PATIENCE
from tests.support.records import a_record

_DAY = 86_400
_HOSTS = ("wiki.example.com", "git.example.com", "grafana.example.com", "files.example.com")
_PATHS = ("/", "/wiki/Start", "/dashboards/1", "/repo.git/info/refs")
_CLIENTS = ("198.51.100.7", "203.0.113.44", "192.0.2.17", "2001:db8:85a3::8a2e:370:7334")
_STRANGE = (
    {"path": "/<script>alert(1)</script>", "query": "\"'><img src=x onerror=alert(1)>"},
    {"path": "/" + "A" * 2000, "user_agent": "javascript:alert(1)"},
    {"path": "/\u202egnp.exe\u05d0\u05d1", "host": None, "country_code": None},
)


def enter(wall: Wall, page: Page, path: str = "/") -> None:
    """Sign the first admin in at the admin site, and open one of its pages."""
    page.goto(wall.page("/admin/"))
    page.fill("#id_username", "admin")
    page.fill("#id_password", PASSWORD)
    page.click("[type=submit]")
    page.wait_for_selector("#user-tools")  # otherwise the next page is requested before this response
    page.goto(wall.page(f"/admin{path}"))


def go_by_sidebar(page: Page, section: str, label: str) -> None:
    """Open an item of the sidebar, which is a drawer on a narrow screen."""
    if page.locator("#drawer").is_visible():
        page.check("#drawer")
    if not page.get_by_role("link", name=label).is_visible():
        page.locator("#sidebar summary", has_text=section).click()
    page.get_by_role("link", name=label).click()


def visit_from(wall: Wall, address: str, path: str, *, name: str = "office") -> int:
    """Ask for a page of a site, through nginx, from another address of this machine; return the status."""
    connection = http.client.HTTPConnection("127.0.0.1", wall.port, timeout=PATIENCE, source_address=(address, 0))
    try:
        connection.request("GET", path, headers={"Host": f"{name}.gate.test:{wall.port}"})
        return connection.getresponse().status
    finally:
        connection.close()


def fill_log(home: Path, *, number: int = 6_000) -> None:
    """Write three made-up days to the spool, which the agent then ships."""
    numbers, now = random.Random(5), time.time()  # noqa: S311 - examples, no secrets
    writer = SpoolWriter(home / "spool", "gate-2")
    moments = sorted(now - 3 * _DAY * numbers.random() for _ in range(number))
    for at in moments:
        if numbers.random() < 0.35 + 0.6 * math.sin((at % _DAY) / _DAY * math.pi):
            writer.write(_made(numbers, at))
    for strange in _STRANGE:
        writer.write(_record(numbers, now - 5, **strange))
    writer.close()


def _made(numbers: random.Random, at: float) -> AccessRecord:
    chance = numbers.random()
    parts: dict[str, Any] = {
        "rules": [],
        "subject": None,
        "credential": None,
        "decided_by": None,
        "path": numbers.choice(_PATHS),
    }
    if chance < 0.72:
        subject = {"kind": "user", "id": numbers.randrange(2, 5), "name": numbers.choice(["anna", "ben", "carla"])}
        parts |= {"outcome": "allow", "status": 200, "reason": "session-valid", "subject": subject}
    elif chance < 0.85:
        parts |= {"outcome": "challenge", "status": 401, "reason": "credential-missing"}
    elif chance < 0.95:
        rules = [{"id": 7, "name": "sqli-union-select", "action": "block"}]
        parts |= {"rules": rules, "path": "/search", "query": "q=1%20union%20select%20x", "user_agent": "sqlmap/1.8"}
    else:
        parts |= {"reason": numbers.choice(["client-blocked", "country-blocked"])}
    return _record(numbers, at, **parts)


def _record(numbers: random.Random, at: float, **parts: Any) -> AccessRecord:
    number = (int(at * 1000) << 80) | (7 << 76) | (numbers.getrandbits(12) << 64) | (2 << 62) | numbers.getrandbits(62)
    usual: dict[str, Any] = {
        "client_ip": numbers.choice([*_CLIENTS, f"203.0.113.{int(40 * numbers.random() ** 2)}"]),
        "country_code": numbers.choice(["NZ", "DE", "DE", "US", None]),
        "host": numbers.choice(_HOSTS),
        "query": numbers.choice(["", "", "page=2"]),
        "user_agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/128.0",
        "latency_us": int(numbers.lognormvariate(6, 0.6)),
    }
    return a_record(at=at, decision_id=str(uuid.UUID(int=number)), **(usual | parts))
