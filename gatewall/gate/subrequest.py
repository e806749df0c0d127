"""Parse a proxy's subrequest (auth_request, forward auth, ext_authz) into an ``AccessRequest``. Pure; never raises.

One function per dialect, and each reads exactly one family of headers: most bypasses of gateways were a second
family, read as a fallback (docs/security.md).
"""

from collections.abc import Callable
from dataclasses import field, replace
from functools import lru_cache

from gatewall.engine.addresses import IPAddress
from gatewall.engine.hosts import Authority
from gatewall.engine.messages import Refused
from gatewall.engine.messages import gettext_noop as _
from gatewall.engine.model import AccessRequest
from gatewall.engine.values import value
from gatewall.gate import bodies
from gatewall.gate import headers as wire
from gatewall.gate.bodies import Body
from gatewall.gate.credentials import OWN_COOKIES, credentials_of, holds_app_token, site_credentials
from gatewall.gate.headers import Headers
from gatewall.gate.meaning import Meaning
from gatewall.kernel.clientip import ForwardedForMalformed, TrustedProxies, client_address, peer_or_unknown

_UNSHOWN_HEADERS = frozenset(
    {"service-authorization", "service-git-token", "service-license", "authorization", "cookie", "proxy-authorization"}
)
_SCHEMES = {"http": "http", "https": "https", "ws": "http", "wss": "https"}
_FORWARDED = "x-forwarded-"
_PARTIAL = "x-envoy-auth-partial-body"
"""Envoy sets it when a body exceeds ``max_request_bytes``; a visitor who sends it gains nothing."""
_USUAL_NAMES = frozenset(wire.USUAL_NAMES.values())
_USUALLY_SHOWN = frozenset(
    {name for name in _USUAL_NAMES if name not in _UNSHOWN_HEADERS and not name.startswith(_FORWARDED)}
)
_USUAL_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_AUTH_HEADERS = tuple(_FORWARDED + name for name in ("for", "host", "proto", "method", "uri"))
_FORWARD_REQUIRED = tuple(_FORWARDED + name for name in ("for", "host", "method", "uri"))


@value
class Subrequest:
    """A proxy's subrequest as received; its repr omits headers and target, which contain credentials.

    ``peer`` is "" for a unix socket; ``scheme`` is that of the connection. ``method`` and ``target`` (after the prefix)
    matter for Envoy only. ``body`` is the visitor's, where the dialect passes it on.
    """

    peer: str
    scheme: str
    headers: Headers = field(repr=False)
    method: str = "GET"
    target: str = field(default="/", repr=False)
    body: Body | None = None
    meaning: Meaning | None = field(default=None, repr=False)
    """The memo of the known head of the header lines, if any."""


def auth(subrequest: Subrequest, trusted: TrustedProxies, at: float) -> AccessRequest:
    """Parse a subrequest to ``GET /auth``; if it is malformed, ``fault`` of the result says why."""
    return _parsed(_forwarded, subrequest, trusted, at)


def forward(subrequest: Subrequest, trusted: TrustedProxies, at: float) -> AccessRequest:
    """Parse a subrequest to ``/auth/forward``: the headers of ``/auth``, none of which may be missing."""
    return _parsed(_completely_forwarded, subrequest, trusted, at)


def original_url(subrequest: Subrequest, trusted: TrustedProxies, at: float) -> AccessRequest:
    """Parse a subrequest to ``/auth/original-url``: ``X-Original-URL`` of ingress-nginx."""
    return _parsed(_original, subrequest, trusted, at)


def envoy(subrequest: Subrequest, trusted: TrustedProxies, at: float) -> AccessRequest:
    """Parse a subrequest to ``/auth/envoy/*``: the request line itself, after the prefix."""
    return _parsed(_request_line, subrequest, trusted, at)


@value
class _Target:
    """The visitor's request by the dialect's headers; ``visible`` names the parts that were sent."""

    authority: Authority | None
    scheme: str
    method: str = "GET"
    uri: str = "/"
    visible: frozenset[str] = frozenset()
    allowlist_applies: bool = True


Reading = Callable[[Subrequest], _Target]


