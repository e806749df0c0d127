"""What the site may see of the visitor's ``Cookie`` and ``Authorization``: all but our own credentials. Pure.

Few proxies can cut one cookie out of a header, but all of them can take a header from our answer.
"""

from gatewall.forwardauth import headers as wire
from gatewall.forwardauth.headers import Headers
from gatewall.forwardauth.subrequest import COOKIE_NAME, basic_credential


def leftovers(headers: Headers) -> tuple[tuple[str, str], ...]:
    """Return these two headers without our credentials, each if it was sent; empty if nothing is left of it.

    A value that no server takes in an answer (a control byte) is lost. Raises ValueError when
    ``Authorization`` was sent twice with different values; such a request is malformed before.
    """
    left = []
    if "cookie" in headers:
        left.append(("Cookie", _cookies_of_others(headers["cookie"])))
    if "authorization" in headers:
        ours = basic_credential(headers) is not None
        left.append(("Authorization", "" if ours else wire.one_value(headers, "authorization") or ""))
    return tuple((name, value if wire.is_printable(value) else "") for name, value in left)


def _cookies_of_others(text: str) -> str:
    """Return the cookies as they were sent, without those of our name in any case: a site may fold it."""
    parts = text.replace(wire.LINE, "; ").split(";")
    kept = [part for part in parts if part.partition("=")[0].strip(" \t").lower() != COOKIE_NAME]
    return ";".join(kept).strip(" \t;")
