"""Remove a row that is to be deleted from the access rules that name it; no rule becomes wider."""

from collections.abc import Iterable
from typing import Any

from gatewall.kernel.changes import Change, describe, difference
from policies.models import AccessRule


def remove_from_rules(condition: str, row: Any) -> list[Change]:
    """Remove a domain, group or user (``condition`` is its field) from all rules; return the changes.

    A rule that names no other is disabled: without the condition, it would hold for everything. For a service that
    holds the policy lock, before it deletes the row.
    """
    return [_without(rule, condition, row) for rule in AccessRule.objects.filter(**{condition: row})]


def _without(rule: AccessRule, condition: str, row: Any) -> Change:
    before, rows = describe(rule), getattr(rule, condition)
    rows.remove(row)
    if rule.enabled and not rows.exists():
        rule.enabled = False
        rule.save(update_fields=["enabled"])
    changed = difference(before, describe(rule))
    assert changed is not None  # noqa: S101 - the row was one of the condition's
    return changed


def segments_of(changes: Iterable[Change | None]) -> tuple[str, ...]:
    """Return the segments that these changes of rules touch."""
    return AccessRule.segments if any(changes) else ()
