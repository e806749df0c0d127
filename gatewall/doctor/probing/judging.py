"""All checks in display order, and the verdict of each. Pure."""

from collections.abc import Callable, Iterator

from gatewall.doctor.probing import answering, arriving
from gatewall.doctor.probing.evidence import Evidence
from gatewall.doctor.probing.findings import Finding, Result, unknown

ASKED = "asked"
CHECKS: dict[str, Callable[[Evidence], Iterator[Finding]]] = {
    ASKED: answering.asked,
    "trusted-peer": answering.trusted,
    "client-address": arriving.client_address,
    "host": arriving.host,
    "method": arriving.method,
    "uri": arriving.uri,
    "identity": answering.identity,
    "sign-in": answering.sign_in,
    "refusal": answering.refusal,
    "hidden": answering.hidden,
    "asked-every-time": answering.every_time,
}


def judge(evidence: Evidence) -> list[Result]:
    """Return the result of every check; if nothing reached the gate, only the first one is meaningful."""
    if evidence.plain.arrival is None:
        first = Result(ASKED, tuple(answering.asked(evidence)))
        return [first, *(Result(name, (unknown("nothing-arrived"),)) for name in CHECKS if name != ASKED)]
    return [Result(name, tuple(check(evidence))) for name, check in CHECKS.items()]
