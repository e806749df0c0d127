"""WAF rules that certainly or possibly match a recorded request. Pure."""

from collections.abc import Callable
from functools import cached_property

from audit.spool.masking import MASK
from audit.spool.records import PATH, QUERY, USER_AGENT, AccessRecord
from gatewall.engine.destinations import has_destination
from gatewall.engine.facts import Facts
from gatewall.engine.model import AccessRequest, Reason
from gatewall.engine.ports import Ports
from gatewall.engine.rule_match import RuleMatch
from gatewall.engine.snapshot import EnforcementMode, PolicySnapshot
from gatewall.engine.steps import DECIDING_STEP, STEPS
from gatewall.engine.values import lazy
from gatewall.engine.waf.reading import LONG_URI
from gatewall.engine.waf.rules import Target, WafRule
from gatewall.replay.missing import Missing, NotRecorded
from gatewall.replay.settled_rules import MatchedParts, Matches, SettledRules

_NEVER_RECORDED = frozenset({Target.HEADERS, Target.COOKIES, Target.REFERER})
_NEVER_RECORDED_NOR_BODY = _NEVER_RECORDED | {Target.BODY}
_UNALTERED = frozenset[Target | None]()
_NONE = frozenset[int]()
_OF_PATH = frozenset({Target.URI, Target.PATH})
_OF_QUERY = frozenset({Target.URI, Target.QUERY, Target.ARGS, Target.ARG_NAMES})
_OF_AGENT = frozenset({Target.USER_AGENT, Target.HEADERS})
_LOOKED_UP: dict[str, set[str]] = {
    reason: {fact for each in STEPS[: STEPS.index(step) + 1] for fact in each.facts}
    for reason, step in DECIDING_STEP.items()
}
"""Facts that were certainly looked up for a decision, by its reason."""


def is_whole(text: str, limit: int) -> bool:
    """True if no part of a recorded text was masked, truncated (limit 0: none) or replaced."""
    if limit and len(text) >= limit:
        return False
    return MASK not in text and (text.isascii() or max(text) <= "\xff")


def has_looked_up(record: AccessRecord, fact: str) -> bool:
    """True if the recorded decision certainly reached the step that looks up this fact."""
    return fact in _LOOKED_UP.get(record.reason, ())


