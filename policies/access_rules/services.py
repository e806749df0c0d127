"""Create, change, move and delete access rules."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext_lazy

from gatewall.engine.hosts import Access
from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.changes import describe, difference
from gatewall.kernel.clientip import Caller
from gatewall.kernel.refusals import Conflict
from gatewall.policy import revisions
from policies import rows
from policies.access_conditions import MAX_RULES
from policies.groups.members import still_existing
from policies.history.rule_lockout import guard_against_rules
from policies.models import AccessRule
from policies.rule_order import arrange, order_now

ABOUT_SUBJECTS = ("groups", "users", "credential_kinds")
"""Conditions that need a valid credential."""


class TooManyAccessRules(Conflict):
    """The maximum number of access rules is reached."""

    code = "too-many-access-rules"


class UserRemoved(Conflict):
    """A user that the rule names was deleted since the request was read."""

    code = "user-removed"


@revisions.one_at_a_time
def create_access_rule(
    *, actor: str, position: int | None = None, caller: Caller | None = None, force: bool = False, **values: Any
) -> AccessRule:
    """Create an access rule at the end, or at ``position``; the rules from there on move down.

    Raises ValidationError, TooManyAccessRules, WouldLockYouOut, Duplicate, DomainRemoved, GroupRemoved, UserRemoved.
    """
    order = order_now()
    _refuse_too_many(len(order) + 1)
    _validate_position(position, len(order) + 1)
    rule = AccessRule(created_by=actor, position=len(order) + 1)
    with guard_against_rules(caller, force=force):
        _write(rule, values)
        order.insert((position or len(order) + 1) - 1, rule.pk)
        moved = [each for each in arrange(order) if each.id != rule.pk]
        rule = AccessRule.objects.get(pk=rule.pk)
        revisions.advance(*AccessRule.segments, actor=actor, changes=[difference(None, describe(rule)), *moved])
    return rule


@revisions.one_at_a_time
def create_access_rules(
    *, actor: str, rules: Sequence[Mapping[str, Any]], caller: Caller | None = None
) -> list[AccessRule]:
    """Create several access rules at the end, in this order and in one revision.

    Raises ValidationError, TooManyAccessRules, WouldLockYouOut, Duplicate, DomainRemoved, GroupRemoved, UserRemoved.
    """
    last = len(order_now())
    _refuse_too_many(last + len(rules))
    created = []
    with guard_against_rules(caller, force=False):
        for position, values in enumerate(rules, last + 1):
            rule = AccessRule(created_by=actor, position=position)
            _write(rule, values)
            created.append(AccessRule.objects.get(pk=rule.pk))
        changes = [difference(None, describe(rule)) for rule in created]
        revisions.advance(*AccessRule.segments, actor=actor, changes=changes)
    return created


@revisions.one_at_a_time
def change_access_rule(
    rule: AccessRule,
    *,
    actor: str,
    position: int | None = None,
    caller: Caller | None = None,
    force: bool = False,
    **values: Any,
) -> AccessRule:
    """Update an access rule, and move it to ``position``.

    Raises ValidationError, WouldLockYouOut, Duplicate, DomainRemoved, GroupRemoved, UserRemoved, Gone.
    """
    rule = revisions.as_it_is_now(rule)
    before, order = describe(rule), order_now()
    _validate_position(position, len(order))
    with guard_against_rules(caller, force=force):
        _write(rule, values)
        moved = []
        if position is not None and position != rule.position:
            order.remove(rule.pk)
            order.insert(position - 1, rule.pk)
            moved = [each for each in arrange(order) if each.id != rule.pk]
        rule = AccessRule.objects.get(pk=rule.pk)
        revisions.advance(*AccessRule.segments, actor=actor, changes=[difference(before, describe(rule)), *moved])
    return rule


@revisions.one_at_a_time
def delete_access_rule(rule: AccessRule, *, actor: str, caller: Caller | None = None, force: bool = False) -> None:
    """Delete an access rule; the rules after it move up. Raises WouldLockYouOut, Gone."""
    rule = revisions.as_it_is_now(rule)
    order, gone = order_now(), rows.deletion(rule)
    order.remove(rule.pk)
    with guard_against_rules(caller, force=force):
        rule.delete()
        revisions.advance(*AccessRule.segments, actor=actor, changes=[gone, *arrange(order)])


@revisions.one_at_a_time
def delete_access_rules(rules: Iterable[AccessRule], *, actor: str) -> None:
    """Delete several access rules in one revision; the others move up. Without a lockout guard."""
    gone = list(rules)
    changes, ids = [rows.deletion(rule) for rule in gone], {rule.pk for rule in gone}
    order = [id_ for id_ in order_now() if id_ not in ids]
    for rule in gone:
        rule.delete()
    revisions.advance(*AccessRule.segments, actor=actor, changes=[*changes, *arrange(order)])


@revisions.one_at_a_time
def order_access_rules(ids: Iterable[int], *, actor: str) -> None:
    """Put all access rules into this order, in one revision if the order changes. Without a lockout guard."""
    if moved := arrange(ids):
        revisions.advance(*AccessRule.segments, actor=actor, changes=moved)


def _refuse_too_many(number: int) -> None:
    if number > MAX_RULES:
        raise TooManyAccessRules(
            _("there would be more than %(number)s access rules: delete some first"), number=f"{MAX_RULES:,}"
        )


def _validate_position(position: int | None, last: int) -> None:
    if position is not None and not 1 <= position <= last:
        words = gettext_lazy("a position from 1 to %(last)s")
        raise ValidationError({"position": ValidationError(words, "invalid", {"last": last})})


def _write(rule: AccessRule, values: Mapping[str, Any]) -> None:
    """Set the values and save the rule with the rows that it names."""
    related = {name: reread(values[name]) for name, reread in _REREAD_UNDER_LOCK.items() if name in values}
    for name, value in values.items():
        if name not in related:
            setattr(rule, name, value)
    rule.full_clean(validate_unique=False, validate_constraints=False)
    validate_together(rule, related)
    try:
        with transaction.atomic():
            rule.save()
    except IntegrityError:
        raise rows.Duplicate(_("%(row)s already exists"), row=rule) from None
    for name, named in related.items():
        getattr(rule, name).set(named)


def _still_existing_users(users: Iterable[Any]) -> list[Any]:
    """Re-read the users under the lock. Raises UserRemoved if one is gone."""
    ids = {user.pk for user in users}
    found = list(get_user_model().objects.filter(pk__in=ids))
    if len(found) != len(ids):
        raise UserRemoved(_("a user in the request no longer exists"))
    return found


_REREAD_UNDER_LOCK: Mapping[str, Callable[[Iterable[Any]], list[Any]]] = {
    "domains": rows.still_registered,
    "groups": still_existing,
    "users": _still_existing_users,
}
"""The conditions that name rows, each with the function that re-reads these rows under the lock."""


def validate_together(rule: AccessRule, related: Mapping[str, list[Any]]) -> None:
    """Raise ValidationError for conditions that contradict each other or the access."""
    errors: dict[str, ValidationError] = {}
    if rule.from_time is not None and rule.from_time == rule.until_time:
        words = gettext_lazy("from and until are the same time: leave both empty for the whole day")
        errors["until"] = ValidationError(words, "invalid")
    asked = [name for name in ABOUT_SUBJECTS if _is_restricted(rule, name, related)]
    if rule.access == Access.PUBLIC and asked:
        words = gettext_lazy("public access identifies nobody: leave %(conditions)s empty, or choose another access")
        errors["access"] = ValidationError(words, "invalid", {"conditions": ", ".join(asked)})
    if errors:
        raise ValidationError(errors)


def _is_restricted(rule: AccessRule, name: str, related: Mapping[str, list[Any]]) -> bool:
    if name in related:
        return bool(related[name])
    if name in _REREAD_UNDER_LOCK:
        return rule.pk is not None and bool(getattr(rule, name).exists())
    return bool(getattr(rule, name))
