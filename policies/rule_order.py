"""The order of access rules: positions 1..n without gaps."""

from collections.abc import Iterable

from django.db.models import F

from gatewall.kernel.changes import Action, Change
from policies.models import AccessRule

_TEMPORARY_OFFSET = 1_000_000
"""Temporary offset, so that no two rows have the same position while rows are moved."""


def order_now() -> list[int]:
    """Return the ids of all rules in their order."""
    return list(AccessRule.objects.order_by("position").values_list("pk", flat=True))


def arrange(ids: Iterable[int]) -> list[Change]:
    """Set the positions of all rules to this order; return the changes. For a service that holds the policy lock."""
    wanted = {id_: position for position, id_ in enumerate(ids, 1)}
    moved = [rule for rule in AccessRule.objects.order_by("position") if rule.position != wanted[rule.pk]]
    before = {rule.pk: rule.position for rule in moved}
    AccessRule.objects.filter(pk__in=before).update(position=F("position") + _TEMPORARY_OFFSET)
    for rule in moved:
        rule.position = wanted[rule.pk]
    AccessRule.objects.bulk_update(moved, ["position"], batch_size=200)
    return [_moved(rule, before[rule.pk]) for rule in moved]


def _moved(rule: AccessRule, before: int) -> Change:
    positions = {"position": before}, {"position": rule.position}
    return Change(rule.recorded.resource, rule.pk, rule.name, Action.CHANGED, *positions)
