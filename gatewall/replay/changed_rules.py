"""The WAF rules that a change of policy adds, changes or removes, and their matches. Pure."""

from collections.abc import Sequence

from audit.spool.records import AccessRecord
from gatewall.engine.model import AccessRequest
from gatewall.engine.waf.matcher import RuleSet
from gatewall.engine.waf.rules import WafRule
from gatewall.replay.recorded_waf import altered_targets, unrecorded_targets
from gatewall.replay.settled_rules import inspected_targets


class ChangedRules(RuleSet):
    """Rules of a second policy, matched with the engine of the first; compiles only the rules that differ."""

    def __init__(self, before: RuleSet, after: Sequence[WafRule]) -> None:
        """Raises PatternRefused for a rule that cannot be compiled."""
        super().__init__(())
        self.rules = tuple(after)
        was, is_now = {rule.id: rule for rule in before.rules}, {rule.id: rule for rule in after}
        self.before = tuple(rule for rule in before.rules if is_now.get(rule.id) != rule)
        self.after = tuple(rule for rule in after if was.get(rule.id) != rule)
        self.ids = frozenset(rule.id for rule in (*self.before, *self.after))
        self._base = before
        self._sets = [RuleSet(rules) for rules in (self.before, self.after) if rules]
        self._after_set = RuleSet(self.after)

    def may_match(self, record: AccessRecord, request: AccessRequest, domain: str | None) -> bool:
        """Return False only if certainly no changed rule matches, before or after the change."""
        if self.were_recorded(record):
            return True
        altered, unrecorded = altered_targets(record), unrecorded_targets(record)
        for rule in (*self.before, *self.after):
            if not altered.isdisjoint(inspected_targets(rule)) or not unrecorded.isdisjoint(rule.targets):
                return True
        return any(rules.inspect(request, domain) for rules in self._sets)

    def were_recorded(self, record: AccessRecord) -> bool:
        """True if a changed rule matched when the request was decided."""
        return any(rule["id"] in self.ids for rule in record.rules)

    def inspect(self, request: AccessRequest, domain: str | None, stop_at: int = 0) -> tuple[WafRule, ...]:
        """Return the matching rules after the change; the current engine scans for the unchanged ones."""
        found = {rule.id for rule in self._base.inspect(request, domain)} - self.ids
        found |= {rule.id for rule in self._after_set.inspect(request, domain)}
        return tuple(rule for rule in self.rules if rule.id in found)
