"""The answer and record that requests with the same head share while their decision is settled. Pure.

docs/adr/0121-settled-decisions.md lists what a settled decision depends on.
"""

from collections.abc import Sequence

from audit.spool.records import EncodedRecord
from gatewall.engine.access_rules.table import AccessOutcome
from gatewall.engine.addresses import IPAddress
from gatewall.engine.facts import Facts
from gatewall.engine.model import Decision
from gatewall.engine.ports import RequestRate
from gatewall.engine.settled import Settled, settled
from gatewall.engine.snapshot import PolicySnapshot, SignedIdentity
from gatewall.gate.record import Parts, joined, parts_for
from gatewall.server.answer_bytes import Answer, Unsendable, wire_of

_MOST = 4
"""Maximum number of answers kept per head: one for each access rule that decides its requests."""
_IDS = ("X-Gatewall-Decision-Id", "X-Request-Id")


class SettledAnswer:
    """An answer without its decision id, and its record without id, time, URI and latency."""

    __slots__ = ("_headers", "_parts", "_status", "_wire", "settled")

    def __init__(self, settled: Settled, given: Answer, wire: list[bytes], parts: Parts) -> None:
        """``wire``: the bytes of the answer around its two decision ids."""
        self.settled = settled
        self._status = given.status
        self._headers = given.headers[len(_IDS) :]
        self._wire = wire
        self._parts = parts

    def answer(self, decision_id: str) -> Answer:
        """Return the answer with this decision id."""
        first, second = _IDS
        headers = ((first, decision_id), (second, decision_id), *self._headers)
        return Answer(self._status, headers, b"", decision_id.encode().join(self._wire))

    def record(
        self, policy: PolicySnapshot, *, decision_id: str, at: float, uri: str, answered_at: float
    ) -> EncodedRecord:
        """Return the record of the answer."""
        return joined(self._parts, policy, decision_id=decision_id, at=at, uri=uri, answered_at=answered_at)


def settle(facts: Facts, decision: Decision, given: Answer, decision_id: str) -> None:
    """Store an answer, whose record was written, with the head of its request, if its decision is settled."""
    shared, policy = facts.request.shared, facts.policy
    if shared is None or given.body or policy.settings.signed_identity is not SignedIdentity.OFF:
        return
    found = settled(facts, decision)
    parts = None if found is None else parts_for(shared, decision, policy, given.status)
    if found is None or parts is None:
        return
    alike = [each for each in shared.answers if each.settled.is_like(found)]
    if any(each.settled.access == found.access for each in alike):
        return
    try:
        wire = wire_of(given).split(decision_id.encode())
    except Unsendable:
        return
    if len(wire) == len(_IDS) + 1 and given.headers[: len(_IDS)] == tuple([(name, decision_id) for name in _IDS]):
        shared.answers = (*alike[1 - _MOST :], SettledAnswer(found, given, wire, parts))


def with_access(answers: Sequence[SettledAnswer], access: AccessOutcome | None) -> SettledAnswer | None:
    """Return the answer whose decision has this access outcome, or None."""
    return next((each for each in answers if each.settled.access == access), None)


class Begun:
    """State of a request that ``Gate.check`` must decide after all: it was counted, and its record may be lost.

    It serves as the rate port, which must not count the request again.
    """

    def __init__(self, decision_id: str, rates: RequestRate, seconds: int, *, is_lost: bool = False) -> None:
        self.decision_id = decision_id
        self._rates = rates
        self._seconds = seconds
        self.is_lost = is_lost

    def seconds_over(self, client: IPAddress, limit_per_minute: int, at: float, rule_id: int | None = None) -> int:
        if rule_id is None:
            return self._seconds
        return self._rates.seconds_over(client, limit_per_minute, at, rule_id)  # of a policy loaded in between
