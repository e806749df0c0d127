"""All checks in display order, and the verdict of each. Pure."""

from collections.abc import Callable, Iterator

from gatewall.doctor.probing import connection_checks, response_checks, subrequest_checks
from gatewall.doctor.probing.evidence import Evidence
from gatewall.doctor.probing.findings import Finding, Result, unknown

ASKED = "asked"
CHECKS: dict[str, Callable[[Evidence], Iterator[Finding]]] = {
    ASKED: response_checks.subrequest_made,
    "trusted-peer": response_checks.trusted_peer,
    "client-address": subrequest_checks.client_address,
    "host": subrequest_checks.host,
    "method": subrequest_checks.method,
    "uri": subrequest_checks.uri,
    "identity": response_checks.identity,
    "sign-in": response_checks.sign_in,
    "refusal": response_checks.refusal,
    "hidden": response_checks.hidden,
    "asked-every-time": response_checks.not_cached,
    "connections": connection_checks.long_connections,
    "around": connection_checks.around,
}


def judge(evidence: Evidence) -> list[Result]:
    """Return the result of every check; if nothing reached the gate, only the first one is meaningful."""
    if evidence.plain.arrival is None:
        first = Result(ASKED, tuple(response_checks.subrequest_made(evidence)))
        return [first, *(Result(name, (unknown("nothing-arrived"),)) for name in CHECKS if name != ASKED)]
    return [Result(name, tuple(check(evidence))) for name, check in CHECKS.items()]
