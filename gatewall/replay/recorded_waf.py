"""Which WAF rules match, or might match, a recorded request? Pure."""

from collections.abc import Callable
from functools import cached_property

from audit.spool.masking import MASK
from audit.spool.records import PATH, QUERY, USER_AGENT, AccessRecord
from gatewall.engine.facts import Facts
from gatewall.engine.model import AccessRequest, Reason
from gatewall.engine.ports import Ports
from gatewall.engine.snapshot import EnforcementMode, PolicySnapshot
from gatewall.engine.steps import DECIDING_STEP, STEPS
from gatewall.engine.waf.reading import LONG_URI
from gatewall.engine.waf.rules import Target, WafRule
from gatewall.kernel.changes import Resource
from gatewall.replay.change_history import ChangeHistory
from gatewall.replay.missing import Missing, NotRecorded

_NEVER_RECORDED = frozenset({Target.HEADERS, Target.COOKIES, Target.REFERER})
_OF_PATH = frozenset({Target.URI, Target.PATH})
_OF_QUERY = frozenset({Target.URI, Target.QUERY, Target.ARGS, Target.ARG_NAMES})
_OF_AGENT = frozenset({Target.USER_AGENT, Target.HEADERS})
_KEPT_REVISIONS = 1_000
_TIMED = -1
"""Key in place of a revision: rules with an expiring exclusion."""
_LOOKED_UP: dict[str, set[str]] = {
    reason: {fact for each in STEPS[: STEPS.index(step) + 1] for fact in each.facts}
    for reason, step in DECIDING_STEP.items()
}
"""By reason of a decision, the facts that were certainly looked up for it."""


def is_whole(text: str, limit: int) -> bool:
    """True if no part of a recorded text was masked, truncated (limit 0: none) or replaced."""
    fits = not limit or len(text) < limit
    return fits and MASK not in text and all(character <= "\xff" for character in text)


def has_looked_up(record: AccessRecord, fact: str) -> bool:
    """True if the recorded decision certainly reached the step that looks up this fact."""
    return fact in _LOOKED_UP.get(record.reason, ())