class RecordedFacts(Facts):
    """Facts of a recorded request, with the matches of WAF rules derived from its record.

    A rule that is unchanged since then matches if it matched then. Any other rule is matched again: certainly, or only
    possibly if it inspects parts that were not recorded.
    """

    def __init__(
        self,
        request: AccessRequest,
        policy: PolicySnapshot,
        ports: Ports,
        record: AccessRecord,
        rules: SettledRules,
        on_assumed: Callable[[], object],
    ) -> None:
        """``rules`` are those of the policy; ``on_assumed`` is called when a recorded match is used for a rule."""
        super().__init__(request, policy, ports)
        self._record, self._rules, self._on_assumed = record, rules, on_assumed
        self._with_doubtful = False

    @cached_property
    def at_worst(self) -> Facts:
        """Facts if every possibly matching rule matches."""
        if not self._matches[1]:
            return self
        worst = RecordedFacts(self.request, self.policy, self._ports, self._record, self._rules, self._on_assumed)
        worst._with_doubtful = True
        worst.__dict__["_matches"] = self._matches
        return worst

    @property
    def path_readings(self) -> tuple[str, ...] | None:
        """The readings of the path. Raises NotRecorded if it was masked or truncated, and for COPY and MOVE."""
        if not is_whole(self._record.path, PATH.length):
            raise NotRecorded(Missing.PATH)
        if has_destination(self.request):
            raise NotRecorded(Missing.HEADERS)
        return super().path_readings

    @property
    def is_preflight(self) -> bool:
        """True for a CORS preflight. Raises NotRecorded for OPTIONS with headers, which are not recorded."""
        if self.request.method == "OPTIONS" and "headers" in self.request.visible:
            raise NotRecorded(Missing.HEADERS)
        return False

    @property
    def asked_at(self) -> float:
        """The time of the visitor's request, not of this replay."""
        return self._record.at

    @lazy
    def rule_matches(self) -> tuple[RuleMatch, ...]:
        """The matching WAF rules; empty if the WAF is off."""
        mode = self.waf_mode
        if mode is EnforcementMode.OFF:
            return ()
        wanted = self._matching_ids
        known = self._rules.of_ids(mode, wanted)
        return self._rules.remember(mode, wanted, super().rule_matches) if known is None else known

    def matching_rules(self) -> tuple[WafRule, ...]:
        wanted = self._matching_ids
        return tuple([rule for rule in self._rules.rules if rule.id in wanted]) if wanted else ()

    @property
    def _matching_ids(self) -> frozenset[int]:
        sure, doubtful = self._matches
        return sure | doubtful if self._with_doubtful else sure

    @lazy
    def _matches(self) -> Matches:
        """The ids of the rules that certainly match, and of those that possibly match."""
        record, rules = self._record, self._rules.rules
        recorded = frozenset([rule["id"] for rule in record.rules]) if record.rules else _NONE
        unsettled = self._unsettled(recorded)
        if len(unsettled) < len(rules):
            self._on_assumed()
        if not unsettled and not recorded:
            return _NONE, _NONE
        matching = self.policy.waf.inspect(self.request, self.domain_name) if unsettled else ()
        found = frozenset([rule.id for rule in matching]) if matching else _NONE
        parts = MatchedParts(recorded, found, altered_targets(record), unrecorded_targets(record))
        return self._rules.matches(unsettled, parts)

    def _unsettled(self, recorded: frozenset[int]) -> tuple[WafRule, ...]:
        """Return the rules that must be matched again, because the recorded matches do not settle them."""
        rules, record = self._rules.rules, self._record
        if not self._rules_were_run:
            return rules
        unsettled = self._rules.unsettled(record.policy_revision, record.at, self.request.at)
        if not self._was_cut_short:
            return unsettled
        changed = {rule.id for rule in unsettled}
        return tuple(rule for rule in rules if rule.id in changed or rule.id not in recorded)

    @property
    def _was_cut_short(self) -> bool:
        """True if the scan may have stopped at the start of a long URI: rules outside the record may match, too."""
        record = self._record
        if not record.rules:
            return False
        return len(self.request.uri) > LONG_URI or not altered_targets(record).isdisjoint(_OF_PATH | _OF_QUERY)

    @property
    def _rules_were_run(self) -> bool:
        if self._record.rules:
            return True
        if not (has_looked_up(self._record, "rule_matches") or self._was_inspected):
            return False
        return self._rules.were_run(self._record.policy_revision)

    @property
    def _was_inspected(self) -> bool:
        """True if an allowlist entry with ``inspect`` allowed the client, and had ``inspect`` then."""
        entry, decided_by = self.standing.allowed, self._record.decided_by
        if self._record.reason != Reason.CLIENT_ALLOWED or entry is None or decided_by is None or not entry.inspect:
            return False
        is_same = self._rules.entry_is_as_of(self._record.policy_revision, entry.id)
        return is_same and decided_by.get("id") == entry.id


def unrecorded_targets(record: AccessRecord) -> frozenset[Target]:
    """Return the targets missing from the record; a body that the proxy did not pass on counts as empty."""
    return _NEVER_RECORDED_NOR_BODY if "body" in record.visible else _NEVER_RECORDED


def altered_targets(record: AccessRecord) -> frozenset[Target | None]:
    """Return the targets whose recorded text differs from what was sent; None stands for path prefixes."""
    found = _UNALTERED
    if not is_whole(record.path, PATH.length):
        found |= {*_OF_PATH, None}
    if not is_whole(record.query, QUERY.length):
        found |= _OF_QUERY
    if not is_whole(record.user_agent, USER_AGENT.length):
        found |= _OF_AGENT
    return found
