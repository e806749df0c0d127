"""Check connections: is the gate asked about a WebSocket, and can the site be reached around the gate? Pure."""

from collections.abc import Iterator

from gatewall.doctor.probing import probes
from gatewall.doctor.probing.around import is_loopback
from gatewall.doctor.probing.evidence import Evidence, Seen
from gatewall.doctor.probing.findings import Finding, not_applicable, ok, unknown, wrong
from gatewall.doctor.probing.subrequest_checks import unseen
from gatewall.engine.addresses import parse_address
from gatewall.engine.special_addresses import is_public
from gatewall.proxy_config.rendering import KINDS, LIMITS_CONNECTIONS

_SITE_REFUSES = frozenset({401, 403})


def around(evidence: Evidence) -> Iterator[Finding]:
    """Check that the site does not answer a request that goes around the proxy."""
    sent = [seen for seen in evidence.seen.values() if seen.probe.at]
    if not sent:
        yield not_applicable("around-not-named")
    for seen in sent:
        yield _around(seen)


def _around(seen: Seen) -> Finding:
    name, reply = seen.probe.name, seen.reply
    values = {"at": seen.probe.at, "status": str(reply.status), "failure": reply.failure}
    if not reply.to_address:
        return ok("around-closed", name, **values)
    if seen.arrival is not None or reply.decision_id:
        return ok("around-asked", name, **values)
    if reply.status is None:
        return unknown("around-no-answer", name, **values)
    if reply.status in _SITE_REFUSES:
        return ok("around-refused", name, **values)
    if is_loopback(reply.to_address):
        return ok("around-this-machine", name, **values)
    if reply.to_address == reply.from_address:
        return unknown("around-own-address", name, **values)
    address = parse_address(reply.to_address)
    is_open = address is not None and is_public(address)
    return wrong("around-open", name, **values) if is_open else unknown("around-inside", name, **values)


def long_connections(evidence: Evidence) -> Iterator[Finding]:
    """Check that the gate is asked before a WebSocket opens, and say whether the proxy can end open connections."""
    seen = evidence.seen[probes.WEBSOCKET]
    yield unseen(seen) if seen.arrival is None else ok("socket-asked", probes.WEBSOCKET, status=str(seen.reply.status))
    if evidence.kind is not None:
        code = "connections-can-be-ended" if evidence.kind in LIMITS_CONNECTIONS else "connections-cannot-be-ended"
        yield not_applicable(code, proxy=KINDS[evidence.kind], kind=evidence.kind)
