"""References of access rules and grants to a row that is to be deleted; no rule becomes wider."""

from collections.abc import Iterable
from typing import Any

from gatewall.kernel.changes import Change, describe, difference
from policies import rows
from policies.models import AccessRule, DevicePass, Grant


def remove_from_rules(condition: str, row: Any) -> list[Change]:
    """Remove a domain, group or user (``condition`` is its field) from all rules; return the changes.

    A rule that names no other row there is disabled: without the condition, it would match every request. For a service
    that holds the policy lock, before it deletes the row.
    """
    return [_remove_from_rule(rule, condition, row) for rule in AccessRule.objects.filter(**{condition: row})]


def _remove_from_rule(rule: AccessRule, condition: str, row: Any) -> Change:
    before, named = describe(rule), getattr(rule, condition)
    named.remove(row)
    if rule.enabled and not named.exists():
        rule.enabled = False
        rule.save(update_fields=["enabled"])
    changed = difference(before, describe(rule))
    assert changed is not None  # noqa: S101 - the row was one of the condition's
    return changed


def segments_of(changes: Iterable[Change | None]) -> tuple[str, ...]:
    """Return the segments that these changes of access rules affect."""
    return AccessRule.segments if any(changes) else ()


def grants_removed_with(**holder: Any) -> tuple[tuple[str, ...], list[Change | None]]:
    """Return segments and changes of the grants and device passes that are deleted with a user or group.

    ``holder``: ``user`` or ``group``.
    """
    found: list[Grant | DevicePass] = [*Grant.objects.filter(**holder).select_related("user", "group", "domain")]
    if "user" in holder:
        found += DevicePass.objects.filter(**holder).select_related("domain")
    segments = tuple({segment: None for row in found for segment in row.segments})
    return segments, [rows.deletion(row) for row in found]
