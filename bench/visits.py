"""Requests of bench.peers: the same for every product, except for its session cookie.

A *page load* is a visitor asking for a page and its 61 parts, every other time for parts that the browser has already
(``If-None-Match``); an *API client* has one session and few headers and asks
for other addresses each time; in the *crowd* no two requests share an address, a session, a browser or a target.
"""

from collections.abc import Callable, Iterator, Sequence

from bench.site import http

_HOST = "app7.example.com"
_DOCUMENT = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
_IMAGE = "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8"
_PARTS = (
    (1, _DOCUMENT, "document", "navigate", "u=0, i", "/projects/{page}/board?tab=open&page={part}"),
    (8, "text/css,*/*;q=0.1", "style", "no-cors", "u=0", "/static/css/part-{part}.{page}.css"),
    (18, "*/*", "script", "no-cors", "u=1", "/static/js/chunk-{part}.{page}.js"),
    (25, _IMAGE, "image", "no-cors", "u=2, i", "/media/thumbs/{part}-{page}.webp"),
    (2, "*/*", "font", "cors", "u=0", "/static/fonts/inter-{part}.{page}.woff2"),
    (8, "application/json", "empty", "cors", "u=1, i", "/api/v2/items/{part}?fields=id,name&cursor={page}"),
)
"""How often, Accept, Sec-Fetch-Dest, Sec-Fetch-Mode, Priority, target: 62 requests."""
_NAVIGATION = ("Upgrade-Insecure-Requests: 1", "Sec-Fetch-User: ?1")
_BROWSER = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{version}.0 Safari/537.36"
_VISITORS = 50

Ask = Callable[[str, str, list[str]], bytes]
"""Make a request of a visitor's address, target and headers: to the gate, or to the proxy in front of it."""


def subrequest(path: str) -> Ask:
    """Return how a proxy asks a gate at this path."""

    def ask(client: str, target: str, headers: list[str]) -> bytes:
        forwarded = [
            f"X-Forwarded-For: {client}",
            f"X-Forwarded-Host: {_HOST}",
            "X-Forwarded-Proto: https",
            "X-Forwarded-Method: GET",
            f"X-Forwarded-Uri: {target}",
        ]
        return http(path, _HOST, [*headers, *forwarded])

    return ask


def direct(client: str, target: str, headers: list[str]) -> bytes:
    """Make the visitor's own request; nginx takes the address from a header."""
    return http(target, _HOST, [*headers, f"X-Bench-Client: {client}"])


def page_loads(ask: Ask, session: str) -> Iterator[bytes]:
    """Yield the page loads of 50 visitors with this session, each with an own address and one more cookie."""
    page = 0
    while True:
        page += 1
        visitor = page % _VISITORS
        part = 0
        for count, accept, kind, mode, priority, target in _PARTS:
            for _ in range(count):
                part += 1
                headers = _headers(
                    f"{session}; visitor={100_000 + visitor}",
                    accept,
                    (kind, mode, priority),
                    f"https://{_HOST}/projects/{page % 997}/board",
                )
                if part > 1 and page % 2 == 0:
                    headers.append(f'If-None-Match: "{part * 7919:x}-{page % 13:x}"')
                yield ask(f"203.0.113.{visitor}", target.format(part=part, page=page % 997), headers)


def api_client(ask: Ask, session: str) -> Iterator[bytes]:
    """Yield the requests of a program that requests different URLs with one session."""
    number = 0
    headers = ["User-Agent: python-httpx/0.28.1", "Accept: */*", "Accept-Encoding: gzip, deflate", f"Cookie: {session}"]
    while True:
        number += 1
        yield ask("192.0.2.7", f"/api/v2/items/{number}?fields=id,name&cursor={number * 7 % 9973}", headers)


def crowd(ask: Ask, sessions: Sequence[str]) -> Iterator[bytes]:
    """Yield requests that have nothing in common: as many as there are sessions, each of which is used once."""
    for number, session in enumerate(sessions, 1):
        headers = _headers(
            f"visitor={number}; {session}",
            _DOCUMENT,
            ("document", "navigate", "u=0, i"),
            f"https://{_HOST}/projects/{number}",
            version=100 + number,
        )
        client = f"203.{number >> 16}.{number >> 8 & 255}.{number & 255}"
        yield ask(client, f"/projects/{number}/board/{number * 31}?tab=open&q=weekly+report+{number}", headers)


def _headers(cookie: str, accept: str, fetch: tuple[str, str, str], referer: str, *, version: int = 142) -> list[str]:
    kind, mode, priority = fetch
    return [
        "Connection: keep-alive",
        f'sec-ch-ua: "Chromium";v="{version}", "Not_A Brand";v="99"',
        "sec-ch-ua-mobile: ?0",
        'sec-ch-ua-platform: "Linux"',
        f"User-Agent: {_BROWSER.format(version=version)}",
        f"Accept: {accept}",
        "Sec-Fetch-Site: same-origin",
        f"Sec-Fetch-Mode: {mode}",
        f"Sec-Fetch-Dest: {kind}",
        f"Referer: {referer}",
        "Accept-Encoding: gzip, deflate, br, zstd",
        "Accept-Language: en-GB,en;q=0.9,de;q=0.8",
        f"Priority: {priority}",
        *(_NAVIGATION if mode == "navigate" else ()),
        f"Cookie: theme=dark; sid=b1946ac92492d2347c6235b4d2611184; {cookie}",
    ]
