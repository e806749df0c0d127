"""Trace of access rules: for each reading of a path, the first condition of each rule that fails. No I/O.

Only explanations compute it, after the decision.
"""

from dataclasses import dataclass

from gatewall.engine.access_rules.conditions import Condition, RequestFacts
from gatewall.engine.access_rules.index import all_rules
from gatewall.engine.access_rules.rules import AccessRule
from gatewall.engine.access_rules.table import AccessRuleTable, unseen_parts, walk
from gatewall.engine.hosts import Access

MAX_READINGS = 8
"""Readings that a trace shows; that of the rule that decided is among them."""
_TOO_MANY = frozenset({"uri"})


@dataclass(frozen=True, slots=True)
class TracedRule:
    """A rule for the host and one reading of the path.

    ``reached``: no rule before it decided. ``decides``: it sets the access by this reading. ``failed``: the first
    condition that does not hold; a rule that only might hold has ``not_visible`` parts of the request.
    """

    rule: AccessRule
    reached: bool
    decides: bool
    failed: Condition | None
    not_visible: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TracedReading:
    """Every rule for the host by one reading of the path, in order; None is a path that was not shown."""

    path: str | None
    rules: tuple[TracedRule, ...]


def trace_of(table: AccessRuleTable, facts: RequestFacts, otherwise: Access) -> tuple[TracedReading, ...]:
    """Return the readings of the path with their rules; empty for a host without rules."""
    indexes, unseen = table.indexes_of(facts.domain_name), unseen_parts(facts)
    if not indexes:
        return ()
    readings = None if "uri" in unseen else facts.path_readings
    if readings is None:
        return (_traced(table, facts, None, unseen | _TOO_MANY, otherwise),)
    found = [_traced(table, facts, path, unseen, otherwise) for path in readings]
    decided = table.outcome(facts, otherwise).rule
    found.sort(key=lambda reading: not any(each.decides and each.rule is decided for each in reading.rules))
    return tuple(found[:MAX_READINGS])


def _traced(
    table: AccessRuleTable, facts: RequestFacts, path: str | None, unseen: frozenset[str], otherwise: Access
) -> TracedReading:
    rules = all_rules(table.indexes_of(facts.domain_name))
    first, *others = walk(facts, path or "/", rules, unseen, otherwise)
    last = first.rule.position if first.rule else len(table.rules)
    deciding = {met.rule.position for met in (first, *others) if met.rule}
    return TracedReading(
        path,
        tuple(
            [
                TracedRule(
                    rule.rule,
                    reached=rule.position <= last,
                    decides=rule.position in deciding,
                    failed=rule.first_failed(facts, path or "/", unseen),
                    not_visible=tuple(sorted(unseen & rule.parts)),
                )
                for rule in rules
            ]
        ),
    )
