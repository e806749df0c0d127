"""Probe requests: the same request with one header or path forged or malformed at a time. Pure.

A probe has no privileges. It is identified in the access log by its unguessable nonce in the user agent and usually the
path.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from gatewall.doctor.probing.target import Target

USER_AGENT = "Gatewall-Doctor/1"
FOLDER = "/gatewall-doctor"
"""Not below /.well-known, which many proxies leave open for certificates."""
PLAIN, AGAIN, PAGE = "plain", "again", "page"
FORGED_FOR, FORGED_CLIENT, FORGED_HOST, FORGED_METHOD = "forged-for", "forged-client", "forged-host", "forged-method"
FORGED_URI, FORGED_IDENTITY = "forged-uri", "forged-identity"
ATTACK, ATTACK_PAGE = "attack", "attack-page"
WEBSOCKET, AROUND = "websocket", "around"

BROWSER = ("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
FORGED_CLIENTS = {
    "X-Forwarded-For": "203.0.113.11",
    "X-Real-IP": "203.0.113.12",
    "Forwarded": "203.0.113.13",
    "True-Client-IP": "203.0.113.14",
    "X-Client-IP": "203.0.113.15",
    "CF-Connecting-IP": "203.0.113.16",
}
"""A distinct address per header (RFC 5737), so that the record shows which one the gate used."""
FORGED_HOSTS = {"X-Forwarded-Host": "forged.gatewall-doctor.invalid", "X-Host": "other.gatewall-doctor.invalid"}
FORGED_METHODS = {"X-Forwarded-Method": "PUT", "X-Original-Method": "PATCH", "X-HTTP-Method-Override": "DELETE"}
FORGED_URIS = {
    "X-Forwarded-Uri": "/forwarded-uri",
    "X-Original-URL": "/original-url",
    "X-Original-URI": "/original-uri",
    "X-Rewrite-URL": "/rewrite-url",
}
"""Suffix of the path that each header forges."""
HANDSHAKE = (
    ("Connection", "Upgrade"),
    ("Upgrade", "websocket"),
    ("Sec-WebSocket-Version", "13"),
    ("Sec-WebSocket-Key", "Z2F0ZXdhbGwtZG9jdG9yLQ=="),
)
"""RFC 6455 section 4.1; the key is any 16 bytes."""
IDENTITY = ("Remote-User", "Remote-Email", "Remote-Groups", "X-Gatewall-Subject-Kind")
METHODS = {"head": "HEAD", "post": "POST", "delete": "DELETE"}
SPELLINGS = {
    "encoded-slash": "/a%2Fb",
    "encoded-twice": "/a%252Fb",
    "two-slashes": "/a//b",
    "semicolon": "/a;b=c/d",
    "not-ascii": "/caf\u00c3\u00a9",
    "query": "/a?b=%20c&d",
}
DOTS = "dots"
DOTS_URI = "/a/..%2fb"
HIDDEN = {
    "hidden-auth": "/auth",
    "hidden-forward": "/auth/forward",
    "hidden-metrics": "/metrics",
    "hidden-recovery": "/admin-recover-2fa",
}
_ATTACK = "/refuse?doctor=union%20select%201"
"""Matches one built-in rule; together with ``DOTS`` this is below the threshold of attack detection."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A request. ``uri`` and header values are Latin-1, as sent on the wire.

    ``at``: the address and port to which it is sent, around the proxy; empty for the site's own.
    """

    name: str
    nonce: str
    uri: str
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    at: str = ""

    @property
    def user_agent(self) -> str:
        return f"{USER_AGENT} ({self.nonce})"


def first(target: Target, nonce: str) -> Probe:
    """Return the first probe; the others follow only if it reached the gate."""
    return Probe(PLAIN, nonce, _folder(target, nonce))


def others(
    target: Target, plain: Probe, new_nonce: Callable[[], str], *, root_path: str, is_let_in: bool
) -> Iterator[Probe]:
    """Yield the other probes.

    A site that lets the doctor in only gets GET and HEAD, which have no side effects.
    """
    yield Probe(AGAIN, new_nonce(), plain.uri)
    yield _probe(target, PAGE, new_nonce(), headers=(BROWSER,))
    yield _probe(target, WEBSOCKET, new_nonce(), headers=HANDSHAKE)
    yield from _forged(target, new_nonce, is_let_in=is_let_in)
    for name, method in METHODS.items():
        if method == "HEAD" or not is_let_in:
            yield _probe(target, name, new_nonce(), method=method)
    for name, rest in SPELLINGS.items():
        yield _probe(target, name, new_nonce(), rest)
    # The paths are constant, because the detectors count distinct paths of refused requests: examinations must not lead
    # to a ban.
    yield Probe(DOTS, new_nonce(), f"{target.path}{FOLDER}{DOTS_URI}")
    yield Probe(ATTACK, new_nonce(), f"{target.path}{FOLDER}{_ATTACK}")
    yield Probe(ATTACK_PAGE, new_nonce(), f"{target.path}{FOLDER}{_ATTACK}", headers=(BROWSER,))
    for name, path in HIDDEN.items():
        yield Probe(name, new_nonce(), root_path + path)


def around(target: Target, places: Iterable[str], new_nonce: Callable[[], str]) -> Iterator[Probe]:
    """Yield a probe for each place where the site may be reached around the proxy."""
    for number, place in enumerate(places, 1):
        nonce = new_nonce()
        yield Probe(f"{AROUND}-{number}", nonce, _folder(target, nonce), at=place)


def _forged(target: Target, new_nonce: Callable[[], str], *, is_let_in: bool) -> Iterator[Probe]:
    addresses = {name: f"for={value}" if name == "Forwarded" else value for name, value in FORGED_CLIENTS.items()}
    first_name, *other_names = addresses
    yield _probe(target, FORGED_FOR, new_nonce(), headers=((first_name, addresses[first_name]),))
    yield _probe(target, FORGED_CLIENT, new_nonce(), headers=tuple((name, addresses[name]) for name in other_names))
    other_scheme = "http" if target.scheme == "https" else "https"
    hosts = (*FORGED_HOSTS.items(), ("X-Forwarded-Proto", other_scheme))
    yield _probe(target, FORGED_HOST, new_nonce(), headers=hosts)
    methods = {name: value for name, value in FORGED_METHODS.items() if not is_let_in or "Override" not in name}
    yield _probe(target, FORGED_METHOD, new_nonce(), headers=tuple(methods.items()))
    nonce = new_nonce()
    uris = tuple((name, _folder(target, nonce) + end) for name, end in FORGED_URIS.items())
    yield _probe(target, FORGED_URI, nonce, headers=uris)
    yield _probe(target, FORGED_IDENTITY, new_nonce(), headers=tuple((name, "gatewall-doctor") for name in IDENTITY))


def _probe(
    target: Target,
    name: str,
    nonce: str,
    rest: str = "",
    *,
    method: str = "GET",
    headers: tuple[tuple[str, str], ...] = (),
) -> Probe:
    return Probe(name, nonce, _folder(target, nonce) + rest, method, headers)


def _folder(target: Target, nonce: str) -> str:
    return f"{target.path}{FOLDER}/{nonce}"
