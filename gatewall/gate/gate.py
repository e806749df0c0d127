"""The gate: answer a proxy's subrequest and record the decision, on both planes. Never raises."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from audit.spool.records import AccessRecord, EncodedRecord
from gatewall.engine.evaluate import CANNOT_DECIDE, decide
from gatewall.engine.facts import Facts
from gatewall.engine.model import AccessRequest, Decision, Effect
from gatewall.engine.ports import Ports
from gatewall.engine.snapshot import AuditMode, EnforcementMode, PolicySnapshot, SignedIdentity, StalePolicy
from gatewall.gate.credentials import site_headers
from gatewall.gate.decision_id import new_decision_id
from gatewall.gate.meaning import Meaning
from gatewall.gate.record import record_again, record_of_new
from gatewall.gate.responses import GuardPage, answer, for_browser, plain
from gatewall.gate.settled_answer import Begun, SettledAnswer, settle, with_access
from gatewall.gate.shadow import Shadow
from gatewall.gate.signed_identity import SignedIdentities
from gatewall.gate.subrequest import Subrequest
from gatewall.kernel.clientip import TrustedProxies, peer_or_unknown
from gatewall.server.answer_bytes import Answer
from gatewall.server.heads import KnownLines
from gatewall.snapshot.confirmed import PolicyAge

logger = logging.getLogger(__name__)
_LET_IN = Effect.ALLOW.status


@dataclass(frozen=True, slots=True)
class Dialect:
    """Subrequest format of one kind of proxy, with its parser.

    ``answers_browsers``: the proxy passes our answer on to the browser. ``shows_body``: it can send the visitor's body.
    ``cuts_credentials``: we remove our credentials from the site's headers.
    """

    parse: Callable[[Subrequest, TrustedProxies, float], AccessRequest]
    answers_browsers: bool = False
    shows_body: bool = False
    cuts_credentials: bool = False
    varies_in_headers: bool = False
    """The visitor's URI is in a header, so the requests of a page have all other lines in common."""


class Policies(Protocol):
    """Source of the policy."""

    def current(self) -> PolicySnapshot | None:
        """Return the newest known policy, or None before the first one."""


class ConfirmedPolicies(Policies, Protocol):
    """Source of the policy, with the time since it was last confirmed as current."""

    age: PolicyAge


class Records(Protocol):
    """Sink for access records."""

    def write(self, record: AccessRecord | EncodedRecord) -> bool:
        """Write the record; False if it is lost. Never raises."""

    def is_usable(self) -> bool:
        """True if records can be written."""

    def close(self) -> None:
        """Flush to disk and close the files."""


class Peers(Protocol):
    """Observer of the peers that send subrequests."""

    def observe(self, subrequest: Subrequest) -> None:
        """Record a peer that sends forwarding headers but is not trusted. Never raises."""


