"""Requests as clients put them on the wire: forms, JSON, multipart and XML."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode

from tests.corpora.applications.content import Content

BROWSER = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36"
_LIMIT = "----WebKitFormBoundary7MA4YWxkTrZu0gW"


@dataclass(frozen=True)
class Sent:
    """One request; texts are latin-1."""

    method: str
    uri: str
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    agent: str = BROWSER


Shape = Callable[[Content], Sent]


def get(uri: str, *, agent: str = BROWSER, **query: str) -> Sent:
    """Return a request without a body."""
    return Sent("GET", uri + (f"?{urlencode(query)}" if query else ""), agent=agent)


def as_json(method: str, uri: str, value: object, *, agent: str = BROWSER, kind: str = "application/json") -> Sent:
    """Return a request with a JSON body, as scripts in a browser write it."""
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    return Sent(method, uri, body, {"Content-Type": kind}, agent)


def form(uri: str, *, agent: str = BROWSER, **fields: str) -> Sent:
    """Return a form as a browser sends it: line breaks are CRLF."""
    body = urlencode({name: value.replace("\n", "\r\n") for name, value in fields.items()}).encode()
    return Sent("POST", uri, body, {"Content-Type": "application/x-www-form-urlencoded"}, agent)


def parts(uri: str, fields: dict[str, str], files: dict[str, tuple[str, str, bytes]] | None = None) -> Sent:
    """Return a multipart form of a browser; ``files`` are name, media type and content."""
    pieces = [
        f'--{_LIMIT}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'.encode()
        + value.replace("\n", "\r\n").encode()
        for name, value in fields.items()
    ]
    for name, (file_name, kind, data) in (files or {}).items():
        escaped = file_name.replace('"', "%22")
        head = f'--{_LIMIT}\r\nContent-Disposition: form-data; name="{name}"; filename="{escaped}"\r\nContent-Type: {kind}\r\n\r\n'
        pieces.append(head.encode() + data)
    body = b"\r\n".join([*pieces, f"--{_LIMIT}--\r\n".encode()])
    return Sent("POST", uri, body, {"Content-Type": f"multipart/form-data; boundary={_LIMIT}"})


def as_xml(method: str, uri: str, text: str, *, agent: str = BROWSER, kind: str = "application/xml; charset=utf-8",
           **headers: str) -> Sent:  # fmt: skip
    """Return a request with an XML body."""
    return Sent(method, uri, text.encode(), {"Content-Type": kind, **headers}, agent)


def put(uri: str, data: bytes, kind: str, *, agent: str = BROWSER) -> Sent:
    """Return the upload of a file."""
    return Sent("PUT", uri, data, {"Content-Type": kind} if kind else {}, agent)


def segment(text: str) -> str:
    """Percent-encode a segment of a path as browsers do."""
    return quote(text, safe="!'()*~")
