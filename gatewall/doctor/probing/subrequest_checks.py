"""Check the subrequest: does the gate get the true client, host, method and URI, and not forged ones? Pure."""

from collections.abc import Callable, Iterator

from gatewall.doctor.probing import probes
from gatewall.doctor.probing.evidence import Arrival, Evidence, Seen
from gatewall.doctor.probing.findings import Finding, not_applicable, ok, unknown, wrong
from gatewall.doctor.probing.spelling import Spelling, compare
from gatewall.engine.addresses import parse_address
from gatewall.engine.model import Reason

_NOT_READ = frozenset({400, 414, 421, 431, 501})
"""Statuses of requests that a server cannot or will not read (RFC 9110 section 15.5, RFC 6585)."""
_MASK = "***"
_NORMALIZES_FOR_BOTH = "traefik"
"""This proxy normalizes ``//`` and dot segments for gate and site alike."""
_ForgedBy = Callable[[Evidence, Arrival], Iterator[Finding]]


def client_address(evidence: Evidence) -> Iterator[Finding]:
    """Check that the client's address arrives, and that a visitor cannot forge it."""
    base, here = evidence.base, evidence.plain.reply.from_address
    if "for" not in base.visible:
        yield wrong("client-not-told", probes.PLAIN, client=base.client)
    elif parse_address(here) == parse_address(base.client):
        yield ok("client-right", probes.PLAIN, client=base.client)
    else:
        yield unknown("client-elsewhere", probes.PLAIN, client=base.client, here=here)
    for name in (probes.FORGED_FOR, probes.FORGED_CLIENT):
        yield from _unforged(evidence, name, "client", _forged_client)


def host(evidence: Evidence) -> Iterator[Finding]:
    """Check that host and scheme arrive, and that a visitor cannot forge them."""
    base = evidence.base
    if "host" not in base.visible:
        yield wrong("host-not-told", probes.PLAIN, host=base.host or "")
    elif base.host == evidence.target.host.name:
        yield ok("host-right", probes.PLAIN, host=base.host)
    else:
        yield wrong("host-other", probes.PLAIN, host=base.host or "", asked=evidence.target.host.name)
    if base.scheme != evidence.target.scheme:
        yield wrong("scheme-other", probes.PLAIN, scheme=base.scheme, asked=evidence.target.scheme)
    yield from _unforged(evidence, probes.FORGED_HOST, "host", _forged_host)


def method(evidence: Evidence) -> Iterator[Finding]:
    """Check that the method arrives, and that a visitor cannot forge it."""
    if "method" not in evidence.base.visible:
        yield wrong("method-not-told", probes.PLAIN)
    else:
        yield from (_of_method(evidence.seen.get(name), name, sent) for name, sent in probes.METHODS.items())
    yield from _unforged(evidence, probes.FORGED_METHOD, "method", _forged_method)


def _of_method(seen: Seen | None, name: str, sent: str) -> Finding:
    if seen is None:
        return not_applicable("not-sent-to-a-site-that-lets-in", name, method=sent)
    if seen.arrival is None:
        return unseen(seen)
    if seen.arrival.method == sent:
        return ok("method-right", name, method=sent)
    return wrong("method-other", name, method=seen.arrival.method, asked=sent)


def uri(evidence: Evidence) -> Iterator[Finding]:
    """Check that path and query arrive unchanged, and that a visitor cannot forge them."""
    if "uri" not in evidence.base.visible:
        yield wrong("uri-not-told", probes.PLAIN)
    else:
        for name in (probes.PLAIN, *probes.SPELLINGS, probes.DOTS):
            seen = evidence.seen[name]
            yield unseen(seen) if seen.arrival is None else _spelled(seen, seen.arrival, evidence.kind)
    yield from _unforged(evidence, probes.FORGED_URI, "uri", _forged_uri)


