"""``Cookie`` and ``Authorization`` for the site, with our own credentials removed. Pure.

Few proxies can cut one cookie out of a header, but all of them can take a header from our answer.
"""

import base64
import re

from gatewall.credentials.machine import GIT_TOKEN_PREFIX
from gatewall.gate import headers as wire
from gatewall.gate.credentials import COOKIE_NAME
from gatewall.gate.headers import Headers

_BEHIND_A_COMMA = re.compile(rf",[ \t]*{re.escape(COOKIE_NAME)}[ \t]*=.*", re.IGNORECASE)
"""Envoy joins several ``Cookie`` lines of HTTP/1.1 by a comma when it asks."""
_NOT_BASE64 = re.compile(r"[^A-Za-z0-9+/]")


def leftovers(headers: Headers) -> tuple[tuple[str, str], ...]:
    """Return these two headers without our credentials, each if it was sent; empty if nothing is left of it.

    A value that no server takes in an answer (a control byte) is lost. Raises ValueError when
    ``Authorization`` was sent twice with different values; such a request is malformed before.
    """
    left = []
    if "cookie" in headers:
        left.append(("Cookie", _cookies_of_others(headers["cookie"])))
    if "authorization" in headers:
        value = wire.one_value(headers, "authorization") or ""
        left.append(("Authorization", "" if _has_git_token(value) else value))
    return tuple((name, value if wire.is_printable(value) else "") for name, value in left)


def _cookies_of_others(text: str) -> str:
    """Return the cookies as they were sent, without those of our name in any case: a site may fold it."""
    parts = (_BEHIND_A_COMMA.sub("", part) for part in text.replace(wire.LINE, "; ").split(";"))
    kept = [part for part in parts if part.partition("=")[0].strip(" \t").lower() != COOKIE_NAME]
    return ";".join(kept).strip(" \t;")


def _has_git_token(text: str) -> bool:
    """True if any reader finds a git token of ours there, also one who is more lenient about base64 than we are."""
    schemes = (part.strip(" \t").partition(" ") for part in text.split(","))
    return any(_is_git_token(encoded) for scheme, _, encoded in schemes if scheme.lower() == "basic")


def _is_git_token(encoded: str) -> bool:
    letters = _NOT_BASE64.sub("", encoded.replace("-", "+").replace("_", "/"))
    whole = letters[: len(letters) - (len(letters) % 4 == 1)]
    password = base64.b64decode(whole + "=" * (-len(whole) % 4)).partition(b":")[2]
    return password.startswith(GIT_TOKEN_PREFIX.encode())
