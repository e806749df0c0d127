"""Matches in values: find the value of a match, test whether the rule targets it, and sum the scores. No I/O."""

from collections.abc import Sequence
from itertools import accumulate

from gatewall.engine.model import Action
from gatewall.engine.waf import transforms
from gatewall.engine.waf.patterns import Placed
from gatewall.engine.waf.rules import BodyRegion, Category, Region
from gatewall.engine.waf.scope import Scope
from gatewall.engine.waf.values import Value

_BLOCK = Action.BLOCK  # an enum look-up would be the most expensive part of handling a match


def refuse(found: list[Placed], threshold: int, *, are_monitored_counted: bool = False) -> bool:
    """True if the scores of enforced rules of one category reach the threshold."""
    counted = [each for each in found if are_monitored_counted or each.rule.action is _BLOCK]
    return max(scores_of(counted).values(), default=0) >= threshold


def scores_of(found: list[Placed]) -> dict[Category, int]:
    """Return the scores of the rules by category; a rule that occurs several times counts once."""
    scores: dict[Category, int] = {}
    for placed in {each.position: each for each in found}.values():
        scores[placed.rule.category] = scores.get(placed.rule.category, 0) + placed.rule.score
    return scores


def ends_of(values: Sequence[Value]) -> list[int]:
    """Return the end offset of each value in the joined text."""
    return list(accumulate([len(value) + 1 for _, _, value in values], initial=-1))[1:]


def holds(placed: Placed, values: list[Value], scope: Scope) -> bool:
    """True if any targeted value matches."""
    for value in values:
        if is_target(placed, value, scope) and placed.test(
            transforms.apply(placed.rule.transforms, value[2].encode("latin-1"))
        ):
            scope.hits[placed.position] = value[:2]
            return True
    return False


def is_hit(placed: Placed, value: Value, scope: Scope) -> bool:
    """True if the rule targets a value in which its pattern matched; records the first such value."""
    if is_target(placed, value, scope):
        scope.hits.setdefault(placed.position, value[:2])
        return True
    return False


def is_target(placed: Placed, value: Value, scope: Scope) -> bool:
    """True if the rule targets the value, and no exclusion covers it."""
    target, name, _ = value
    return target in placed.targets and not (placed.rule.exclusions and scope.spares(placed.rule, target, name))


def split(values: Sequence[Value]) -> tuple[list[Value], dict[Region, list[Value]]]:
    """Return the values that are inspected by all rules, and the texts by region."""
    singles: list[Value] = []
    texts: dict[Region, list[Value]] = {}
    for value in values:
        if value[0].__class__ is BodyRegion:
            texts.setdefault(value[0], []).append(value)
        else:
            singles.append(value)
    return singles, texts
