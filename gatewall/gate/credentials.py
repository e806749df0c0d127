"""Extract a request's credentials, in the order in which they are tried, and remove them for the site. Pure.

Few proxies can remove one cookie from a header, but all can copy a header from our response.
"""

import base64
import binascii
import re

from gatewall.credentials.machine import APP_TOKEN_PREFIX, GIT_TOKEN_PREFIX
from gatewall.engine.access_rules.token_headers import is_header_of_tokens
from gatewall.engine.model import Credential, CredentialKind
from gatewall.gate import headers as wire
from gatewall.gate.headers import Cookies, Headers

COOKIE_NAME = "service.token"
GUEST_COOKIE = "service.guest"
"""Cookie of guests who opened a share link; tried last, so that a session takes precedence."""
OWN_COOKIES = frozenset({COOKIE_NAME, GUEST_COOKIE})
_MAX_OF_A_KIND = 4
_BEHIND_A_COMMA = re.compile(rf",[ \t]*(?:{'|'.join(map(re.escape, sorted(OWN_COOKIES)))})[ \t]*=.*", re.IGNORECASE)
"""Envoy joins several HTTP/1.1 ``Cookie`` lines by a comma in the subrequest."""
_BASIC_KINDS = {GIT_TOKEN_PREFIX: CredentialKind.GIT_BASIC, APP_TOKEN_PREFIX: CredentialKind.APP_BASIC}
_IN_BASIC = tuple(prefix.encode() for prefix in _BASIC_KINDS)
_USUAL = frozenset(wire.USUAL_NAMES.values())
"""Headers whose values are not checked for app tokens: no access rule can name one of them for app tokens."""
_NOT_BASE64 = re.compile(r"[^A-Za-z0-9+/]")


def credentials_of(headers: Headers, all_cookies: Cookies) -> tuple[Credential, ...]:
    """Return the credentials in the order in which they are tried, repeated header lines and cookies included."""
    found = []
    if "service-authorization" in headers:
        lines = _lines(headers, "service-authorization")
        found += [Credential(CredentialKind.SESSION_HEADER, _without_bearer(line)) for line in lines]
    sessions = [secret for name, value in all_cookies if name == COOKIE_NAME and (secret := value.strip('"'))]
    found += [Credential(CredentialKind.SESSION_COOKIE, value) for value in sessions[:_MAX_OF_A_KIND]]
    if "service-git-token" in headers:
        for line in _lines(headers, "service-git-token"):
            username, _, token = line.partition(":")
            found.append(Credential(CredentialKind.GIT_TOKEN, token, username))
    if "authorization" in headers and (sent := authorization_credential(headers)):
        found.append(sent)
    for name in headers:
        if name not in _USUAL and holds_app_token(name, headers[name]):
            found += [Credential(CredentialKind.APP_HEADER, line, header=name) for line in _lines(headers, name)]
    if "service-license" in headers:
        found += [Credential(CredentialKind.LICENSE, line) for line in _lines(headers, "service-license")]
    if "cookie" in headers and GUEST_COOKIE in headers["cookie"]:
        links = [value.strip('"') for name, value in all_cookies if name == GUEST_COOKIE]
        found += [Credential(CredentialKind.GUEST_COOKIE, value) for value in links[:_MAX_OF_A_KIND] if value]
    return tuple(found)


def authorization_credential(headers: Headers) -> Credential | None:
    """Return the git token or app token sent as ``Authorization``, or None. Raises ValueError on two different values.

    Git tokens are passwords of Basic authentication; app tokens are too, or Bearer tokens (RFC 6750).
    """
    scheme, _, encoded = (wire.one_value(headers, "authorization") or "").partition(" ")
    if scheme.lower() == "bearer" and encoded.strip(" ").startswith(APP_TOKEN_PREFIX):
        return Credential(CredentialKind.APP_BEARER, encoded.strip(" "))
    if scheme.lower() != "basic":
        return None
    try:
        text = base64.b64decode(encoded.strip(" "), validate=True).decode("latin-1")
    except (binascii.Error, ValueError):
        return None
    username, _, password = text.partition(":")
    kind = _BASIC_KINDS.get(password[: len(GIT_TOKEN_PREFIX)])
    return Credential(kind, password, username) if kind else None


def holds_app_token(name: str, value: str) -> bool:
    """True if a header's value is an app token, and an access rule may name the header for app tokens."""
    return value.startswith(APP_TOKEN_PREFIX) and is_header_of_tokens(name)


def _lines(headers: Headers, name: str) -> list[str]:
    """Return the distinct lines of a credential header, at most four, in the order sent."""
    lines = [line.strip(" \t") for line in headers[name].split(wire.LINE)]
    return list(dict.fromkeys([line for line in lines if line]))[:_MAX_OF_A_KIND]


def _without_bearer(text: str) -> str:
    scheme, space, token = text.partition(" ")
    return token.strip(" ") if space and scheme.lower() == "bearer" else text


def site_headers(headers: Headers) -> tuple[tuple[str, str], ...]:
    """Return ``Cookie`` and ``Authorization``, each if it was sent, without our credentials; empty if nothing is left.

    A value with a control byte becomes empty: no server sends one. Raises ValueError on two different values.
    """
    left = []
    if "cookie" in headers:
        left.append(("Cookie", _cookies_of_others(headers["cookie"])))
    if "authorization" in headers:
        value = wire.one_value(headers, "authorization") or ""
        left.append(("Authorization", "" if _has_token(value) else value))
    return tuple((name, value if wire.is_printable(value) else "") for name, value in left)


def site_credentials(headers: Headers) -> tuple[tuple[str, str], ...]:
    """Return Authorization and Proxy-Authorization as sent, except those that contain one of our credentials."""
    sent = [(name, headers[name]) for name in ("authorization", "proxy-authorization") if name in headers]
    return tuple([each for each in sent if not _has_token(each[1])])


def _cookies_of_others(text: str) -> str:
    """Return the cookies as sent, except ours in any case: a site may ignore the case."""
    parts = (_BEHIND_A_COMMA.sub("", part) for part in text.replace(wire.LINE, "; ").split(";"))
    kept = [part for part in parts if part.partition("=")[0].strip(" \t").lower() not in OWN_COOKIES]
    return ";".join(kept).strip(" \t;")


def _has_token(text: str) -> bool:
    """True if any parser, also one with lenient base64, would find a git token or app token of ours."""
    schemes = [part.strip(" \t").partition(" ") for part in text.split(",")]
    if any(_is_basic_with_token(encoded) for scheme, _, encoded in schemes if scheme.lower() == "basic"):
        return True
    return any(part.strip(" \t").startswith(APP_TOKEN_PREFIX) for scheme in schemes for part in scheme)


def _is_basic_with_token(encoded: str) -> bool:
    letters = _NOT_BASE64.sub("", encoded.replace("-", "+").replace("_", "/"))
    whole = letters[: len(letters) - (len(letters) % 4 == 1)]
    password = base64.b64decode(whole + "=" * (-len(whole) % 4)).partition(b":")[2]
    return password.startswith(_IN_BASIC)
