"""Values that the built-in rules inspect: the request's parts, decoded as an attacked application would. No I/O.

Each value is percent-decoded; further forms are added where they differ: without entities, escapes and comments;
without shell quotes; decoded from base64 or JSON. No value contains a line feed, which joins values for the scan.
"""

import json
from functools import lru_cache

from gatewall.engine.model import AccessRequest
from gatewall.engine.waf import body_texts
from gatewall.engine.waf.decoding import MIN_BASE64, base64_decoded, loosened, percent_decoded, unquoted
from gatewall.engine.waf.rules import Target

Value = tuple[Target, str | None, str]
"""Target, name of the argument, header or cookie, and text (latin-1)."""

MAX_URI = 32_768
MAX_HEADER = 8_192
MAX_HEADERS = 65_536
MAX_BODY = 65_536
MAX_SEPARATE = 256
"""Arguments and cookies that are matched one by one; further ones form one value."""
LONG_URI = 1_024
"""Only for longer URIs is the beginning inspected first."""
BEGINNING = 256
CUT = 32
"""Characters at the end of a cut value that may decode differently: half an escape, three times decoded."""
_MAX_INSIDE = 64  # values from one JSON text
_LONG_NAME = 16  # longer names may be base64
_SHORT = 256
_MAX_DEPTH = 3  # base64 in JSON in base64
UNINSPECTED = "\x01uninspected "
"""Prefix of the value that names a part too long to be inspected."""
FROM_ELSEWHERE = "\x01from elsewhere "
"""Prefix of the value with the argument names of a link from another site."""

_PLAIN_HEADERS = frozenset(
    {
        "accept", "accept-charset", "accept-encoding", "accept-language", "cache-control", "connection",
        "content-length", "dnt", "date", "forwarded", "host", "if-match", "if-modified-since",
        "if-none-match", "if-range", "if-unmodified-since", "keep-alive", "origin", "pragma", "priority", "purpose",
        "range",
        "sec-ch-ua", "sec-ch-ua-arch", "sec-ch-ua-bitness", "sec-ch-ua-full-version-list", "sec-ch-ua-mobile",
        "sec-ch-ua-model", "sec-ch-ua-platform", "sec-ch-ua-platform-version", "sec-fetch-dest", "sec-fetch-mode",
        "sec-fetch-site", "sec-fetch-user", "sec-gpc", "sec-websocket-extensions", "sec-websocket-key",
        "sec-websocket-version", "te", "trailer", "transfer-encoding", "upgrade", "upgrade-insecure-requests",
        "via", "x-real-ip", "x-request-id", "x-requested-with",
    }
)  # fmt: skip
_TRIGGERS = ("'", '"', "\\", "&", "/*", "$", "`", "^", "\x00", "\xef")
_FORMLESS = bytes(set(range(32, 127)) - set(b"'\"\\&*$`^{["))
"""Text of these bytes only contains no trigger, no line feed and no JSON, but possibly base64."""


_URI, _PATH, _ARGS, _ARG_NAMES = Target.URI, Target.PATH, Target.ARGS, Target.ARG_NAMES
_HEADERS, _USER_AGENT, _COOKIES = Target.HEADERS, Target.USER_AGENT, Target.COOKIES
_REFERER, _BODY = Target.REFERER, Target.BODY  # module constants, because enum look-ups are slow


def values_of(request: AccessRequest) -> list[Value]:
    """Return everything that is inspected except the raw URI, in scan order."""
    uri = request.uri
    values: list[Value] = []
    if len(uri) > MAX_URI:
        values.append((_URI, None, UNINSPECTED + "uri"))
        uri = uri[:MAX_URI]
    path, _, query = uri.partition("?")
    _path(values, path)
    if query:
        _arguments(values, _ARGS, query)
    _headers(values, request)
    if request.cookies:
        _cookies(values, request)
    if request.body or not request.body_is_whole:
        _body(values, request)
    return values


