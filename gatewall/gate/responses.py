"""Build the HTTP response of a decision: status, headers, and a page for browsers. Pure."""

import uuid
from dataclasses import dataclass, replace
from html import escape
from urllib.parse import quote_from_bytes

from gatewall.engine.grants import LIFTED_BY_GRANTS
from gatewall.engine.hosts import Host
from gatewall.engine.model import AccessRequest, CredentialKind, Decision, Effect, SubjectKind
from gatewall.engine.snapshot import PolicySnapshot
from gatewall.gate.identity import identity_headers, renamed
from gatewall.kernel.cookie_domain import guard_url
from gatewall.server.answer_bytes import Answer

_GIT_SERVICES = ("/info/refs?service=git-upload-pack", "/info/refs?service=git-receive-pack")
_GIT_ENDPOINTS = ("/git-upload-pack", "/git-receive-pack")
_ALWAYS = (("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"))
_WEBDAV_METHODS = frozenset(
    {"PROPFIND", "PROPPATCH", "REPORT", "MKCOL", "MKCALENDAR", "COPY", "MOVE", "LOCK", "UNLOCK"}
)
"""RFC 4918, 3253 and 4791. A browser sends these, and would prompt for a password, only for a page's script."""
_BASIC = (CredentialKind.GIT_BASIC, CredentialKind.APP_BASIC)
_MAX_RETURN_URL = 2_000
"""Proxies buffer response headers: nginx 4 KiB or 8 KiB by default."""
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>%(title)s</title></head>
<body><main><h1>%(title)s</h1><p>%(words)s</p><p><code>%(decision_id)s</code></p>%(ask)s</main></body></html>
"""
_ASK = '\n<p><a href="%s">Ask for access</a></p>'
_DENIED = {
    "title": "Access denied",
    "words": "This site does not let your request in. If you think that is a mistake,\n"
    "give the site's operator this number:",
}
_UNDECIDED = {
    "title": "Try again",
    "words": "This site cannot check your access right now. Wait a moment and load the page again.\n"
    "If that does not help, give the site's operator this number:",
}
_PAGE_CSP = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


def not_allowed() -> Answer:
    """Return the 405 response for a method that an endpoint does not support."""
    return plain(405, ("Allow", "GET, HEAD"))


def plain(status: int, *headers: tuple[str, str], body: bytes = b"") -> Answer:
    """Return a response without a decision, with the headers that every response has."""
    return Answer(status, (*headers, ("X-Request-Id", str(uuid.uuid4())), *_ALWAYS), body)


@dataclass(frozen=True, slots=True)
class GuardPage:
    """URL of the sign-in page: ``root_path`` below a public URL, or below the requested site.

    ``others`` are further public URLs, for sites under other parent domains, which no cookie of the first one reaches.
    """

    root_path: str
    public_url: str | None = None
    others: tuple[str, ...] = ()

    def location(self, request: AccessRequest, policy: PolicySnapshot) -> str:
        """Return the sign-in URL for this request.

        Neither it nor the return URL (``rd``) ever contains an unregistered host: the visitor chooses the Host header.
        """
        site = None
        if request.authority and policy.domains.match(request.host):
            site = f"{request.scheme}://{request.authority}"
        if site is None or request.host is None:
            return f"{self.public_url or ''}{self.root_path}/"
        page = f"{self._home(request.host) or site}{self.root_path}/"
        return f"{page}?rd={_return_url(site, request.uri)}"

    def _home(self, host: Host) -> str | None:
        return guard_url((self.public_url, *self.others), host.name) if self.public_url else None


def _return_url(site: str, uri: str) -> str:
    """Return the percent-encoded return URL; one that is too long loses its query, then its path."""
    root = quote_from_bytes(f"{site}/".encode(), safe="")
    if not uri.startswith("/"):
        return root
    for part in (uri, uri.partition("?")[0]):
        encoded = quote_from_bytes((site + part).encode("latin-1"), safe="")
        if len(encoded) <= _MAX_RETURN_URL:
            return encoded
    return root


def answer(
    decision: Decision, request: AccessRequest | None, policy: PolicySnapshot | None, guard: GuardPage, decision_id: str
) -> Answer:
    """Build the response of a decision; request and policy are None if unknown."""
    headers = [
        ("X-Gatewall-Decision-Id", decision_id),
        ("X-Request-Id", decision_id),
        ("X-Gatewall-Reason", str(decision.reason)),
        *_ALWAYS,
    ]
    match decision.effect:
        case Effect.ALLOW:
            identity = identity_headers(decision)
            if policy is not None and policy.domains.has_own_headers and request is not None:
                domain = policy.domains.match(request.host)
                identity = identity if domain is None else renamed(identity, domain)
            headers += identity
        case Effect.CHALLENGE if request is not None and policy is not None:
            scheme = "Basic" if _understands_basic(request) else "Gatewall"  # RFC 9110 section 11.6.1
            headers.append(("WWW-Authenticate", f'{scheme} realm="Gatewall"'))
            headers.append(("Location", guard.location(request, policy)))
        case Effect.ERROR:
            headers.append(("Retry-After", "1"))
        case _:
            if decision.verdict.retry_after_seconds:
                headers.append(("Retry-After", str(decision.verdict.retry_after_seconds)))
    return Answer(decision.effect.status, tuple(headers))


def for_browser(
    given: Answer,
    decision: Decision,
    request: AccessRequest,
    policy: PolicySnapshot | None,
    guard: GuardPage,
    decision_id: str,
) -> Answer:
    """Adapt a response that proxies pass on to a browser unchanged (Traefik, Caddy, HAProxy, Envoy).

    A challenge becomes a redirect to the sign-in page; a refusal and "cannot decide" get an HTML page, with a link to
    ask for access where a grant may lift the refusal. Scripts, API clients and WebSockets get the plain status.
    """
    if not is_navigation(request):
        return given
    if given.status == Effect.CHALLENGE.status:
        # RFC 9110 section 15.4: 303 turns any method into GET, 302 leaves it to the browser.
        return replace(given, status=302 if request.method in {"GET", "HEAD"} else 303)
    words = {Effect.DENY.status: _DENIED, Effect.ERROR.status: _UNDECIDED}.get(given.status)
    if words is None:
        return given
    ask = ""
    is_user = decision.subject is not None and decision.subject.kind is SubjectKind.USER
    if is_user and policy is not None and decision.reason in LIFTED_BY_GRANTS:
        home, mark, query = guard.location(request, policy).partition("?")
        ask = _ASK % escape(f"{home}ask/{decision_id}{mark}{query}")
    page = (_PAGE % {**words, "decision_id": decision_id, "ask": ask}).encode()
    kind = ("Content-Type", "text/html; charset=utf-8")
    return replace(given, headers=(*given.headers, kind, ("Content-Security-Policy", _PAGE_CSP)), body=page)


def is_navigation(request: AccessRequest) -> bool:
    """True if a browser navigates to a page: by Fetch Metadata or, without it, by ``Accept``."""
    mode = request.header("sec-fetch-mode")
    if mode and mode != "navigate":
        return False
    if request.header("x-requested-with").lower() == "xmlhttprequest":
        return False
    if request.header("upgrade") or request.header("sec-websocket-key"):  # many proxies drop Upgrade
        return False
    return "text/html" in request.header("accept").lower()


def _understands_basic(request: AccessRequest) -> bool:
    """True for git, for WebDAV and CalDAV clients other than scripts of pages, and for clients that sent Basic."""
    path, _, query = request.uri.partition("?")
    return (
        request.header("user-agent").startswith("git/")
        or path.endswith(_GIT_ENDPOINTS)
        or f"{path}?{query}".endswith(_GIT_SERVICES)
        or (request.method in _WEBDAV_METHODS and not request.header("sec-fetch-mode"))
        or any(credential.kind in _BASIC for credential in request.credentials)
    )
