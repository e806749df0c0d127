"""Evidence of the doctor about a correct proxy, with single changes."""

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

from gatewall.doctor.probing import probes
from gatewall.doctor.probing.evidence import Arrival, Evidence, Reply, Seen
from gatewall.doctor.probing.probes import Probe
from gatewall.doctor.probing.target import Target
from gatewall.kernel.clientip import TrustedProxies

SITE = Target.parse("http://office.example/")
HERE = "198.51.100.7"
NUMBER = "018f0000-0000-7000-8000-000000000001"
TOLD = frozenset({"for", "host", "proto", "method", "uri", "headers"})
LOOPBACK = TrustedProxies.parse(["127.0.0.0/8"]).networks
Change = Callable[[Seen], Seen]


def all_probes(*, is_let_in: bool = False, run: str = "0" * 32) -> list[Probe]:
    """Return all probes of one examination."""
    numbers = (f"{run}{number:02d}" for number in count())
    plain = probes.first(SITE, next(numbers))
    rest = probes.others(SITE, plain, lambda: next(numbers), root_path="/wall", is_let_in=is_let_in)
    return [plain, *rest]


def right(probe: Probe) -> Seen:
    """Return the evidence of a probe through a correct proxy."""
    if probe.name in probes.HIDDEN:
        return Seen(probe, Reply(404, {}, HERE))
    path, _, query = probe.uri.partition("?")
    is_attack = probe.name in {probes.ATTACK, probes.ATTACK_PAGE, probes.DOTS}
    status, reason = (403, "waf-rule") if is_attack else (401, "credential-missing")
    arrival = Arrival(
        NUMBER, HERE, "office.example", probe.method, "http", path, "***" if query else "", status, reason, TOLD
    )
    headers = {"x-gatewall-decision-id": NUMBER, "cache-control": "no-store"}
    if probe.name == probes.PAGE:
        return Seen(probe, Reply(302, headers | {"location": "http://office.example/wall/?rd=x"}, HERE), arrival)
    challenge = {} if is_attack else {"www-authenticate": 'Gatewall realm="Gatewall"'}
    return Seen(probe, Reply(status, headers | challenge, HERE), arrival)


def evidence(
    kind: str | None = None, *, forged_for: str = "", changes: dict[str, Change] | None = None, **more
) -> Evidence:
    """Return evidence about a correct proxy, with the results of these probes changed."""
    changed = dict(changes or {})
    if forged_for:
        changed[probes.FORGED_FOR] = arrived(client=forged_for)
    seen = {probe.name: changed.get(probe.name, lambda found: found)(right(probe)) for probe in all_probes()}
    return Evidence(SITE, seen, "/wall", kind, LOOPBACK, **more)


def everywhere(**values) -> dict[str, Change]:
    """Return changes that give every record these values."""
    return {probe.name: arrived(**values) for probe in all_probes() if probe.name not in probes.HIDDEN}


def arrived(**values) -> Change:
    """Return a change of the record."""

    def change(seen: Any) -> Any:
        return replace(seen, arrival=replace(seen.arrival, **values))

    return change


def answered(status: int | None = None, **headers) -> Change:
    """Return a change of the answer: its status, and headers (None takes one away)."""

    def change(seen: Seen) -> Seen:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        kept = {name: value for name, value in (dict(seen.reply.headers) | named).items() if value is not None}
        return replace(seen, reply=replace(seen.reply, status=status or seen.reply.status, headers=kept))

    return change


def unrecorded(status: int | None = 200, **headers) -> Change:
    """Return a change after which the gate has no record of the probe."""
    return lambda seen: Seen(seen.probe, Reply(status, headers, HERE, "" if status else "no answer in time"))
