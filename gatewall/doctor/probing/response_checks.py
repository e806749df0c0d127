"""Check the response: does the proxy ask the gate, and do its 401 and 403 reach the visitor unchanged? Pure."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from gatewall.doctor.probing import probes
from gatewall.doctor.probing.evidence import Arrival, Evidence, Reply, Seen
from gatewall.doctor.probing.findings import Finding, not_applicable, ok, unknown, wrong
from gatewall.engine.model import Reason

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_REDIRECTS_PROGRAMS = "ingress-nginx"
"""This proxy also redirects programs to the guard page, and answers 403 for hidden paths; neither can be configured."""


def subrequest_made(evidence: Evidence) -> Iterator[Finding]:
    """Check whether the plain probe reached the gate."""
    seen, reply = evidence.plain, evidence.plain.reply
    if seen.arrival is not None:
        yield ok("asked", probes.PLAIN, decision=seen.arrival.decision_id, reason=seen.arrival.reason)
    elif reply.status is None:
        yield unknown("not-reached", probes.PLAIN, failure=reply.failure)
    elif reply.decision_id:
        yield unknown("log-late", probes.PLAIN, decision=reply.decision_id)
    elif reply.status in _REDIRECTS:
        yield unknown("redirected", probes.PLAIN, status=str(reply.status), location=reply.header("location"))
    elif reply.status >= 500:
        yield unknown("proxy-failed", probes.PLAIN, status=str(reply.status))
    else:
        yield wrong("walked-around", probes.PLAIN, status=str(reply.status))


def trusted_peer(evidence: Evidence) -> Iterator[Finding]:
    """Check whether the gate trusts the proxy, and report recent untrusted peers."""
    base = evidence.base
    if base.visible.isdisjoint({"for", "host", "proto", "method", "uri"}):
        yield wrong("peer-not-believed", probes.PLAIN, peer=base.client)
    else:
        yield ok("peer-believed", probes.PLAIN)
    if evidence.untrusted:
        yield unknown("untrusted-seen", peers=", ".join(evidence.untrusted))


def sign_in(evidence: Evidence) -> Iterator[Finding]:
    """Check that a visitor who is not signed in gets 401 or a redirect to the guard page."""
    for name, judge in ((probes.PLAIN, _program), (probes.PAGE, _page)):
        seen = evidence.seen[name]
        if seen.arrival is None:
            yield unknown("no-record", name, answer=seen.reply.failure or str(seen.reply.status))
        elif seen.arrival.reason == Reason.CANNOT_DECIDE:
            yield unknown("cannot-decide", name)
        elif seen.arrival.reason != Reason.CREDENTIAL_MISSING:
            yield not_applicable("not-asked-to-sign-in", name, reason=seen.arrival.reason)
        else:
            yield judge(evidence, seen.reply)


def _program(evidence: Evidence, reply: Reply) -> Finding:
    if reply.status == 401:
        has_challenge = bool(reply.header("www-authenticate"))
        return ok("program-401", probes.PLAIN) if has_challenge else wrong("challenge-missing", probes.PLAIN)
    if reply.status in _REDIRECTS and evidence.kind == _REDIRECTS_PROGRAMS and _leads_to_guard(evidence, reply):
        return ok("program-sent-on", probes.PLAIN, status=str(reply.status))
    return wrong("program-other", probes.PLAIN, status=_status(reply))


def _page(evidence: Evidence, reply: Reply) -> Finding:
    if reply.status not in _REDIRECTS:
        return wrong("page-not-redirected", probes.PAGE, status=_status(reply))
    if not _leads_to_guard(evidence, reply):
        return wrong("page-redirected-elsewhere", probes.PAGE, location=reply.header("location"))
    return ok("page-to-guard", probes.PAGE, location=reply.header("location"))


def _leads_to_guard(evidence: Evidence, reply: Reply) -> bool:
    try:
        return urlsplit(reply.header("location")).path.rstrip("/") == evidence.root_path
    except ValueError:
        return False


def refusal(evidence: Evidence) -> Iterator[Finding]:
    """Check that a refusal reaches the visitor as 403, with its decision id."""
    for name in (probes.ATTACK, probes.ATTACK_PAGE):
        seen = evidence.seen[name]
        arrival = seen.arrival
        if arrival is None:
            yield unknown("no-record", name, answer=_status(seen.reply))
        elif arrival.status != 403:
            yield not_applicable("attack-not-refused", name, reason=arrival.reason, status=str(arrival.status))
        elif seen.reply.status != 403:
            yield wrong("refusal-other", name, status=_status(seen.reply))
        else:
            yield _with_decision_id(name, seen.reply, arrival)


def _with_decision_id(name: str, reply: Reply, arrival: Arrival) -> Finding:
    told = reply.header("x-gatewall-decision-id")
    if not told:
        return wrong("refusal-without-number", name, decision=arrival.decision_id)
    if told != arrival.decision_id:
        return wrong("refusal-other-number", name, told=told, decision=arrival.decision_id)
    return ok("refusal-403", name, decision=told, reason=arrival.reason)


def hidden(evidence: Evidence) -> Iterator[Finding]:
    """Check that internal paths are hidden."""
    for name in probes.HIDDEN:
        yield _hidden(evidence, evidence.seen[name])


def _hidden(evidence: Evidence, seen: Seen) -> Finding:
    values = {"path": seen.probe.uri, "status": _status(seen.reply)}
    status = seen.reply.status
    if status is None:
        return unknown("no-answer", seen.probe.name, **values)
    is_gone = status == 404 or (status == 403 and evidence.kind == _REDIRECTS_PROGRAMS)
    if is_gone and not seen.reply.header("x-gatewall-reason"):
        return ok("is-hidden", seen.probe.name, **values)
    if seen.arrival is None:
        return wrong("not-hidden", seen.probe.name, **values)
    if seen.probe.name in {"hidden-auth", "hidden-forward"}:
        # A subrequest about this path and a visitor's own request to this path have the same record.
        return unknown("perhaps-not-hidden", seen.probe.name, **values)
    return ok("path-of-the-site", seen.probe.name, **values)


def identity(evidence: Evidence) -> Iterator[Finding]:
    """Check whether the gate accepted a forged identity header, as far as visible from outside."""
    arrival = evidence.seen[probes.FORGED_IDENTITY].arrival
    if arrival is not None and arrival.subject_kind is not None:
        yield wrong("identity-believed", probes.FORGED_IDENTITY, subject=arrival.subject_kind)
    else:
        yield not_applicable("identity-not-seen-from-outside", probes.FORGED_IDENTITY)


def not_cached(evidence: Evidence) -> Iterator[Finding]:
    """Check that the gate is asked for every request, and that refusals are not cached."""
    again = evidence.seen[probes.AGAIN]
    if again.arrival is not None:
        yield ok("asked-again", probes.AGAIN)
    elif again.reply.status is None:
        yield unknown("no-answer", probes.AGAIN, path=again.probe.uri, status=again.reply.failure)
    elif again.reply.decision_id not in {"", evidence.base.decision_id}:
        yield unknown("no-record", probes.AGAIN, answer=str(again.reply.status))
    else:
        yield wrong("remembered", probes.AGAIN, status=str(again.reply.status))
    for name in (probes.PLAIN, probes.PAGE, probes.ATTACK):
        seen = evidence.seen[name]
        if seen.arrival is not None and seen.arrival.status != 200 and _is_cacheable(seen.reply):
            yield wrong("may-be-kept", name, cache_control=seen.reply.header("cache-control"))


def _is_cacheable(reply: Reply) -> bool:
    """Return whether a cache may store the refusal."""
    found = {part.strip().partition("=")[0].lower() for part in reply.header("cache-control").split(",")}
    return bool(found & {"public", "max-age", "s-maxage"}) and not found & {"no-store", "private", "no-cache"}


def _status(reply: Reply) -> str:
    return reply.failure if reply.status is None else str(reply.status)