class RecordedFacts(Facts):
    """Facts of a recorded request, with the matches of WAF rules derived from its record.

    A rule unchanged since matches if it did then. Any other is matched again: with certainty, or, if it inspects parts
    that were not recorded, possibly.
    """

    def __init__(
        self,
        request: AccessRequest,
        policy: PolicySnapshot,
        ports: Ports,
        record: AccessRecord,
        history: ChangeHistory,
        on_assumed: Callable[[], object],
        unsettled: dict[int, tuple[WafRule, ...]] | None = None,
    ) -> None:
        """``on_assumed`` is called when a recorded match is used for a rule.

        ``unsettled`` caches, by revision, the rules changed since, for all records of a policy and history.
        """
        super().__init__(request, policy, ports)
        self._record, self._history, self._on_assumed = record, history, on_assumed
        self._unsettled = {} if unsettled is None else unsettled
        self._with_doubtful = False

    @cached_property
    def at_worst(self) -> Facts:
        """Facts if every possibly matching rule matches."""
        if not self._matches[1]:
            return self
        worst = RecordedFacts(self.request, self.policy, self._ports, self._record, self._history, self._on_assumed)
        worst._with_doubtful = True
        worst.__dict__["_matches"] = self._matches
        return worst

    @property
    def path_readings(self) -> tuple[str, ...] | None:
        """The readings of the path. Raises NotRecorded if it was masked or truncated."""
        if not is_whole(self._record.path, PATH.length):
            raise NotRecorded(Missing.PATH)
        return super().path_readings

    @property
    def is_preflight(self) -> bool:
        """True for a CORS preflight. Raises NotRecorded for OPTIONS with headers, which are not recorded."""
        if self.request.method == "OPTIONS" and "headers" in self.request.visible:
            raise NotRecorded(Missing.HEADERS)
        return False

    @property
    def asked_at(self) -> float:
        """When the visitor asked, not the moment of this replay."""
        return self._record.at

    def matching_rules(self) -> tuple[WafRule, ...]:
        sure, doubtful = self._matches
        wanted = sure | doubtful if self._with_doubtful else sure
        if not wanted:
            return ()
        return tuple(rule for rule in self.policy.waf.rules if rule.id in wanted)

    @cached_property
    def _matches(self) -> tuple[frozenset[int], frozenset[int]]:
        """Return the ids of the rules that certainly match, and of those that possibly match."""
        recorded = frozenset(rule["id"] for rule in self._record.rules)
        rules = self.policy.waf.rules
        unsettled = self._changed_since() if self._rules_were_run else tuple(rules)
        if self._was_cut_short:
            changed = {rule.id for rule in unsettled}
            unsettled = tuple(rule for rule in rules if rule.id in changed or rule.id not in recorded)
        if len(unsettled) < len(rules):
            self._on_assumed()
        if not unsettled and not recorded:
            return frozenset(), frozenset()
        settled = {rule.id for rule in rules} - {rule.id for rule in unsettled}
        sure, doubtful = set(recorded & settled), set[int]()
        if unsettled:
            found = {rule.id for rule in self.policy.waf.inspect(self.request, self.domain_name)}
            for rule in unsettled:
                if self._altered and not self._altered.isdisjoint(inspected_targets(rule)):
                    doubtful.add(rule.id)  # the recorded text differs from what was sent
                elif rule.id in found:
                    sure.add(rule.id)  # unrecorded parts can only add matches
                elif not self._unrecorded.isdisjoint(rule.targets):
                    doubtful.add(rule.id)
        return frozenset(sure), frozenset(doubtful)

    @cached_property
    def _was_cut_short(self) -> bool:
        """True if the scan may have stopped at the start of a long URI: unrecorded rules may match, too."""
        is_long = len(self.request.uri) > LONG_URI or not self._altered.isdisjoint(_OF_PATH | _OF_QUERY)
        return self._record.reason == Reason.WAF_RULE and is_long

    def _changed_since(self) -> tuple[WafRule, ...]:
        """Return the rules whose recorded result may be outdated."""
        revision = self._record.policy_revision
        known = self._unsettled.get(revision)
        if known is None:
            known = tuple(rule for rule in self.policy.waf.rules if not self._is_as_of(rule, revision))
            if len(self._unsettled) >= _KEPT_REVISIONS:
                self._unsettled.clear()
            self._unsettled[revision] = known
        return known + tuple(rule for rule in self._timed() if self._exclusion_has_ended(rule) and rule not in known)

    def _timed(self) -> tuple[WafRule, ...]:
        """Return the rules with an expiring exclusion."""
        timed = self._unsettled.get(_TIMED)
        if timed is None:
            timed = tuple(rule for rule in self.policy.waf.rules if any(ends_of(rule)))
            self._unsettled[_TIMED] = timed
        return timed

    def _exclusion_has_ended(self, rule: WafRule) -> bool:
        return any(self._record.at < end <= self.request.at for end in ends_of(rule))

    def _is_as_of(self, rule: WafRule, revision: int) -> bool:
        names_domain = rule.domain is not None or any(each.domain is not None for each in rule.exclusions)
        if names_domain and not self._history.resource_is_as_of(revision, Resource.DOMAINS):
            return False
        return self._history.row_is_as_of(revision, Resource.WAF_RULES, rule.id)

    @cached_property
    def _rules_were_run(self) -> bool:
        if self._record.rules:
            return True
        if not (has_looked_up(self._record, "rule_matches") or self._was_inspected):
            return False
        is_on = self.policy.settings.waf_mode is not EnforcementMode.OFF
        return is_on and self._history.setting_is_as_of(self._record.policy_revision, "waf_mode")

    @property
    def _was_inspected(self) -> bool:
        """True if an allowlist entry with ``inspect`` allowed the client, and had ``inspect`` then."""
        entry, decided_by = self.standing.allowed, self._record.decided_by
        if self._record.reason != Reason.CLIENT_ALLOWED or entry is None or decided_by is None or not entry.inspect:
            return False
        is_same = self._history.row_is_as_of(self._record.policy_revision, Resource.ALLOWLIST, entry.id)
        return is_same and decided_by.get("id") == entry.id

    @cached_property
    def _unrecorded(self) -> frozenset[Target]:
        return unrecorded_targets(self._record)

    @cached_property
    def _altered(self) -> frozenset[Target | None]:
        return altered_targets(self._record)


def unrecorded_targets(record: AccessRecord) -> frozenset[Target]:
    """Return the targets missing from the record; a body that the proxy did not pass on counts as empty."""
    return _NEVER_RECORDED | {Target.BODY} if "body" in record.visible else _NEVER_RECORDED


def altered_targets(record: AccessRecord) -> frozenset[Target | None]:
    """Return the targets whose recorded text differs from what was sent; None stands for path prefixes."""
    found = set[Target | None]()
    if not is_whole(record.path, PATH.length):
        found |= {*_OF_PATH, None}
    if not is_whole(record.query, QUERY.length):
        found |= _OF_QUERY
    if not is_whole(record.user_agent, USER_AGENT.length):
        found |= _OF_AGENT
    return frozenset(found)


def inspected_targets(rule: WafRule) -> set[Target | None]:
    """Return the targets that the rule inspects; None stands for the path, if it has a path prefix."""
    has_prefix = rule.path_prefix is not None or any(each.path_prefix is not None for each in rule.exclusions)
    return {*rule.targets, *({None} if has_prefix else set())}


def ends_of(rule: WafRule) -> list[float]:
    """Return the expiry times of the rule's exclusions."""
    return [each.expires_at for each in rule.exclusions if each.expires_at is not None]
