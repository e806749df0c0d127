"""Turns the subrequest of one proxy dialect into an access request. Pure; never raises for bad input.

One function a dialect, and each reads exactly one family of headers: most gateways that were
bypassed read a second family as a fallback (docs/security.md).
"""

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from gatewall.clientip import ForwardedForMalformed, TrustedProxies, client_address, peer_or_unknown
from gatewall.credentials.machine import GIT_TOKEN_PREFIX
from gatewall.engine.hosts import Authority
from gatewall.engine.model import AccessRequest, Credential, CredentialKind
from gatewall.forwardauth import bodies
from gatewall.forwardauth import headers as wire
from gatewall.forwardauth.bodies import Body
from gatewall.forwardauth.headers import Headers

COOKIE_NAME = "service.token"
_MAX_SESSION_COOKIES = 4
_MAX_URI = 16_384
_UNSHOWN_HEADERS = frozenset(
    {"service-authorization", "service-git-token", "service-license", "authorization", "cookie", "proxy-authorization"}
)
_SCHEMES = {"http": "http", "https": "https", "ws": "http", "wss": "https"}
_FORWARDED = "x-forwarded-"
_PARTIAL = "x-envoy-auth-partial-body"
"""Envoy says so of a body that is longer than its ``max_request_bytes``; a visitor who does gains nothing."""
_AUTH_HEADERS = tuple(_FORWARDED + name for name in ("for", "host", "proto", "method", "uri"))
_FORWARD_REQUIRED = tuple(_FORWARDED + name for name in ("for", "host", "method", "uri"))


@dataclass(frozen=True, slots=True)
class Subrequest:
    """What the proxy sent us, as the server read it: its address ("" for a unix socket), the
    scheme of its connection, the headers and, for Envoy, the method and what stood behind the prefix;
    and the visitor's body, where the dialect shows one. Printed, it shows neither headers nor target:
    credentials are in both.
    """

    peer: str
    scheme: str
    headers: Headers = field(repr=False)
    method: str = "GET"
    target: str = field(default="/", repr=False)
    body: Body | None = None


def auth(subrequest: Subrequest, trusted: TrustedProxies, at: float) -> AccessRequest:
    """Return the request that ``GET /auth`` is about; a malformed one says so in ``fault``."""
    return _parsed(_forwarded, subrequest, trusted, at)


def forward(subrequest: Subrequest, trusted: TrustedProxies, at: float) -> AccessRequest:
    """Return the request that ``/auth/forward`` is about: the same headers, of which none may be missing."""
    return _parsed(_completely_forwarded, subrequest, trusted, at)


def original_url(subrequest: Subrequest, trusted: TrustedProxies, at: float) -> AccessRequest:
    """Return the request that ``/auth/original-url`` is about: ``X-Original-URL`` of ingress-nginx."""
    return _parsed(_original, subrequest, trusted, at)


def envoy(subrequest: Subrequest, trusted: TrustedProxies, at: float) -> AccessRequest:
    """Return the request that ``/auth/envoy/*`` is about: the request line itself, behind the prefix."""
    return _parsed(_request_line, subrequest, trusted, at)


Cookies = tuple[tuple[str, str], ...]
Reading = Callable[[AccessRequest, Subrequest], AccessRequest]


def _parsed(reading: Reading, subrequest: Subrequest, trusted: TrustedProxies, at: float) -> AccessRequest:
    request = AccessRequest(at=at, client=peer_or_unknown(subrequest.peer), scheme=subrequest.scheme)
    try:
        if trusted.trusts_peer(subrequest.peer):
            chain = subrequest.headers.get("x-forwarded-for")
            request = replace(request, client=client_address(subrequest.peer, chain, trusted))
            request = reading(request, subrequest)
        else:
            # Nobody vouches for these headers: to us, they do not exist.
            request = replace(
                request,
                client=client_address(subrequest.peer, None, trusted),
                authority=_authority(wire.one_value(subrequest.headers, "host")),
            )
        return _with_body(_with_contents(request, subrequest.headers), subrequest)
    except ForwardedForMalformed as error:
        fault = f"X-Forwarded-For: {error}"
    except ValueError as error:
        fault = str(error)
    # The headers say whether a browser waits for a page; nothing else of the visitor's is kept.
    return replace(request, fault=fault, headers=_shown(subrequest.headers, wire.cookies(subrequest.headers)))


