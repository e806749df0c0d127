"""Install and upgrade the built-in WAF rules of this version."""

import logging
from collections.abc import Collection
from typing import Any

from gatewall.engine.snapshot import Segment
from gatewall.engine.waf.builtin import BUILTIN_RULES
from gatewall.engine.waf.builtin.rule import BuiltinRule
from gatewall.engine.waf.rules import Operator
from gatewall.kernel.changes import Change, describe, difference
from gatewall.policy import revisions
from policies import rows
from policies.models import WafRule

_log = logging.getLogger(__name__)
_SUFFIX = "-builtin"


@revisions.one_at_a_time
def seed_waf_rules(*, actor: str) -> int:
    """Install or upgrade the built-in rules; return how many changed.

    An upgrade sets only pattern and operator, because operators may have changed all other fields.
    """
    known = {rule.builtin_key: rule for rule in WafRule.objects.filter(builtin_key__isnull=False)}
    new = [rule for rule in BUILTIN_RULES if rule.key not in known]
    changes = [_upgrade(rule, known[rule.key]) for rule in BUILTIN_RULES if rule.key in known]
    changes += [difference(None, describe(row)) for row in _install(new)]
    changed = sum(change is not None for change in changes)
    if changed:
        revisions.advance(Segment.WAF_RULES, actor=actor, changes=changes)
    return changed


def free_name(base: str, taken: Collection[str] = ()) -> str:
    """Return the name, with a suffix if another rule or ``taken`` has it."""
    name, number = base, 1
    while name in taken or WafRule.objects.filter(name=name).exists():
        name = f"{base}{_SUFFIX}{'' if number == 1 else number}"
        number += 1
    return name


def _upgrade(rule: BuiltinRule, row: WafRule) -> Change | None:
    fixed = _fixed(rule)
    if all(getattr(row, name) == value for name, value in fixed.items()):
        return None
    return rows.write(row, **fixed)


def _install(new: Collection[BuiltinRule]) -> list[WafRule]:
    """Insert the rules in one statement: there are over a hundred in a new installation."""
    custom = set(WafRule.objects.filter(name__in=[rule.key for rule in new]).values_list("name", flat=True))
    made = []
    for rule in new:
        name = free_name(rule.key) if rule.key in custom else rule.key
        if name != rule.key:
            _log.warning("built-in rule %s was installed as %s: a custom rule has its name", rule.key, name)
        made.append(WafRule(builtin_key=rule.key, name=name, **_fixed(rule), **values_of(rule)))
        made[-1].full_clean(validate_unique=False, validate_constraints=False)
    return WafRule.objects.bulk_create(made)


def _fixed(rule: BuiltinRule) -> dict[str, str]:
    """Return the fields that operators cannot change."""
    return {"pattern": rule.pattern, "operator": Operator.REGEX.value}


def values_of(rule: BuiltinRule) -> dict[str, Any]:
    """Return the shipped values of the fields of a built-in rule that operators may change."""
    return {
        "targets": [target.value for target in rule.targets],
        "transforms": [transform.value for transform in rule.transforms],
        "category": rule.category.value,
        "severity": rule.severity.value,
        "score": rule.score,
        "action": rule.action.value,
        "description": rule.reason,
    }
