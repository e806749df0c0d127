"""Decide a recorded request under two policies and compare the verdicts. Pure.

Each request is decided under both policies (``replay/redecision.py``). Even if its record lacks a fact that a step
needs, the change makes no difference if that step gives the same result under both policies and all others agree.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from audit.spool.records import AccessRecord
from gatewall.engine.hosts import Host
from gatewall.engine.model import AccessRequest, Effect, Verdict
from gatewall.engine.ports import CountryLookup
from gatewall.engine.snapshot import PolicySnapshot
from gatewall.engine.waf.rules import WafRule
from gatewall.replay.change_history import ChangeHistory
from gatewall.replay.change_reach import ChangeReach, subjects_differ
from gatewall.replay.changed_rules import ChangedRules
from gatewall.replay.missing import Missing
from gatewall.replay.policy_age import PolicyAges, step_settings
from gatewall.replay.redecision import Assumed, Redecider, Replay, recorded_request
from gatewall.replay.remembered_matches import RememberedMatches


@dataclass(frozen=True, slots=True)
class Compared:
    """Both verdicts, or what is missing to decide them."""

    before: Verdict | None
    after: Verdict | None
    missing: Missing | None
    assumed: frozenset[Assumed]

    @property
    def is_changed(self) -> bool:
        if self.before is None or self.after is None:
            return False
        return (self.before.effect, self.before.reason) != (self.after.effect, self.after.reason)

    @property
    def is_newly_refused(self) -> bool:
        """True if the request was allowed and would be refused."""
        if self.before is None or self.after is None:
            return False
        return self.before.effect is Effect.ALLOW and self.after.effect is not Effect.ALLOW

    @property
    def is_newly_allowed(self) -> bool:
        """True if the request was not allowed and would be."""
        if self.before is None or self.after is None:
            return False
        return self.before.effect is not Effect.ALLOW and self.after.effect is Effect.ALLOW


class Comparison:
    """Compares two policies' verdicts on recorded requests, at one moment."""

    def __init__(
        self,
        before: PolicySnapshot,
        after: PolicySnapshot,
        *,
        histories: tuple[ChangeHistory, ChangeHistory],
        countries: CountryLookup,
        at: float,
    ) -> None:
        """``histories``: the changes of each policy since a request was recorded."""
        self._before, self._after, self._at = before, after, at
        waf = RememberedMatches(before.waf)
        waf_after = waf if after.waf is before.waf else RememberedMatches(after.waf)
        self._deciders = (
            Redecider(replace(before, waf=waf), countries=countries, history=histories[0], at=at),
            Redecider(replace(after, waf=waf_after), countries=countries, history=histories[1], at=at),
        )
        self._ages = PolicyAges(((before, histories[0]), (after, histories[1])))
        self._settings_differ = step_settings(before.settings) != step_settings(after.settings)
        self._rules = ChangedRules(before.waf, after.waf.rules)
        self._same_access: dict[str | None, bool] = {}
        self._subjects_differ = subjects_differ(before, after)
        self._grants_differ = before.grants != after.grants or before.device_passes != after.device_passes
        self.reach = ChangeReach(
            before,
            after,
            rules=self._rules,
            histories=histories,
            countries=countries,
            subjects=(self._deciders[0].subject_of, self._deciders[1].subject_of),
            at=at,
        )

    def of(self, record: AccessRecord) -> Compared | None:
        """Return both verdicts on a recorded request, None if the change makes no difference."""
        return self.decided_twice(record) if self.reach.covers(record) else None

    def decided_twice(self, record: AccessRecord) -> Compared | None:
        """Return the same as ``of``, but also decide requests that the change cannot affect."""
        compared = self._of_steps(record)
        if (compared is None and not self._ages.differ) or not self._ages.are_needed(record):
            return compared
        return Compared(None, None, Missing.POLICY_AGE, frozenset())

    def _of_steps(self, record: AccessRecord) -> Compared | None:
        request = recorded_request(record, self._at)
        replays = [decider.replay_request(record, request) for decider in self._deciders]
        before, after = (replay.decision() for replay in replays)
        missing = before.missing or after.missing
        if before.verdict == after.verdict if missing is None else self._is_same_at_each_step(record, request, replays):
            return None
        return Compared(before.verdict, after.verdict, missing, before.assumed | after.assumed)

    def _is_same_at_each_step(
        self, record: AccessRecord, request: AccessRequest | None, replays: Iterable[Replay]
    ) -> bool:
        """True if all steps up to a deciding one agree, and what is not recorded is the same under both policies."""
        for before, after in zip(*(replay.results() for replay in replays), strict=True):
            if before != after:
                return False
            verdict, missing = before
            if missing is not None and not self._is_same_under_both(missing, record, request):
                return False
            if verdict is not None:
                break
        return True

    def _is_same_under_both(self, missing: Missing, record: AccessRecord, request: AccessRequest | None) -> bool:
        """True if a step that lacks this fact has the same result under both policies."""
        host = Host(record.host) if record.host else None
        domain = self._before.domains.match(host)
        if request is None or self._settings_differ:
            return False
        if domain != self._after.domains.match(host) or (missing is Missing.CREDENTIAL and self._subjects_differ):
            return False
        name = domain.name if domain else None
        if missing is not Missing.WAF_RULES:
            return self._access_is_same(name) and not self._grants_differ
        return not self._rules.ids or not self._rules.may_match(record, request, name)

    def _access_is_same(self, domain: str | None) -> bool:
        """True if a domain has the same access rules under both policies, and they match the same subjects."""
        same = self._same_access.get(domain)
        if same is None:
            rules = self._before.access_rules.of_domain(domain)
            same = rules == self._after.access_rules.of_domain(domain) and not (rules and self._subjects_differ)
            self._same_access[domain] = same
        return same


def with_rules(before: PolicySnapshot, after: PolicySnapshot, rules: Sequence[WafRule]) -> PolicySnapshot:
    """Return ``after`` with these rules, reusing the compiled engine of ``before``. Raises PatternRefused."""
    return replace(after, waf=ChangedRules(before.waf, rules))
