"""WAF rules whose recorded results still count under a policy (settled rules). Caches in bounded memory. Pure."""

from typing import NamedTuple, TypeVar

from gatewall.engine.rule_match import RuleMatch
from gatewall.engine.snapshot import EnforcementMode, PolicySnapshot
from gatewall.engine.waf.rules import Target, WafRule
from gatewall.kernel.changes import Resource
from gatewall.replay.change_history import ChangeHistory

_CACHE_SIZE = 1_000
Key = TypeVar("Key")
Value = TypeVar("Value")
Rules = tuple[WafRule, ...]
Matches = tuple[frozenset[int], frozenset[int]]


class MatchedParts(NamedTuple):
    """Matches of a record: ids of the rules that ``matched`` then, and of those ``found`` in the recorded parts now.

    ``altered`` targets were recorded with another text, ``unrecorded`` targets not at all.
    """

    matched: frozenset[int]
    found: frozenset[int]
    altered: frozenset[Target | None]
    unrecorded: frozenset[Target]


class SettledRules:
    """The WAF rules of one policy, and for each record which of them have changed since.

    A rule is settled for a record if it is certainly the same as when the request was decided.
    """

    def __init__(self, policy: PolicySnapshot, history: ChangeHistory) -> None:
        self.rules: Rules = tuple(policy.waf.rules)
        self._mode = policy.settings.waf_mode
        self._history = history
        self._timed = [(rule, ends) for rule in self.rules if (ends := _ends_of(rule))]
        self._unsettled: dict[int, Rules] = {}
        self._matches: dict[tuple[int, MatchedParts], tuple[Rules, Matches]] = {}
        self._found: dict[tuple[EnforcementMode, frozenset[int]], tuple[RuleMatch, ...]] = {}

    def were_run(self, revision: int) -> bool:
        """True if the WAF is on, and certainly was never off since a revision."""
        off = EnforcementMode.OFF
        return self._mode is not off and self._history.setting_was_never(revision, "waf_mode", off.value)

    def entry_is_as_of(self, revision: int, entry_id: int) -> bool:
        """True if an allowlist entry is certainly unchanged since a revision."""
        return self._history.row_is_as_of(revision, Resource.ALLOWLIST, entry_id)

    def unsettled(self, revision: int, since: float, until: float) -> Rules:
        """Return the rules that may differ from those of a revision, or have an exclusion that ended since."""
        known = self._unsettled.get(revision)
        if known is None:
            found = tuple(rule for rule in self.rules if not self._is_as_of(rule, revision))
            known = _keep(self._unsettled, revision, found)
        ended = tuple(
            rule for rule, ends in self._timed if any(since < end <= until for end in ends) and rule not in known
        )
        return known + ended if ended else known

    def matches(self, unsettled: Rules, record: MatchedParts) -> Matches:
        """Return the ids of the rules that certainly match, and of those that possibly match."""
        key = id(unsettled), record
        known = self._matches.get(key)
        if known is None or known[0] is not unsettled:
            known = _keep(self._matches, key, (unsettled, self._computed(unsettled, record)))
        return known[1]

    def of_ids(self, mode: EnforcementMode, ids: frozenset[int]) -> tuple[RuleMatch, ...] | None:
        """Return the cached matches of these rules in the mode of a request, None if none are cached."""
        return self._found.get((mode, ids))

    def remember(
        self, mode: EnforcementMode, ids: frozenset[int], matches: tuple[RuleMatch, ...]
    ) -> tuple[RuleMatch, ...]:
        """Cache the matches of these rules for ``of_ids``, and return them."""
        return _keep(self._found, (mode, ids), matches)

    def _computed(self, unsettled: Rules, record: MatchedParts) -> Matches:
        matched, found, altered, unrecorded = record
        settled = {rule.id for rule in self.rules} - {rule.id for rule in unsettled}
        sure, doubtful = set(matched & settled), set[int]()
        for rule in unsettled:
            if altered and not altered.isdisjoint(inspected_targets(rule)):
                doubtful.add(rule.id)  # the recorded text differs from what was sent
            elif rule.id in found:
                sure.add(rule.id)  # unrecorded parts can only add matches
            elif not unrecorded.isdisjoint(rule.targets):
                doubtful.add(rule.id)
        return frozenset(sure), frozenset(doubtful)

    def _is_as_of(self, rule: WafRule, revision: int) -> bool:
        names_domain = rule.domain is not None or any(each.domain is not None for each in rule.exclusions)
        if names_domain and not self._history.resource_is_as_of(revision, Resource.DOMAINS):
            return False
        return self._history.row_is_as_of(revision, Resource.WAF_RULES, rule.id)


def inspected_targets(rule: WafRule) -> set[Target | None]:
    """Return the targets that the rule inspects; None stands for the path, if it has a path prefix."""
    has_prefix = rule.path_prefix is not None or any(each.compiled[1] for each in rule.exclusions)
    return {*rule.targets, *({None} if has_prefix else set())}


def _ends_of(rule: WafRule) -> list[float]:
    """Return the expiry times of the rule's exclusions."""
    return [each.expires_at for each in rule.exclusions if each.expires_at is not None]


def _keep(known: dict[Key, Value], key: Key, value: Value) -> Value:
    if len(known) >= _CACHE_SIZE:
        known.clear()
    known[key] = value
    return value
