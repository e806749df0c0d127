"""Install and upgrade the built-in WAF rules of this version."""

import logging
from collections.abc import Collection
from typing import Any

from gatewall.engine.snapshot import Segment
from gatewall.engine.waf.builtin import BUILTIN_RULES
from gatewall.engine.waf.builtin.rule import BuiltinRule
from gatewall.engine.waf.rules import Operator
from gatewall.kernel.changes import Change
from gatewall.policy import revisions
from policies import rows
from policies.models import WafRule

_log = logging.getLogger(__name__)
_SUFFIX = "-builtin"


@revisions.one_at_a_time
def seed_waf_rules(*, actor: str) -> int:
    """Install or upgrade the built-in rules; return how many changed.

    Sets only pattern and operator; all other fields may have been edited.
    """
    known = {rule.builtin_key: rule for rule in WafRule.objects.filter(builtin_key__isnull=False)}
    changes = [_upsert(rule, known.get(rule.key)) for rule in BUILTIN_RULES]
    changed = sum(change is not None for change in changes)
    if changed:
        revisions.advance(Segment.WAF_RULES, actor=actor, changes=changes)
    return changed


def free_name(base: str, taken: Collection[str] = ()) -> str:
    """Return the name, with a suffix if another rule has it or it is in ``taken``."""
    name, number = base, 1
    while name in taken or WafRule.objects.filter(name=name).exists():
        name = f"{base}{_SUFFIX}{'' if number == 1 else number}"
        number += 1
    return name


def _upsert(rule: BuiltinRule, row: WafRule | None) -> Change | None:
    fixed = {"pattern": rule.pattern, "operator": Operator.REGEX.value}
    if row is not None:
        if all(getattr(row, name) == value for name, value in fixed.items()):
            return None
        return rows.write(row, **fixed)
    name = free_name(rule.key)
    if name != rule.key:
        _log.warning("built-in rule %s was installed as %s: a custom rule has its name", rule.key, name)
    return rows.write(WafRule(builtin_key=rule.key, name=name), **fixed, **values_of(rule))


def values_of(rule: BuiltinRule) -> dict[str, Any]:
    """Return the fields of a built-in rule as it comes, which operators may change."""
    return {
        "targets": [target.value for target in rule.targets],
        "transforms": [transform.value for transform in rule.transforms],
        "category": rule.category.value,
        "severity": rule.severity.value,
        "score": rule.score,
        "action": rule.action.value,
        "description": rule.reason,
    }
