"""Request headers as both servers deliver them: raw bytes, repeated lines kept apart. Pure.

A value is a ``str`` whose characters are the bytes of the wire (latin-1). Several lines of one name
are joined by a line feed, which no line can hold, so that nobody can write two lines as one.
"""

from collections.abc import Iterable, Mapping

from gatewall.engine.messages import Refused
from gatewall.engine.messages import gettext_noop as _

Headers = Mapping[str, str]
"""Lower-case header names with their values; several lines are joined by a line feed."""

Cookies = tuple[tuple[str, str], ...]
"""Names and values in the order sent."""

LINE = "\n"
_CONTROLS = frozenset(map(chr, [*range(32), 127]))
_MAX_COOKIES = 256
_SPECIAL = {"CONTENT_TYPE": "content-type", "CONTENT_LENGTH": "content-length"}


USUAL_NAMES = {
    name.encode(): name
    for name in (
        *("accept", "accept-encoding", "accept-language", "authorization", "cache-control", "connection"),
        *("content-length", "content-type", "cookie", "dnt", "host", "if-modified-since", "if-none-match", "origin"),
        *("pragma", "priority", "range", "referer", "sec-ch-ua", "sec-ch-ua-mobile", "sec-ch-ua-platform"),
        *("sec-fetch-dest", "sec-fetch-mode", "sec-fetch-site", "sec-fetch-user", "service-authorization"),
        *("service-git-token", "service-license", "upgrade-insecure-requests", "user-agent", "x-forwarded-for"),
        *("x-forwarded-host", "x-forwarded-method", "x-forwarded-proto", "x-forwarded-uri", "x-requested-with"),
    )
}
"""Usual names as proxies write them: they need not be read letter by letter."""
USUAL_NAMES |= {name.title().encode(): name for name in USUAL_NAMES.values()}


def from_lines(lines: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Return the headers of raw lines."""
    headers: dict[str, str] = {}
    for raw_name, raw_value in lines:
        name = USUAL_NAMES.get(raw_name) or raw_name.decode("latin-1").lower()
        value = raw_value.decode("latin-1")
        headers[name] = headers[name] + LINE + value if name in headers else value
    return headers


def from_environ(environ: Mapping[str, object]) -> Headers:
    """Return the headers of a WSGI environ (PEP 3333: values are latin-1 already).

    A name with ``_`` or ``.`` is not ours: the server drops the first before it could be folded
    into a name with ``-`` (gunicorn's ``header_map = "drop"``), the second stays itself.
    """
    headers = {
        key[5:].lower().replace("_", "-"): value
        for key, value in environ.items()
        if key.startswith("HTTP_") and isinstance(value, str)
    }
    for key, name in _SPECIAL.items():
        value = environ.get(key)
        if isinstance(value, str) and value:
            headers[name] = value
    return headers


def one_value(headers: Headers, name: str) -> str | None:
    """Return the value of a header that has exactly one, or None if it was not sent.

    Equal lines count as one.

    Raises Refused when lines differ or a control byte is in the value.
    """
    value = headers.get(name)
    if value is None or value.isalnum():
        return value
    if LINE in value:
        first, *others = (line.strip(" \t") for line in value.split(LINE))
        if any(other != first for other in others):
            raise Refused(_("%(name)s has two values"), name=name)
        value = first
    value = value.strip(" \t")
    if not is_printable(value):
        raise Refused(_("%(name)s has a control byte"), name=name)
    return value


def is_printable(text: str) -> bool:
    """True if no character is a control byte; 0x80 to 0xFF are not."""
    return (text.isascii() and text.isprintable()) or _CONTROLS.isdisjoint(text)


def cookies(headers: Headers) -> Cookies:
    """Return the cookies as name and value, in the order sent (RFC 6265 section 5.4); bounded.

    The site gets what stands here as it was sent, so nothing of it is lost: a cookie without ``=``
    has no name, quotes stay, and what is behind the last cookie that is told apart belongs to it.
    """
    text = headers.get("cookie")
    if not text:
        return ()
    found = []
    for part in text.replace(LINE, ";").split(";", _MAX_COOKIES):
        name, equals, value = part.partition("=")
        name = name.strip(" \t")
        if equals:
            found.append((name, value.strip(" \t")))
        elif name:
            found.append(("", name))
    return tuple(found)