def _forwarded(request: AccessRequest, subrequest: Subrequest) -> AccessRequest:
    headers = subrequest.headers
    sent = frozenset(name for name in _AUTH_HEADERS if name in headers)
    host = _single(headers, "x-forwarded-host")
    proto = _single(headers, "x-forwarded-proto")
    method = _single(headers, "x-forwarded-method")
    uri = wire.one_value(headers, "x-forwarded-uri")
    authority = _authority(host if host is not None else wire.one_value(headers, "host"))
    if sent and authority is None:
        raise ValueError("no host was sent")  # a denied domain must not be entered by leaving out its name
    names_client = bool(headers.get("x-forwarded-for", "").strip(", \t\n"))
    shown = sent if names_client else sent - {"x-forwarded-for"}
    return replace(
        request,
        # A proxy that forwards a host but no client address has lost the one thing that an allowlist
        # rests on: the peer is the client, and it is not let in for being the proxy.
        allowlist_applies=names_client or not sent,
        authority=authority,
        scheme=_scheme(proto) if proto is not None else request.scheme,
        method=_method(method) if method is not None else "GET",
        uri=_uri(uri) if uri is not None else "/",
        visible=frozenset(name.removeprefix(_FORWARDED) for name in shown),
    )


def _completely_forwarded(request: AccessRequest, subrequest: Subrequest) -> AccessRequest:
    _require(subrequest.headers, _FORWARD_REQUIRED)
    return _forwarded(request, subrequest)


def _original(request: AccessRequest, subrequest: Subrequest) -> AccessRequest:
    headers = subrequest.headers
    _require(headers, ("x-forwarded-for", "x-original-url", "x-original-method"))
    url = wire.one_value(headers, "x-original-url") or ""
    scheme, separator, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    if not (separator and authority and slash):
        raise ValueError("x-original-url is not an absolute URL")
    return replace(
        request,
        authority=_authority(authority),
        scheme=_scheme(scheme),
        method=_method(_single(headers, "x-original-method") or ""),
        uri=_uri(f"/{path}"),
        visible=frozenset({"for", "host", "proto", "method", "uri"}),
    )


def _request_line(request: AccessRequest, subrequest: Subrequest) -> AccessRequest:
    headers = subrequest.headers
    _require(headers, ("x-forwarded-for", "host"))
    proto = _single(headers, "x-forwarded-proto")
    if not wire.is_printable(subrequest.target):
        raise ValueError("the request line has a control byte")
    return replace(
        request,
        authority=_authority(_single(headers, "host")),
        scheme=_scheme(proto) if proto is not None else request.scheme,
        method=_method(subrequest.method),
        uri=_uri(subrequest.target),
        visible=frozenset({"for", "host", "method", "uri"} | ({"proto"} if proto is not None else set())),
    )


def _require(headers: Headers, names: tuple[str, ...]) -> None:
    """Raise ValueError if one of the headers that this dialect rests on was lost on the way."""
    for name in names:
        if not headers.get(name, "").strip(", \t\n"):  # a chain of no hops names no client
            raise ValueError(f"{name} is missing")


def _with_contents(request: AccessRequest, headers: Headers) -> AccessRequest:
    """Add what the visitor himself sent along: headers, cookies, credentials."""
    all_cookies = wire.cookies(headers)
    return replace(
        request,
        headers=_shown(headers, all_cookies),
        cookies=_foreign(all_cookies),
        credentials=_credentials(headers, all_cookies),
        visible=request.visible | {"headers"},
    )


