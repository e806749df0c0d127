"""``Cookie`` and ``Authorization`` for the site, with our own credentials removed. Pure.

Few proxies can remove one cookie from a header, but all can copy a header from our response.
"""

import base64
import re

from gatewall.credentials.machine import GIT_TOKEN_PREFIX
from gatewall.gate import headers as wire
from gatewall.gate.credentials import COOKIE_NAME
from gatewall.gate.headers import Headers

_BEHIND_A_COMMA = re.compile(rf",[ \t]*{re.escape(COOKIE_NAME)}[ \t]*=.*", re.IGNORECASE)
"""Envoy joins several HTTP/1.1 ``Cookie`` lines by a comma in the subrequest."""
_NOT_BASE64 = re.compile(r"[^A-Za-z0-9+/]")


def site_headers(headers: Headers) -> tuple[tuple[str, str], ...]:
    """Return ``Cookie`` and ``Authorization``, each if it was sent, without our credentials; empty if nothing is left.

    A value with a control byte becomes empty: no server sends one. Raises ValueError on two different values.
    """
    left = []
    if "cookie" in headers:
        left.append(("Cookie", _cookies_of_others(headers["cookie"])))
    if "authorization" in headers:
        value = wire.one_value(headers, "authorization") or ""
        left.append(("Authorization", "" if _has_git_token(value) else value))
    return tuple((name, value if wire.is_printable(value) else "") for name, value in left)


def _cookies_of_others(text: str) -> str:
    """Return the cookies as sent, except ours in any case: a site may ignore the case."""
    parts = (_BEHIND_A_COMMA.sub("", part) for part in text.replace(wire.LINE, "; ").split(";"))
    kept = [part for part in parts if part.partition("=")[0].strip(" \t").lower() != COOKIE_NAME]
    return ";".join(kept).strip(" \t;")


def _has_git_token(text: str) -> bool:
    """True if any parser, also one with lenient base64, would find one of our git tokens."""
    schemes = (part.strip(" \t").partition(" ") for part in text.split(","))
    return any(_is_git_token(encoded) for scheme, _, encoded in schemes if scheme.lower() == "basic")


def _is_git_token(encoded: str) -> bool:
    letters = _NOT_BASE64.sub("", encoded.replace("-", "+").replace("_", "/"))
    whole = letters[: len(letters) - (len(letters) % 4 == 1)]
    password = base64.b64decode(whole + "=" * (-len(whole) % 4)).partition(b":")[2]
    return password.startswith(GIT_TOKEN_PREFIX.encode())
