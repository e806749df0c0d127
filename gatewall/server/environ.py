"""Build the WSGI environ (PEP 3333) of a parsed request. Pure.

Header values are latin-1 text, one character per byte. Several lines of one name are joined by a line feed, which no
line can contain, and cookies by a semicolon (RFC 9113 section 8.2.3): by a comma, as CGI has it, two
``X-Forwarded-Uri`` lines would look like one URI, and two ``Cookie`` lines would lose a cookie.
"""

import re
import sys
from collections.abc import Iterable
from io import BytesIO
from typing import Any
from urllib.parse import unquote_to_bytes

from gatewall.kernel.request_bodies import BODY_WAITS
from gatewall.server.http1 import Line, Request

BODY_ENDED = "gatewall.body_ended"
"""False in the environ if the body was not read to its end: too long, chunked, or late."""
_LINE = "\n"
_AUTHORITY = re.compile("https?://[^/?#]*", re.IGNORECASE)
_OWN_KEYS = {"HTTP_CONTENT_TYPE": "CONTENT_TYPE", "HTTP_CONTENT_LENGTH": "CONTENT_LENGTH"}


def origin_form(target: str) -> str:
    """Return a request target without scheme and host (absolute form, RFC 9112 section 3.2.2)."""
    if target.startswith("/"):
        return target
    found = _AUTHORITY.match(target)
    if found is None:
        return target
    rest = target[found.end() :]
    return rest if rest.startswith("/") else f"/{rest}"


def environ_of(request: Request, *, peer: str, is_new: bool, server: tuple[str, str]) -> dict[str, Any]:
    """Return the WSGI environ; ``peer`` "" for a unix socket, ``is_new`` for HTTP/1.1, ``server`` name and port."""
    target = request.target.decode("latin-1")
    path, _, query = origin_form(target).partition("?")
    body = request.body
    return {
        "REQUEST_METHOD": request.method.decode("latin-1"),
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(path.encode("latin-1")).decode("latin-1"),
        "QUERY_STRING": query,
        "RAW_URI": target,
        "REMOTE_ADDR": peer,
        "SERVER_NAME": server[0],
        "SERVER_PORT": server[1],
        "SERVER_PROTOCOL": "HTTP/1.1" if is_new else "HTTP/1.0",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",  # gatewall/kernel/clientip.py alone decides which scheme a proxy vouches for
        "wsgi.input": BytesIO(b"" if body is None else body.data),
        "wsgi.input_terminated": True,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
        BODY_ENDED: body is None or body.ended,
        BODY_WAITS: body is not None and body.waits,
        **header_keys(request.lines),
    }


def header_keys(lines: Iterable[Line]) -> dict[str, str]:
    """Return the headers as environ keys. Names with ``_`` are dropped: ``X_Forwarded_For`` must not count as ours."""
    keys: dict[str, str] = {}
    for raw_name, raw_value in lines:
        if b"_" in raw_name:
            continue
        key = "HTTP_" + raw_name.decode("latin-1").upper().replace("-", "_")
        key, value = _OWN_KEYS.get(key, key), raw_value.decode("latin-1")
        separator = "; " if key == "HTTP_COOKIE" else _LINE
        keys[key] = keys[key] + separator + value if key in keys else value
    return keys
