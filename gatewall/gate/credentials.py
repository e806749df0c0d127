"""Extract a request's credentials, in the order in which they are tried. Pure."""

import base64
import binascii

from gatewall.credentials.machine import GIT_TOKEN_PREFIX
from gatewall.engine.model import Credential, CredentialKind
from gatewall.gate import headers as wire
from gatewall.gate.headers import Cookies, Headers

COOKIE_NAME = "service.token"
_MAX_OF_A_KIND = 4


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
    if "authorization" in headers and (basic := basic_credential(headers)):
        found.append(basic)
    if "service-license" in headers:
        found += [Credential(CredentialKind.LICENSE, line) for line in _lines(headers, "service-license")]
    return tuple(found)


def basic_credential(headers: Headers) -> Credential | None:
    """Return the git token sent as ``Authorization: Basic``, or None. Raises ValueError on two different values."""
    scheme, _, encoded = (wire.one_value(headers, "authorization") or "").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        text = base64.b64decode(encoded.strip(" "), validate=True).decode("latin-1")
    except (binascii.Error, ValueError):
        return None
    username, _, password = text.partition(":")
    if not password.startswith(GIT_TOKEN_PREFIX):
        return None
    return Credential(CredentialKind.GIT_BASIC, password, username)


def _lines(headers: Headers, name: str) -> list[str]:
    """Return the distinct lines of a credential header, at most four, in the order sent."""
    lines = [line.strip(" \t") for line in headers[name].split(wire.LINE)]
    return list(dict.fromkeys([line for line in lines if line]))[:_MAX_OF_A_KIND]


def _without_bearer(text: str) -> str:
    scheme, space, token = text.partition(" ")
    return token.strip(" ") if space and scheme.lower() == "bearer" else text
