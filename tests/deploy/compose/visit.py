"""A visitor of a Compose project: registers the site, signs in at the guard page, and lands on the site."""

import json
import re
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import urlencode, urlsplit

from tests.deploy.compose.project import Project
from tests.support.processes import BROWSER, Answer, wait_until

SITE, GUARD = "app.example.com", "wall.example.com"
VISITOR = "203.0.113.9"
_FORM = {"Content-Type": "application/x-www-form-urlencoded"}
_JSON = {"Content-Type": "application/json"}


def path_of(url: str) -> str:
    """Return path and query of a URL."""
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


class Visit:
    """A visitor in a network namespace of its own; `ask` sends a request to the proxy."""

    def __init__(self, project: Project, address: str, scheme: str = "https", ca: str = "", port: int = 0) -> None:
        is_tls = scheme == "https"
        self.scheme = scheme
        self.ask: Callable[..., Answer] = partial(
            project.machine.ask, address, tls=is_tls, port=port or (443 if is_tls else 80), ca=ca
        )

    def page(self, path: str, host: str = SITE, **headers: str) -> Answer:
        """Return the answer to a page load."""
        return self.ask(path, host=host, headers={**BROWSER, **headers})

    def call(self, method: str, path: str, token: str = "", **fields: Any) -> dict[str, Any]:
        """Call the management API at the host of the guard page."""
        headers = {**_JSON, "Service-Authorization": token}
        body = json.dumps(fields) if fields else ""
        answer = self.ask(f"/wall{path}", host=GUARD, method=method, headers=headers, body=body)
        assert answer.status // 100 == 2, (path, answer.status, answer.body)
        found: dict[str, Any] = json.loads(answer.body)
        return found

    def token(self, password: str) -> str:
        """Sign in to the API as the first admin."""
        return str(self.call("POST", "/login", username="admin", password=password)["token"])

    def sign_in(self, path: str, password: str) -> tuple[str, Answer]:
        """Follow a page load of the site to the guard page, and sign in; return the cookie and the last answer."""
        asked = self.page(path)
        there = urlsplit(asked.header("Location"))
        assert (asked.status, there.scheme, there.netloc) == (302, self.scheme, GUARD), (asked.status, there)
        form = self.page(path_of(asked.header("Location")), GUARD)
        back = re.search(r'name="rd" value="([^"]*)"', form.body.decode())
        assert (form.status, bool(back)) == (200, True), form.body
        body = urlencode({"username": "admin", "password": password, "rd": back[1] if back else ""})
        signed_in = self.ask("/wall/", host=GUARD, method="POST", headers=_FORM, body=body)
        return signed_in.header("Set-Cookie"), signed_in


def reach_the_site(visit: Visit, password: str, *, is_registered: bool = False) -> str:
    """Register the site, sign in and load the site as a visitor; return the API token."""
    token = visit.token(password)
    if not is_registered:
        visit.call("POST", "/authorized-domains", token, name=SITE)
    wait_until(lambda: visit.page("/").status == 302, what="the domain to be known")
    cookie, signed_in = visit.sign_in("/welcome?a=b", password)
    assert (signed_in.status, signed_in.header("Location")) == (303, f"{visit.scheme}://{SITE}/welcome?a=b")
    assert "Domain=example.com" in cookie
    session = cookie.partition(";")[0]
    wait_until(lambda: visit.page("/welcome?a=b", Cookie=session).status == 200, what="the site, which may still start")
    page = visit.page("/welcome?a=b", Cookie=session)
    seen = dict(re.findall(r"<th[^>]*>(.*?)</th><td>(.*?)</td>", page.body.decode()))
    assert seen["Remote-User"] == "admin"
    assert not seen.get("Cookie")
    return token


def recorded_clients(visit: Visit, token: str) -> set[str]:
    """Return the client addresses in the access log of the site, once it has rows."""
    wait_until(lambda: visit.call("GET", f"/access-logs?host={SITE}", token)["results"], what="records")
    return {
        each["client_ip"] for each in visit.call("GET", f"/access-logs?host={SITE}&page_size=100", token)["results"]
    }