def beginning_of(request: AccessRequest) -> list[Value]:
    """Return the values in the beginning of a URI longer than ``LONG_URI``, not decoded further.

    Except for the last ``CUT`` characters, ``values_of`` returns them, too.
    """
    path, _, query = request.uri[:BEGINNING].partition("?")
    values: list[Value] = [(_PATH, None, percent_decoded(path).replace("\n", "\r"))]
    for part in query.replace("+", " ").split("&", MAX_SEPARATE)[:MAX_SEPARATE]:
        name, _, value = part.partition("=")
        if len(value) >= MIN_BASE64 or not value.isalnum():
            values.append((_ARGS, percent_decoded(name), percent_decoded(value).replace("\n", "\r")))
    return values


def raw_uri(request: AccessRequest) -> str:
    """Return the URI as sent if it contains an encoding, for rules on encoding tricks; else ""."""
    uri = request.uri
    return uri[:MAX_URI].replace("\n", "\r") if "%" in uri or "\\" in uri else ""


def _cookies(values: list[Value], request: AccessRequest) -> None:
    for name, value in request.cookies[:MAX_SEPARATE]:
        if not (name.isidentifier() or _is_token(name)):
            _add(values, _COOKIES, name, percent_decoded(name[:MAX_HEADER]), base64=False)
        if not (value.isalnum() or _is_token(value)):
            _add(values, _COOKIES, name, percent_decoded(value[:MAX_HEADER]))
        elif len(value) >= MIN_BASE64 and (inside := base64_decoded(value[:MAX_HEADER])) is not None:
            _add(values, _COOKIES, name, percent_decoded(inside))


def _is_token(text: str) -> bool:
    return text.replace("-", "").replace("_", "").replace(".", "").isalnum()


def _path(values: list[Value], path: str) -> None:
    if "%" in path:
        path = percent_decoded(path)
    _add(values, _PATH, None, path, base64=False)
    if len(path) < MIN_BASE64:
        return
    last = path[path.rfind("/") + 1 :]
    inside = base64_decoded(last) if len(last) >= MIN_BASE64 else None
    if inside is None and len(path) > len(last) + 1:
        inside = base64_decoded(path[1:])  # base64 may contain slashes
    if inside is not None:
        _add(values, _PATH, None, percent_decoded(inside))


def _arguments(values: list[Value], target: Target, query: str) -> None:
    if "+" in query:
        query = query.replace("+", " ")
    parts = query.split("&", MAX_SEPARATE)
    rest = parts.pop() if len(parts) > MAX_SEPARATE else ""
    names = _ARG_NAMES if target is _ARGS else target
    encoded = "%" in query
    for part in parts:
        name, _, value = part.partition("=")
        if len(value) < MIN_BASE64 and value.isalnum():
            value = ""
        if encoded:
            name, value = percent_decoded(name), percent_decoded(value)
        if not name.isidentifier() or "__" in name or len(name) >= _LONG_NAME:
            _add(values, names, name, name)
        if value:
            _add(values, target, name, value)
    if rest:
        _add(values, target, None, percent_decoded(rest.replace("&", "\f")))


def _headers(values: list[Value], request: AccessRequest) -> None:
    left = MAX_HEADERS
    plain = _PLAIN_HEADERS
    for name, value in [
        each for each in request.headers if each[0] not in plain or "../" in each[1] or "${" in each[1]
    ]:
        left -= len(value)
        if len(value) > MAX_HEADER or left < 0:
            values.append((_HEADERS, name, UNINSPECTED + "header"))
            value = value[:MAX_HEADER] if left > 0 else ""  # noqa: PLW2901 - cut to what is looked at
        if name == "user-agent":
            if value.startswith("Mozilla/"):
                values.append((_USER_AGENT, None, value.replace("\n", "\r") if "\n" in value else value))
            else:
                _add(values, _USER_AGENT, None, percent_decoded(value))
        elif name == "referer":
            _referer(values, request, value)
        elif name != "cookie":
            _header(values, name, value)


def _header(values: list[Value], name: str, value: str) -> None:
    if value.isdecimal() and len(value) < MIN_BASE64 and name.replace("-", "").isalnum():
        return
    if "%" in value:
        value = percent_decoded(value)
    _add(values, _HEADERS, name, f"{name}: {value}", base64=False)
    if len(value) >= MIN_BASE64 and (inside := base64_decoded(value)) is not None:
        _add(values, _HEADERS, name, percent_decoded(inside))


