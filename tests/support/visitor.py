"""A visitor of the product's pages, in this process, that checks every page."""

import re
from html import unescape
from html.parser import HTMLParser
from urllib.parse import urlencode

from django.http import HttpResponse
from django.test import Client

from tests.support.cast import OFFICE
from tests.support.proxies import PASSWORD, ROOT

FORM = "application/x-www-form-urlencoded"
BACK = f"https://{OFFICE}:8443/a%20b?c=d"
"""The return URL: a page of a registered site, with a port."""
MAX_BYTES = 15_000
HOSTILE = [
    "https://evil.example/",
    "//evil.example",
    f"https://{OFFICE}@evil.example/",
    f"https://evil.example/?https://{OFFICE}/",
    f"https://{OFFICE}\\@evil.example/",
    f"https://{OFFICE}.evil.example/",
    "javascript:alert(1)",
    "data:text/html,x",
    f"https://{OFFICE}/\r\nSet-Cookie: a=b",
    f" https://{OFFICE}/",
    f"https:///{OFFICE}",
    f'https://{OFFICE}/"><script>',
    "/wall/account",
]


class Visitor:
    """A browser without JavaScript."""

    def __init__(self, host: str = "wall.example", **headers: str) -> None:
        self.client = Client(enforce_csrf_checks=True, headers={"Host": host, "User-Agent": "tests", **headers})

    def get(self, path: str = "/", query: dict[str, str] | None = None, **headers: str) -> HttpResponse:
        return looked_at(self.client.get(ROOT + path, query or {}, headers=headers))

    def send(self, path: str, _headers: dict[str, str] | None = None, **fields: str) -> HttpResponse:
        return looked_at(self.client.post(ROOT + path, urlencode(fields), content_type=FORM, headers=_headers))

    def sign_in(self, username: str = "Bob", rd: str = "", password: str = PASSWORD) -> HttpResponse:
        return self.send("/", username=username, password=password, rd=rd)

    @property
    def token(self) -> str:
        """Return the browser's session token, "" without one."""
        morsel = self.client.cookies.get("service.token")
        return morsel.value if morsel else ""

    @token.setter
    def token(self, value: str) -> None:
        self.client.cookies["service.token"] = value


def looked_at(response: object) -> HttpResponse:
    """Assert what holds for every page: small, not cached, strict CSP, and two scripts at most."""
    assert isinstance(response, HttpResponse)
    headers = response.headers
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"
    if not headers.get("Content-Type", "").startswith("text/html") or not response.content:
        return response
    policy, text = headers["Content-Security-Policy"], response.text
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "*" not in policy
    assert len(response.content) < MAX_BYTES
    tags = Tags(text)
    assert not tags.names & {"style", "iframe", "object", "embed", "base"}
    assert re.findall("<script[^<]*", text) == tags.scripts
    assert ("connect-src 'self'" in policy) is any("/passkey.js" in str(script) for script in tags.scripts)
    assert [name for name, _ in tags.attributes if name == "style" or name.startswith("on")] == []
    assert [value for _, value in tags.attributes if value and value.lower().startswith("javascript:")] == []
    assert re.search(r'<html lang="(en|zh-hans)">', text)
    assert "<title>" in text
    assert len(re.findall(r"<h1>", text)) == 1
    return response


class Tags(HTMLParser):
    """The tags of a page and their attributes, as parsed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.scripts: list[str | None] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        if tag == "script":
            assert dict(attrs).get("src") in {f"/wall/static/portal/{name}.js" for name in ("passkey", "show-password")}
            self.scripts.append(self.get_starttag_text())
        self.attributes += attrs


def words(response: HttpResponse) -> str:
    """Return the text of the page."""
    return unescape(re.sub(r"<[^>]+>", " ", response.text))


def field(response: HttpResponse, name: str) -> str:
    """Return the value of a hidden field of the page."""
    return unescape(_found(rf'name="{name}" value="([^"]*)"', response))


def secret(response: HttpResponse) -> str:
    """Return the secret on the enrolment page, decoded."""
    return _found(r'class="secret">([^<]+)<', response).replace(" ", "")


def recovery_codes(response: HttpResponse) -> list[str]:
    return _found(r"<pre[^>]*>([^<]+)</pre>", response).split()


def _found(pattern: str, response: HttpResponse) -> str:
    found = re.search(pattern, response.text)
    assert found is not None, response.text
    return found[1]
