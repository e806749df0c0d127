"""Can this policy change alter this request's outcome? Compares one recorded request under two policies. Pure.

Most requests of a window have nothing to do with a change: neither their client, country, host nor subject is what
it changes, and no rule that it changes can match them. They come out of both policies alike, whatever that is, and
are told by a few look-ups. All others are decided again under both policies (``replay/redecision.py``).
"""

from bisect import bisect_right
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from audit.spool.records import AccessRecord
from gatewall.engine.addresses import IPAddress, parse_address
from gatewall.engine.hosts import Domain, Host
from gatewall.engine.model import AccessRequest, Effect, Reason, Verdict
from gatewall.engine.ports import CountryLookup
from gatewall.engine.snapshot import PolicySnapshot, WafInspector
from gatewall.engine.waf.matcher import RuleSet
from gatewall.engine.waf.rules import WafRule
from gatewall.replay.change_history import ChangeHistory
from gatewall.replay.recorded import Row, record_of
from gatewall.replay.recorded_waf import altered_targets, ends_of, looks_at, unrecorded_targets
from gatewall.replay.redecision import Assumed, Missing, Redecider, is_readable, recorded_request

KEPT = 50_000
"""How many answers of each kind are remembered; then they are forgotten, all at once."""
LONG = 500
"""Requests with more characters of path and query are not remembered: there are as many as an attacker likes."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Compared:
    """The two verdicts, or what it would take to know them both."""

    before: Verdict | None
    after: Verdict | None
    missing: Missing | None
    assumed: frozenset[Assumed]

    @property
    def is_changed(self) -> bool:
        """True if the answer is another, or the same for another reason."""
        if self.before is None or self.after is None:
            return False
        return (self.before.effect, self.before.reason) != (self.after.effect, self.after.reason)

    @property
    def is_newly_refused(self) -> bool:
        """True if the request was let in and would not be."""
        if self.before is None or self.after is None:
            return False
        return self.before.effect is Effect.ALLOW and self.after.effect is not Effect.ALLOW


class ChangedRules:
    """The rules that are not the same in two policies, and the rules of the second as one inspector."""

    def __init__(self, before: WafInspector, after: Sequence[WafRule]) -> None:
        """Raise PatternRefused for a rule that cannot be compiled."""
        was, is_now = {rule.id: rule for rule in before.rules}, {rule.id: rule for rule in after}
        self.before = tuple(rule for rule in before.rules if is_now.get(rule.id) != rule)
        self.after = tuple(rule for rule in after if was.get(rule.id) != rule)
        self.ids = frozenset(rule.id for rule in (*self.before, *self.after))
        self._rules = tuple(after)
        self._base = before
        self._sets = [RuleSet(rules) for rules in (self.before, self.after) if rules]
        self._mine = RuleSet(self.after)

    def may_match(self, record: AccessRecord, request: AccessRequest, domains: Sequence[str | None]) -> bool:
        """True unless it is sure that none of the rules matches, before the change or behind it."""
        if any(rule["id"] in self.ids for rule in record.rules):
            return True
        altered, unrecorded = altered_targets(record), unrecorded_targets(record)
        for rule in (*self.before, *self.after):
            if not altered.isdisjoint(looks_at(rule)) or not unrecorded.isdisjoint(rule.targets):
                return True
        return any(rules.inspect(request, domain) for rules in self._sets for domain in domains)

    @property
    def rules(self) -> Sequence[WafRule]:
        """All rules behind the change."""
        return self._rules

    @property
    def engine(self) -> str:
        """What scans for the rules that stay."""
        return self._base.engine

    @property
    def apart(self) -> Sequence[WafRule]:
        """The rules in front of the change that are scanned for apart."""
        return self._base.apart

    def check(self) -> str:
        """Hold the engine of the rules that stay against requests of which the outcome is known."""
        return self._base.check()

    def inspect(self, request: AccessRequest, domain: str | None, stop_at: int = 0) -> tuple[WafRule, ...]:
        """Return the rules behind the change that match; those that stay are scanned for by the engine in use."""
        found = {rule.id for rule in self._base.inspect(request, domain)} - self.ids
        found |= {rule.id for rule in self._mine.inspect(request, domain)}
        return tuple(rule for rule in self._rules if rule.id in found)


class _Memory:
    """Remembers what a function said of a key."""

    def __init__(self) -> None:
        self._known: dict[Hashable, object] = {}

    def get(self, key: Hashable, find: Callable[[], T]) -> T:
        try:
            return self._known[key]  # type: ignore[return-value]
        except KeyError:
            pass
        if len(self._known) >= KEPT:
            self._known.clear()
        found = self._known[key] = find()
        return found


class Comparison:
    """Compares what two policies make of recorded requests, both at one moment."""

    def __init__(
        self,
        before: PolicySnapshot,
        after: PolicySnapshot,
        *,
        histories: tuple[ChangeHistory, ChangeHistory],
        countries: CountryLookup,
        at: float,
    ) -> None:
        """``histories`` say what of each policy has changed since a request was recorded."""
        self._before, self._after, self._countries, self._at = before, after, countries, at
        self._deciders = (
            Redecider(before, countries=countries, history=histories[0], at=at),
            Redecider(after, countries=countries, history=histories[1], at=at),
        )
        self._rules = ChangedRules(before.waf, after.waf.rules)
        self._ends = sorted({end for policy in (before, after) for rule in policy.waf.rules for end in ends_of(rule)})
        self._is_all_touched = before.settings != after.settings
        self._countries_differ = before.blocked_countries.keys() != after.blocked_countries.keys()
        self._subjects_differ = any(
            getattr(before, name) != getattr(after, name) for name in ("users", "git_tokens", "licenses")
        )
        self._lists_differ = before.lists is not after.lists
        self._hosts, self._clients, self._standings = _Memory(), _Memory(), _Memory()
        self._matches, self._subjects, self._decided = _Memory(), _Memory(), _Memory()

    def of(self, row: Row) -> Compared | None:
        """Return both verdicts on a recorded request, None if the change cannot be one to it."""
        if not self._is_touched(row):
            return None
        if _is_long(row):
            return self.plainly(record_of(row))
        # What excludes requests from a rule may have ended between two that are alike in all else.
        period = bisect_right(self._ends, row.at.timestamp())
        return self._decided.get((period, *row[2:]), lambda: self.plainly(record_of(row)))

    def plainly(self, record: AccessRecord) -> Compared:
        """Return both verdicts on a request, by deciding twice."""
        before, after = (decider.redecide(record) for decider in self._deciders)
        assumed = before.assumed | after.assumed
        return Compared(before.verdict, after.verdict, before.missing or after.missing, assumed)

    def _is_touched(self, row: Row) -> bool:
        if row.reason == Reason.REQUEST_MALFORMED:
            return False  # the first step, and no policy has a say in it
        if self._is_all_touched or row.reason == Reason.CANNOT_DECIDE:
            return True
        client = self._clients.get(row.client_ip, lambda: parse_address(row.client_ip))
        if client is None:
            return True
        before, after = self._hosts.get(row.host, lambda: self._domains_of(row.host))
        names = before.name if before else None, after.name if after else None
        if before != after or (self._lists_differ and self._stands_otherwise(row, client, names)):
            return True
        if self._countries_differ and self._is_of_changed_country(client):
            return True
        if self._subjects_differ and self._is_another(row):
            return True
        return bool(self._rules.ids) and self._may_match(row, names)

    def _domains_of(self, name: str | None) -> tuple[Domain | None, Domain | None]:
        host = Host(name) if name else None
        return self._before.domains.match(host), self._after.domains.match(host)

    def _stands_otherwise(self, row: Row, client: IPAddress, names: tuple[str | None, str | None]) -> bool:
        def differs() -> bool:
            return any(
                self._before.lists.standing(client, names[0], self._at, allowlist_applies=applies)
                != self._after.lists.standing(client, names[1], self._at, allowlist_applies=applies)
                for applies in (True, False)
            )

        return self._standings.get((row.client_ip, names), differs)

    def _is_of_changed_country(self, client: IPAddress) -> bool:
        def differs() -> bool:
            code = self._countries.country_of(client)
            return code is not None and (code in self._before.blocked_countries) != (
                code in self._after.blocked_countries
            )

        return self._clients.get(("country", client), differs)

    def _is_another(self, row: Row) -> bool:
        def differs() -> bool:
            record = record_of(row)
            if record.credential is not None and record.credential["state"] == "not-checked":
                return True  # it may be that of any subject
            before, after = (decider.subject_of(record) for decider in self._deciders)
            return before != after

        return self._subjects.get((row.subject_kind, row.subject_id, row.credential), differs)

    def _may_match(self, row: Row, names: tuple[str | None, str | None]) -> bool:
        def may() -> bool:
            record = record_of(row)
            request = recorded_request(record, self._at) if is_readable(record) else None
            return request is None or self._rules.may_match(record, request, names)

        if _is_long(row):
            return may()
        key = (row.reason, row.rules, row.method, row.scheme, row.host, row.path, row.query)
        return self._matches.get((*key, row.user_agent, row.visible, row.credential), may)


def _is_long(row: Row) -> bool:
    return len(row.path) + len(row.query) > LONG


def with_rules(before: PolicySnapshot, after: PolicySnapshot, rules: Sequence[WafRule]) -> PolicySnapshot:
    """Return the second policy with these rules, over the engine of the first: what stays is not compiled again.

    Raises PatternRefused for a rule that cannot be compiled.
    """
    return replace(after, waf=ChangedRules(before.waf, rules))