def _with_body(request: AccessRequest, subrequest: Subrequest) -> AccessRequest:
    """Add the body that the proxy passed on, as the site reads it."""
    if subrequest.body is None:
        return request
    body = bodies.unpacked(subrequest.body, subrequest.headers.get("content-encoding", "").replace(wire.LINE, ","))
    whole = body.whole and subrequest.headers.get(_PARTIAL, "false") == "false"
    return replace(request, body=body.data, body_is_whole=whole, visible=request.visible | {"body"})


def _shown(headers: Headers, all_cookies: Cookies) -> tuple[tuple[str, str], ...]:
    """Return the visitor's headers without our credentials and without what the proxy added."""
    shown = [
        (name, value.replace(wire.LINE, ", "))
        for name, value in headers.items()
        if name not in _UNSHOWN_HEADERS and not name.startswith(_FORWARDED)
    ]
    if others := _foreign(all_cookies):
        shown.append(("cookie", "; ".join(f"{name}={value}" if name else value for name, value in others)))
    return tuple(shown)


def _foreign(all_cookies: Cookies) -> Cookies:
    return tuple((name, value) for name, value in all_cookies if name != COOKIE_NAME)


def _credentials(headers: Headers, all_cookies: Cookies) -> tuple[Credential, ...]:
    """Return the credentials in the order in which they are tried.

    Repeated lines of one credential header are tried one after another, as repeated cookies are.
    """
    found = [
        Credential(CredentialKind.SESSION_HEADER, _without_bearer(line))
        for line in _lines(headers, "service-authorization")
    ]
    sessions = [secret for name, value in all_cookies if name == COOKIE_NAME and (secret := value.strip('"'))]
    found += [Credential(CredentialKind.SESSION_COOKIE, value) for value in sessions[:_MAX_SESSION_COOKIES]]
    for line in _lines(headers, "service-git-token"):
        username, _, token = line.partition(":")
        found.append(Credential(CredentialKind.GIT_TOKEN, token, username))
    if basic := basic_credential(headers):
        found.append(basic)
    found += [Credential(CredentialKind.LICENSE, line) for line in _lines(headers, "service-license")]
    return tuple(found)


def basic_credential(headers: Headers) -> Credential | None:
    """Return the git token sent as ``Authorization: Basic``; other uses of that header are not ours.

    Raises ValueError when the header was sent twice with different values.
    """
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
    lines = (line.strip(" \t") for line in headers.get(name, "").split(wire.LINE))
    return list(dict.fromkeys(line for line in lines if line))[:_MAX_SESSION_COOKIES]


def _without_bearer(text: str) -> str:
    scheme, space, token = text.partition(" ")
    return token.strip(" ") if space and scheme.lower() == "bearer" else text


def _single(headers: Headers, name: str) -> str | None:
    """Return the value of a header that is never a list."""
    value = wire.one_value(headers, name)
    if value is not None and "," in value:
        raise ValueError(f"{name} has a comma")
    return value


def _authority(text: str | None) -> Authority | None:
    if text is None:
        return None
    authority = Authority.parse(text.encode("latin-1").decode("utf-8"))
    if authority is None:
        raise ValueError("the host is not a host name or IP literal")
    return authority


def _scheme(text: str) -> str:
    scheme = _SCHEMES.get(text.lower())
    if scheme is None:
        raise ValueError("x-forwarded-proto is not http, https, ws or wss")
    return scheme


def _method(text: str) -> str:
    letters = text.replace("-", "")
    if not (len(text) <= 32 and letters.isascii() and letters.isalpha() and letters.isupper()):
        raise ValueError("x-forwarded-method is not a method in capital letters")
    return text


def _uri(text: str) -> str:
    if "#" in text:  # one reader ends the path there, another does not
        raise ValueError("the URI has a fragment")
    if len(text) > _MAX_URI or not (text.startswith("/") or text == "*"):
        raise ValueError("x-forwarded-uri is not a path")
    return text