def _parsed(reading: Reading, subrequest: Subrequest, trusted: TrustedProxies, at: float) -> AccessRequest:
    meaning = subrequest.meaning
    if meaning is not None and subrequest.body is None and (known := meaning.again(subrequest.headers, at)) is not None:
        return known
    headers, cookies = subrequest.headers, wire.cookies(subrequest.headers)
    foreign = _foreign_cookies(cookies)
    shown = _shown(headers, foreign)
    client, target = peer_or_unknown(subrequest.peer), _Target(None, subrequest.scheme)
    try:
        is_trusted = trusted.trusts_peer(subrequest.peer)
        # Forwarding headers of an untrusted peer are ignored.
        client = client_address(subrequest.peer, headers.get("x-forwarded-for") if is_trusted else None, trusted)
        target = reading(subrequest) if is_trusted else _direct_target(subrequest)
        request = AccessRequest(
            at=at,
            client=client,
            authority=target.authority,
            scheme=target.scheme,
            method=target.method,
            uri=target.uri,
            headers=shown,
            cookies=foreign,
            credentials=credentials_of(headers, cookies),
            allowlist_applies=target.allowlist_applies,
            visible=target.visible | {"headers"},
            site_credentials=site_credentials(headers),
        )
        if meaning is not None and is_trusted:  # an untrusted peer's headers are ignored, not kept
            meaning.keep(request)
        return request if subrequest.body is None else _with_body(request, subrequest.body, headers)
    except ForwardedForMalformed as error:
        fault = f"X-Forwarded-For: {error}"
    except Refused as error:
        fault = error.message
    except ValueError as error:
        fault = str(error)
    return _malformed(target, at, client, shown, fault)


def _malformed(
    target: _Target, at: float, client: IPAddress, shown: tuple[tuple[str, str], ...], fault: str
) -> AccessRequest:
    """Return a request that will be refused, with the headers that decide whether the answer is a page."""
    # Fields repeated from _parsed: passing them by ** costs more than building the request.
    return AccessRequest(
        at=at,
        client=client,
        authority=target.authority,
        scheme=target.scheme,
        method=target.method,
        uri=target.uri,
        headers=shown,
        allowlist_applies=target.allowlist_applies,
        visible=target.visible,
        fault=fault,
    )


def _direct_target(subrequest: Subrequest) -> _Target:
    return _Target(_authority(wire.one_value(subrequest.headers, "host")), subrequest.scheme)


def _forwarded(subrequest: Subrequest) -> _Target:
    headers = subrequest.headers
    sent = frozenset([name for name in _AUTH_HEADERS if name in headers])
    host = _single(headers, "x-forwarded-host")
    proto = _single(headers, "x-forwarded-proto")
    method = _single(headers, "x-forwarded-method")
    uri = wire.one_value(headers, "x-forwarded-uri")
    authority = _authority(host if host is not None else wire.one_value(headers, "host"))
    if sent and authority is None:
        raise Refused(_("no host was sent"))  # else a client could bypass a denied domain by omitting its name
    names_client = bool(headers.get("x-forwarded-for", "").strip(", \t\n"))
    shown = sent if names_client else sent - {"x-forwarded-for"}
    return _Target(
        # If a proxy forwards a host but no client address, the client is the peer, which is the proxy: the IP
        # allowlist must not let it in.
        allowlist_applies=names_client or not sent,
        authority=authority,
        scheme=_scheme(proto) if proto is not None else subrequest.scheme,
        method=_method(method) if method is not None else "GET",
        uri=wire.checked_uri(uri) if uri is not None else "/",
        visible=_visible(shown),
    )


@lru_cache(64)  # few combinations of five names
def _visible(sent: frozenset[str]) -> frozenset[str]:
    return frozenset([name.removeprefix(_FORWARDED) for name in sent])


def _completely_forwarded(subrequest: Subrequest) -> _Target:
    _require(subrequest.headers, _FORWARD_REQUIRED)
    return _forwarded(subrequest)