def _spelled(seen: Seen, arrival: Arrival, kind: str | None) -> Finding:
    path, _, query = seen.probe.uri.partition("?")
    values = {"sent": seen.probe.uri, "arrived": arrival.path + (f"?{arrival.query}" if arrival.query else "")}
    if arrival.query not in ({query, _MASK} if query else {""}):
        return wrong("query-lost" if query else "query-added", seen.probe.name, **values)
    match compare(path, arrival.path):
        case Spelling.RAW:
            return ok("uri-raw", seen.probe.name, **values)
        case Spelling.SAME:
            return ok("uri-same", seen.probe.name, **values)
        case Spelling.RESOLVED if kind == _NORMALIZES_FOR_BOTH:
            return ok("uri-resolved-for-both", seen.probe.name, **values)
        case Spelling.RESOLVED:
            return unknown("uri-resolved", seen.probe.name, **values)
        case _:
            return wrong("uri-other", seen.probe.name, **values)


def _unforged(evidence: Evidence, name: str, what: str, forged_by: _ForgedBy) -> Iterator[Finding]:
    """Yield the effect of a probe's forged headers, as found by ``forged_by``."""
    seen = evidence.seen[name]
    if seen.arrival is None:
        yield unseen(seen)
    elif found := list(forged_by(evidence, seen.arrival)):
        yield from found
    elif seen.arrival.reason == Reason.REQUEST_MALFORMED:
        yield ok(f"{what}-forged-refused", name)
    else:
        yield ok(f"{what}-unforged", name, headers=", ".join(header for header, _ in seen.probe.headers))


def _forged_client(evidence: Evidence, arrival: Arrival) -> Iterator[Finding]:
    name = probes.FORGED_FOR if _sent(evidence, probes.FORGED_FOR, arrival) else probes.FORGED_CLIENT
    for header, forged in probes.FORGED_CLIENTS.items():
        if arrival.client == forged:
            client = parse_address(evidence.base.client)
            is_trusted = client is not None and any(client in network for network in evidence.trusted)
            appended = is_trusted and header == "X-Forwarded-For" and "for" in evidence.base.visible
            code = "client-forged-by-trusted" if appended else "client-forged"
            yield wrong(code, name, header=header, client=arrival.client)
            return
    if arrival.client != evidence.base.client and arrival.reason != Reason.REQUEST_MALFORMED:
        yield unknown("client-changed", name, client=arrival.client, before=evidence.base.client)


def _sent(evidence: Evidence, name: str, arrival: Arrival) -> bool:
    return evidence.seen[name].arrival is arrival


def _forged_host(evidence: Evidence, arrival: Arrival) -> Iterator[Finding]:
    for header, forged in probes.FORGED_HOSTS.items():
        if arrival.host == forged:
            yield wrong("host-forged", probes.FORGED_HOST, header=header, host=forged)
    if arrival.scheme != evidence.base.scheme and arrival.reason != Reason.REQUEST_MALFORMED:
        yield wrong("scheme-forged", probes.FORGED_HOST, header="X-Forwarded-Proto", scheme=arrival.scheme)


def _forged_method(_evidence: Evidence, arrival: Arrival) -> Iterator[Finding]:
    for header, forged in probes.FORGED_METHODS.items():
        if arrival.method == forged:
            yield wrong("method-forged", probes.FORGED_METHOD, header=header, method=forged)


def _forged_uri(_evidence: Evidence, arrival: Arrival) -> Iterator[Finding]:
    for header, end in probes.FORGED_URIS.items():
        if arrival.path.endswith(end):
            yield wrong("uri-forged", probes.FORGED_URI, header=header, arrived=arrival.path)


def unseen(seen: Seen) -> Finding:
    """Return the finding for a probe without a record, although the plain probe has one."""
    name, status = seen.probe.name, seen.reply.status
    if status is None:
        return unknown("no-record", name, answer=seen.reply.failure)
    if status in _NOT_READ:
        return ok("refused-by-proxy", name, status=str(status))
    if seen.reply.decision_id or status in {403, 405} or status >= 500:
        return unknown("no-record", name, answer=str(status))
    return wrong("walked-around-by", name, status=str(status), sent=f"{seen.probe.method} {seen.probe.uri}")