def _referer(values: list[Value], request: AccessRequest, value: str) -> None:
    host, found = _short_referer_values(value) if len(value) <= _SHORT else _referer_values(value)
    values += found
    if host and request.host is not None and host != request.host.name and "?" in request.uri:
        names = [part.partition("=")[0] for part in request.uri.partition("?")[2].split("&", MAX_SEPARATE)]
        values.append((_ARG_NAMES, None, FROM_ELSEWHERE + " ".join(names).replace("\n", "\r")))


def _referer_values(value: str) -> tuple[str, tuple[Value, ...]]:
    """Return the host of a referer, and its values to inspect."""
    address, _, query = value.partition("?")
    values: list[Value] = []
    if query:
        _arguments(values, _REFERER, query)
    if not _is_address(address):
        _add(values, _REFERER, None, percent_decoded(address))
    host = address.partition("//")[2].partition("/")[0].partition(":")[0] if address[:4] == "http" else ""
    return host, tuple(values)


@lru_cache(maxsize=2048)  # a page is the referer of all its resources
def _short_referer_values(value: str) -> tuple[str, tuple[Value, ...]]:
    return _referer_values(value)


def _is_address(text: str) -> bool:
    if text[:4] != "http":
        return False
    rest = text.encode("latin-1").translate(None, _ADDRESS)
    return rest.isalnum() or rest.decode("latin-1").isalnum()


_ADDRESS = b":/.-_~@+,=;!*"


def _body(values: list[Value], request: AccessRequest) -> None:
    body = request.body or b""
    if len(body) > MAX_BODY or not request.body_is_whole:
        values.append((_BODY, None, UNINSPECTED + "body"))
    text = body[:MAX_BODY].decode("latin-1")
    content_type = request.header("content-type")
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type == "application/x-www-form-urlencoded":
        _arguments(values, _BODY, text)
    elif media_type.startswith("multipart/"):
        for head, content in body_texts.of_multipart(text, content_type):
            for line in head.splitlines():
                _add(values, _BODY, None, line, base64=False)
            _add(values, _BODY, None, content)
    elif texts := _json_texts(text):
        for each in texts:
            _add(values, _BODY, None, each)
    elif media_type or text[:1] == "<":
        _add(values, _BODY, None, body_texts.of_other(text, media_type))
    else:  # Envoy omits the content type unless configured to send it
        _arguments(values, _BODY, text)


def _add(
    values: list[Value], target: Target, name: str | None, text: str, *, base64: bool = True, depth: int = 0
) -> None:
    """Add a value and its further forms."""
    if not text.encode("latin-1").translate(None, _FORMLESS):
        values.append((target, name, text))
        if base64 and len(text) >= MIN_BASE64 and " " not in text:
            _look_through(values, target, name, text, depth)
        return
    if "\n" in text:
        text = text.replace("\n", "\r")
    values.append((target, name, text))
    if any(trigger in text for trigger in _TRIGGERS):
        _other_forms(values, target, name, text)
    if base64:
        _look_through(values, target, name, text, depth)


def _other_forms(values: list[Value], target: Target, name: str | None, text: str) -> None:
    loose = loosened(text).replace("\n", "\r")
    if loose != text:
        values.append((target, name, loose))
    bare = unquoted(loose)
    if bare != loose:
        values.append((target, name, bare))


def _look_through(values: list[Value], target: Target, name: str | None, text: str, depth: int) -> None:
    """Add values decoded from base64 or JSON."""
    if depth >= _MAX_DEPTH:
        return
    if (inside := base64_decoded(text)) is not None:
        _add(values, target, name, percent_decoded(inside), depth=depth + 1)
    elif text[:1] in {"{", "["}:
        for each in _json_texts(text):
            _add(values, target, name, percent_decoded(each), depth=depth + 1)


def _json_texts(text: str) -> list[str]:
    """Return the names and strings in a JSON text; empty if it is not JSON."""
    try:
        waiting = [json.loads(text)]
    except (ValueError, RecursionError):
        return []
    found: list[str] = []
    while waiting and len(found) < _MAX_INSIDE:
        item = waiting.pop()
        if isinstance(item, dict):
            waiting += [*item, *item.values()]
        elif isinstance(item, list):
            waiting += item
        elif isinstance(item, str):
            found.append(item.encode("latin-1", "replace").decode("latin-1"))
    return found
