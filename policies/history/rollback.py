"""Write rows as they were at an earlier revision, in one new revision."""

from typing import Any

from django.db import IntegrityError, transaction

from gatewall.engine.messages import gettext_noop as _
from gatewall.engine.snapshot import Segment
from gatewall.kernel.changes import Change, Resource, describe
from gatewall.policy import revisions, system_settings
from policies import rows
from policies.access_conditions import MAX_RULES
from policies.grant_limits import MAX_GRANTS
from policies.history.tables import AccessRules, Grants, Groups, Named, Table, check
from policies.history.undo import CannotRestore, Past
from policies.models import RESTORABLE, AccessRule, AuthorizedDomain, Grant, Group, WafRule
from policies.rules.builtin import free_name
from policies.scopes import Scopes
from policies.validators import MAX_CUSTOM_RULES

_TABLES: dict[Any, type[Table]] = {AuthorizedDomain: Named, Group: Groups, AccessRule: AccessRules, Grant: Grants}
"""The models that need their own table class; all others use ``Table``."""


@revisions.one_at_a_time
def take_back(previous: int, last: int, *, actor: str) -> None:
    """Undo the revisions after ``previous`` up to ``last``; later changes are kept.

    Creates no revision if nothing is left to undo. Raises CannotRestore.
    """
    try:
        with transaction.atomic():
            roll_back(Past(revisions.current().revision, previous, last), actor)
    except IntegrityError:
        raise CannotRestore(_("a newer entry conflicts with one to be restored")) from None


def roll_back(past: Past, actor: str) -> None:
    """Restore the objects of ``past``, in one revision if anything changes. Raises CannotRestore."""
    changes, segments = _restore_rows(past)
    if changes:
        revisions.advance(*segments, actor=actor, changes=changes)


def _restore_rows(past: Past) -> tuple[list[Change], set[str]]:
    """Roll back all tables and settings; return the changes, and the segments to compile again."""
    domains, *tables = [_TABLES.get(model, Table)(model, past) for model in RESTORABLE]
    [rules] = [table for table in tables if table.model is WafRule]
    scopes = Scopes(domains.old.values(), besides=past.objects)
    for table in (*tables, domains):
        table.remove()
    renamed = _rename_builtin_rules(rules)
    for table in (domains, *tables):
        table.insert()
    _refuse_too_many_rules()
    scopes.cut()
    changes: list[Change] = []
    segments: set[str] = set()
    for table in (domains, *tables):
        changed = list(table.changes())
        changes += changed
        segments |= table.segments() if changed else set()
    settings = _restore_settings(past)
    changes += filter(None, [*renamed, *scopes.changes(), settings])
    return changes, segments | {*(WafRule.segments if renamed else ()), *([Segment.SETTINGS] if settings else ())}


def _refuse_too_many_rules() -> None:
    if WafRule.objects.filter(builtin_key__isnull=True).count() > MAX_CUSTOM_RULES:
        raise CannotRestore(
            _("there would be more than %(number)s WAF rules: delete some first"), number=f"{MAX_CUSTOM_RULES:,}"
        )
    if AccessRule.objects.count() > MAX_RULES:
        raise CannotRestore(
            _("there would be more than %(number)s access rules: delete some first"), number=f"{MAX_RULES:,}"
        )
    if Grant.objects.count() > MAX_GRANTS:
        raise CannotRestore(
            _("there would be more than %(number)s grants: delete some first"), number=f"{MAX_GRANTS:,}"
        )


def _rename_builtin_rules(rules: Table) -> list[Change | None]:
    """Rename built-in rules that have the name of a restored rule; return the changes."""
    custom_names = {rule.name for rule in rules.new.values() if not rule.builtin}
    taken = {rule.name for rule in rules.new.values()}
    for rule in rules.new.values():
        if rule.builtin and rule.name in custom_names:
            rule.name = free_name(rule.name, taken)
            taken.add(rule.name)
    clashing = WafRule.objects.filter(builtin_key__isnull=False, name__in=taken)
    return [rows.write(rule, name=free_name(rule.name, taken)) for rule in clashing]


def _restore_settings(past: Past) -> Change | None:
    settings = system_settings.current()
    before = past.objects.get((Resource.SETTINGS, settings.pk)) or {}
    became, now = past.became.get((Resource.SETTINGS, settings.pk), {}), describe(settings).fields
    known = {
        name: value
        for name, value in before.items()
        if name in system_settings.names() and (name not in became or now[name] == became[name])
    }
    if not known:
        return None
    for name, value in known.items():
        setattr(settings, name, value)
    check(Resource.SETTINGS, settings)
    return system_settings.write(known)