def _original(subrequest: Subrequest) -> _Target:
    headers = subrequest.headers
    _require(headers, ("x-forwarded-for", "x-original-url", "x-original-method"))
    url = wire.one_value(headers, "x-original-url") or ""
    scheme, separator, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    if not (separator and authority and slash):
        raise Refused(_("x-original-url is not an absolute URL"))
    return _Target(
        authority=_authority(authority),
        scheme=_scheme(scheme),
        method=_method(_single(headers, "x-original-method") or ""),
        uri=wire.checked_uri(f"/{path}"),
        visible=frozenset({"for", "host", "proto", "method", "uri"}),
    )


def _request_line(subrequest: Subrequest) -> _Target:
    headers = subrequest.headers
    _require(headers, ("x-forwarded-for", "host"))
    proto = _single(headers, "x-forwarded-proto")
    if not wire.is_printable(subrequest.target):
        raise Refused(_("the request line has a control byte"))
    return _Target(
        authority=_authority(_single(headers, "host")),
        scheme=_scheme(proto) if proto is not None else subrequest.scheme,
        method=_method(subrequest.method),
        uri=wire.checked_uri(subrequest.target),
        visible=frozenset({"for", "host", "method", "uri"} | ({"proto"} if proto is not None else set())),
    )


def _require(headers: Headers, names: tuple[str, ...]) -> None:
    """Raise Refused if a header that this dialect requires is missing."""
    for name in names:
        if not headers.get(name, "").strip(", \t\n"):  # an empty list counts as missing
            raise Refused(_("%(name)s is missing"), name=name)


def _with_body(request: AccessRequest, sent: Body, headers: Headers) -> AccessRequest:
    """Add the body that the proxy passed on, decompressed."""
    body = bodies.unpacked(sent, headers.get("content-encoding", "").replace(wire.LINE, ","))
    whole = body.whole and headers.get(_PARTIAL, "false") == "false"
    return replace(request, body=body.data, body_is_whole=whole, visible=request.visible | {"body"})


def _shown(headers: Headers, foreign: wire.Cookies) -> tuple[tuple[str, str], ...]:
    """Return the visitor's headers without our credentials and the proxy's additions."""
    if headers.keys() <= _USUAL_NAMES and wire.LINE not in "".join(headers.values()):
        shown = [each for each in headers.items() if each[0] in _USUALLY_SHOWN]
    else:
        shown = _unusually_shown(headers)
    if foreign:
        shown.append(("cookie", "; ".join([f"{name}={value}" if name else value for name, value in foreign])))
    return tuple(shown)


def _unusually_shown(headers: Headers) -> list[tuple[str, str]]:
    """Return the visitor's headers without cookies, also for unusual names and repeated lines."""
    return [
        (name, value.replace(wire.LINE, ", ") if wire.LINE in value else value)
        for name, value in headers.items()
        if name in _USUALLY_SHOWN
        or (name not in _UNSHOWN_HEADERS and not name.startswith(_FORWARDED) and not holds_app_token(name, value))
    ]


def _foreign_cookies(all_cookies: wire.Cookies) -> wire.Cookies:
    return tuple([each for each in all_cookies if each[0] not in OWN_COOKIES])


def _single(headers: Headers, name: str) -> str | None:
    """Return the value of a header that is never a list. Raises Refused."""
    value = headers.get(name)
    if value is None or value.isalnum():
        return value
    value = wire.one_value(headers, name)
    if value is not None and "," in value:
        raise Refused(_("%(name)s has a comma"), name=name)
    return value


@lru_cache(256)  # a gateway has few hosts; exceptions are not cached
def _authority(text: str | None) -> Authority | None:
    if text is None:
        return None
    authority = Authority.parse(text.encode("latin-1").decode("utf-8"))
    if authority is None:
        raise Refused(_("the host is not a host name or IP literal"))
    return authority


def _scheme(text: str) -> str:
    scheme = _SCHEMES.get(text.lower())
    if scheme is None:
        raise Refused(_("x-forwarded-proto is not http, https, ws or wss"))
    return scheme


def _method(text: str) -> str:
    if text in _USUAL_METHODS:
        return text
    letters = text.replace("-", "")
    if not (len(text) <= 32 and letters.isascii() and letters.isalpha() and letters.isupper()):
        raise Refused(_("x-forwarded-method is not a method in capital letters"))
    return text
