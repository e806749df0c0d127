"""Request headers as both servers deliver them: undecoded, repeated lines kept apart. Pure.

A value is a ``str`` of the raw bytes (latin-1). Repeated lines are joined by a line feed, which no header line can
contain, so that no client can send two lines as one.
"""

from collections.abc import Iterable, Mapping

from gatewall.engine.messages import Refused
from gatewall.engine.messages import gettext_noop as _

Headers = Mapping[str, str]
"""Lower-case header names with their values; repeated lines are joined by a line feed."""

Cookies = tuple[tuple[str, str], ...]
"""Names and values in the order sent."""

LINE = "\n"
_CONTROLS = frozenset(map(chr, [*range(32), 127]))
_MAX_COOKIES = 256
_MAX_URI = 16_384
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
"""Header names as proxies usually write them: looked up instead of decoded."""
USUAL_NAMES |= {name.title().encode(): name for name in USUAL_NAMES.values()}


def from_lines(lines: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Return the headers from raw lines."""
    headers: dict[str, str] = {}
    for raw_name, raw_value in lines:
        name = USUAL_NAMES.get(raw_name) or raw_name.decode("latin-1").lower()
        value = raw_value.decode("latin-1")
        headers[name] = headers[name] + LINE + value if name in headers else value
    return headers


def from_environ(environ: Mapping[str, object]) -> Headers:
    """Return the headers from a WSGI environ (PEP 3333: values are latin-1 already).

    No header name contains ``_``: the server drops those before they could be folded into a name with ``-``.
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
    """Return the single value of a header, or None if it was not sent. Equal lines count as one.

    Raises Refused when lines differ or the value has a control byte.
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
    """True if the text has no control byte (0x00 to 0x1F, 0x7F)."""
    return (text.isascii() and text.isprintable()) or _CONTROLS.isdisjoint(text)


def checked_uri(text: str) -> str:
    """Return the visitor's URI as sent. Raises Refused if it is not one."""
    if "#" in text:  # parsers disagree on whether the path ends there
        raise Refused(_("the URI has a fragment"))
    if len(text) > _MAX_URI or not (text.startswith("/") or text == "*"):
        raise Refused(_("x-forwarded-uri is not a path"))
    return text


def cookies(headers: Headers) -> Cookies:
    """Parse the Cookie header into (name, value) pairs in the order sent (RFC 6265 section 5.4); bounded.

    Nothing is lost: a cookie without ``=`` gets the name "", quotes are kept, and text beyond the limit is part of
    the last value.
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