class Gate:
    """Policy enforcement point of one process: answers and records subrequests."""

    def __init__(
        self,
        policies: Policies,
        ports: Ports,
        *,
        trusted: TrustedProxies,
        guard: GuardPage,
        clock: Callable[[], float],
        records: Records,
        peers: Peers | None = None,
        age: PolicyAge | None = None,
    ) -> None:
        """``age`` defaults to that of a policy that was never confirmed."""
        self._policies = policies
        self._ports = ports
        self._trusted = trusted
        self._guard = guard
        self._clock = clock
        self._records = records
        self._peers = peers
        self._age = PolicyAge() if age is None else age
        self.shadow: Shadow | None = None
        """Evaluates a shadow policy after the answers, if this process has one."""
        self.identities: SignedIdentities | None = None
        """Signs identities for sites, if this process can."""

    def again(self, meaning: Meaning, lines: KnownLines) -> Answer | Begun | None:
        """Answer a request with a known head if its decision is settled; else return ``begun`` for ``check``, or None.

        Answer, record and counts are the same as those of ``check``.
        """
        answers, shadow = meaning.shared.answers, self.shadow
        if not answers or (shadow is not None and shadow.policy is not None):
            return None
        try:
            return self._again(answers, meaning, lines)
        except Exception:
            # A bug in this shortcut must not decide: ``check`` decides, and refuses if it fails too.
            logger.exception("a settled decision could not be reused")
            return None

    def _again(self, answers: tuple[SettledAnswer, ...], meaning: Meaning, lines: KnownLines) -> Answer | Begun | None:
        at, policy, ports, known = self._clock(), self._policies.current(), self._ports, answers[0]
        settled = known.settled
        if policy is None or not settled.holds(policy, at):
            return None
        settings, asked = policy.settings, meaning.asked(lines)
        if asked is None or (settings.stale_policy is StalePolicy.STRICT and self._is_stale(policy)):
            return None
        if ports.countries.country_of(settled.client) != settled.country_code:
            return None
        is_inspected = settings.waf_mode is not EnforcementMode.OFF
        if is_inspected and not policy.waf.is_quiet(asked, meaning.shared):
            return None
        has_custom = is_inspected and policy.waf.has_custom
        if has_custom or settled.access is not None:
            request = meaning.again(meaning.headers(lines), at)
            if request is None or (has_custom and policy.waf.matches_custom(request, settled.domain_name)):
                return None
            found = with_access(answers, settled.access_of(request, policy, ports))
            if found is None:
                return None
            known = found
        limit, decision_id = settings.request_rate_per_minute, new_decision_id(at)
        if limit and (seconds := ports.rates.seconds_over(settled.client, limit, at)):
            return Begun(decision_id, ports.rates, seconds)
        record = known.record(policy, decision_id=decision_id, at=at, uri=asked.uri, answered_at=self._clock())
        if not self._records.write(record) and _must_be_kept(policy):
            return Begun(decision_id, ports.rates, 0, is_lost=True)
        return known.answer(decision_id)

    def check(self, dialect: Dialect, subrequest: Subrequest, begun: Begun | None = None) -> Answer:
        """Answer a subrequest of this dialect: 200, 401, 403, or 503 for "cannot decide".

        Dialects that answer browsers also give 302 and 303. The record is written before the answer is returned;
        if it is lost and the audit mode is strict, the answer is 503. ``begun`` is the result of ``again``, if any.
        """
        at = self._clock()
        decision_id = new_decision_id(at) if begun is None else begun.decision_id
        shadow = self.shadow
        watch = shadow.watch(decision_id) if shadow is not None and shadow.policy is not None else None
        facts: Facts | None = None
        try:
            policy = self._policies.current()
            request = dialect.parse(subrequest, self._trusted, at)
            if self._peers is not None:
                self._peers.observe(subrequest)
            if policy is None or (policy.settings.stale_policy is StalePolicy.STRICT and self._is_stale(policy)):
                decision = CANNOT_DECIDE
            else:
                ports = self._ports if watch is None else watch.ports
                facts = Facts(request, policy, ports if begun is None else replace(ports, rates=begun))
                decision = decide(facts)
            given = self._answer_of(dialect, subrequest, request, decision, policy, decision_id)
            is_lost = begun is not None and begun.is_lost
            kept = not is_lost and self._record(request, decision, policy, decision_id, given.status)
            if not kept and _must_be_kept(policy):
                given = self._undecided(dialect, subrequest, request, decision_id)
            elif watch is not None:
                watch.request, watch.decision, watch.policy = request, decision, policy
            elif facts is not None and request.shared is not None:
                settle(facts, decision, given, decision_id)
        except Exception:
            # The proxy acts on our status: a bug may refuse a request, but never allow one.
            logger.exception("access evaluation failed", extra={"decision_id": decision_id})
            unread = AccessRequest(at=at, client=peer_or_unknown(subrequest.peer))
            given = self._undecided(dialect, subrequest, unread, decision_id)
            self._record(unread, CANNOT_DECIDE, None, decision_id, given.status)
        if shadow is not None and watch is not None:
            shadow.answered(watch)
        return given

    def _answer_of(
        self,
        dialect: Dialect,
        subrequest: Subrequest,
        request: AccessRequest,
        decision: Decision,
        policy: PolicySnapshot | None,
        decision_id: str,
    ) -> Answer:
        """Return the answer of a decision in this dialect."""
        given = answer(decision, request, policy, self._guard, decision_id)
        if dialect.answers_browsers:
            given = for_browser(given, decision, request, policy, self._guard, decision_id)
        signs = policy is not None and policy.settings.signed_identity is not SignedIdentity.OFF
        if (signs or dialect.cuts_credentials) and given.status == _LET_IN:
            given = self._for_site(given, dialect, subrequest, request, decision, policy)
        return given

    def _for_site(
        self,
        given: Answer,
        dialect: Dialect,
        subrequest: Subrequest,
        request: AccessRequest,
        decision: Decision,
        policy: PolicySnapshot | None,
    ) -> Answer:
        """Add the signed identity, and Cookie and Authorization without our credentials."""
        headers = given.headers
        if self.identities is not None and policy is not None:
            headers += self.identities.headers(decision, request, policy)
        if dialect.cuts_credentials:
            headers += site_headers(subrequest.headers)
        return Answer(given.status, headers, given.body)

    def key_set(self, method: str) -> Answer:
        """Return the public keys of signed identities (JWKS)."""
        return plain(404) if self.identities is None else self.identities.key_set(method)

    def _undecided(self, dialect: Dialect, subrequest: Subrequest, request: AccessRequest, decision_id: str) -> Answer:
        given = answer(CANNOT_DECIDE, None, None, self._guard, decision_id)
        if not dialect.answers_browsers:
            return given
        asked = replace(request, headers=tuple(subrequest.headers.items()))
        return for_browser(given, CANNOT_DECIDE, asked, None, self._guard, decision_id)

    def can_record(self) -> bool:
        """True unless records are required and cannot be written."""
        return not _must_be_kept(self._policies.current()) or self._records.is_usable()

    def alarms(self) -> dict[str, str]:
        """Return the health alarm of a policy that was not confirmed for a while; empty if all is well."""
        alarm = self._age.alarm() if self._policies.current() else ""
        return {"policy": alarm} if alarm else {}

    def _is_stale(self, policy: PolicySnapshot) -> bool:
        return self._age.is_over(policy.settings.stale_policy_seconds)

    def close(self) -> None:
        """Flush all records to disk and close the record file; a later answer opens another one."""
        self._records.close()

    def _record(
        self, request: AccessRequest, decision: Decision, policy: PolicySnapshot | None, decision_id: str, status: int
    ) -> bool:
        make = record_of_new if request.shared is None else record_again
        return self._records.write(
            make(request, decision, policy, decision_id=decision_id, status=status, answered_at=self._clock())
        )


def _must_be_kept(policy: PolicySnapshot | None) -> bool:
    return policy is not None and policy.settings.audit_mode is AuditMode.STRICT
