"""Apply a policy document: call the services for each difference, in one revision."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.changes import Action
from gatewall.kernel.clientip import Caller
from gatewall.kernel.refusals import Conflict
from gatewall.models import PolicyRevision
from gatewall.policy import revisions, system_settings
from gatewall.policy.resources import Write
from policies import resources
from policies.access_rules.services import (
    UserRemoved,
    change_access_rule,
    create_access_rules,
    delete_access_rules,
    order_access_rules,
)
from policies.document.comparison import Difference, changes
from policies.document.document import Document
from policies.document.expectations import write_expectations
from policies.document.references import users_named
from policies.document.sections import (
    ACCESS_RULES,
    ALLOWLIST,
    BLOCKLIST,
    BUILTIN_WAF_RULES,
    BY_NAME,
    COUNTRIES,
    DOMAINS,
    EXPECT,
    GROUPS,
    SUBSCRIPTIONS,
    WAF_RULES,
    Section,
)
from policies.groups.members import GroupRemoved
from policies.history.lockout import guard_against_lockout
from policies.history.rule_lockout import guard_against_rules
from policies.lists.by_hand import write_entries
from policies.models import AccessRule
from policies.rows import DomainRemoved
from policies.services import change_country, change_waf_rule

_RESOURCES = {
    DOMAINS.name: resources.DOMAINS,
    GROUPS.name: resources.GROUPS,
    COUNTRIES.name: replace(resources.COUNTRIES, update=change_country),  # no page and no API route changes a country
    WAF_RULES.name: resources.WAF_RULES,
    SUBSCRIPTIONS.name: resources.SUBSCRIPTIONS,
}
"""The sections whose rows are written one by one, through the services of their resource."""
_REMOVED: Mapping[str, tuple[type[Conflict], str]] = {
    "domains": (DomainRemoved, _("a domain in the request is no longer registered")),
    "groups": (GroupRemoved, _("a group in the request no longer exists")),
    "users": (UserRemoved, _("a user in the request no longer exists")),
}
"""The error for rows that name a deleted row, by kind."""


@revisions.one_at_a_time
def apply(
    document: Document, *, actor: str, caller: Caller | None = None, force: bool = False
) -> PolicyRevision | None:
    """Change the policy to match the document, in one revision; return the revision, None if nothing changes.

    Raises WouldLockYouOut and the refusals of the services; then nothing is changed.
    """
    with (
        guard_against_lockout(caller, force=force),
        guard_against_rules(caller, force=force),
        revisions.as_one_revision(actor) as made,
    ):
        _Application(document, actor, caller, force=force).write()
    return made.revision


class _Application:
    """Writer of the differences between a document and the policy, through the services."""

    def __init__(self, document: Document, actor: str, caller: Caller | None, *, force: bool) -> None:
        self._document, self._actor, self._caller, self._force = document, actor, caller, force
        self._differences: dict[tuple[str, Action], list[Difference]] = {}
        for each in changes(document):
            self._differences.setdefault((each.section, each.action), []).append(each)

    def write(self) -> None:
        """Write all differences in order of dependency: domains and used groups are created first, deleted last."""
        self._delete(WAF_RULES)
        self._delete_access_rules()
        self._delete_unused_groups()
        for section in (DOMAINS, GROUPS):
            self._change_and_create(section)
        self._write_builtin_rules()
        self._change_and_create(WAF_RULES)
        for section in (COUNTRIES, SUBSCRIPTIONS):
            self._delete(section)
            self._change_and_create(section)
        self._write_entries(BLOCKLIST)
        self._write_entries(ALLOWLIST)
        self._write_access_rules()
        for section in (GROUPS, DOMAINS):
            self._delete(section)
        self._write_expectations()
        self._write_settings()

    def _find(self, section: Section, *actions: Action) -> list[Difference]:
        return [each for action in actions for each in self._differences.get((section.name, action), [])]

    def _rows(self, section: Section, differences: list[Difference]) -> list[Any]:
        """Return the stored rows of these differences, in their order."""
        keys = {each.key for each in differences}
        # An entry may have expired since it was compared.
        rows = {section.key_of_row(row): row for row in section.queryset(expired=True)} if keys else {}
        return [rows[each.key] for each in differences]

    def _values(self, section: Section, differences: list[Difference]) -> list[dict[str, Any]]:
        """Return the arguments of the services: all fields of a created row, the differing fields of a changed row."""
        names = _named_rows(section, self._document) if differences else {}
        rows = self._document.tables.get(section.name, {})
        wanted = [rows[each.key] if each.action is Action.CREATED else each.after for each in differences]
        _refuse_removed(section, wanted, names)
        return [
            section.values_for({name: row[name] for name in section.fields if name in row}, names) for row in wanted
        ]

    def _delete(self, section: Section) -> None:
        for row in self._rows(section, self._find(section, Action.DELETED)):
            _RESOURCES[section.name].write(Write.DELETE, row, actor=self._actor, caller=None, force=True)

    def _delete_unused_groups(self) -> None:
        """Delete the groups that no access rule names, before new ones are created, which must fit in the maximum."""
        named = set(AccessRule.objects.values_list("groups__name", flat=True))
        gone = self._differences.pop((GROUPS.name, Action.DELETED), [])
        self._differences[GROUPS.name, Action.DELETED] = [each for each in gone if each.key[0] not in named]
        self._delete(GROUPS)
        self._differences[GROUPS.name, Action.DELETED] = [each for each in gone if each.key[0] in named]

    def _change_and_create(self, section: Section) -> None:
        write = partial(_RESOURCES[section.name].write, actor=self._actor, caller=None, force=self._force)
        changed, created = self._find(section, Action.CHANGED), self._find(section, Action.CREATED)
        for row, values in zip(self._rows(section, changed), self._values(section, changed), strict=True):
            write(Write.UPDATE, row, **values)
        for values in self._values(section, created):
            write(Write.CREATE, **values)

    def _write_builtin_rules(self) -> None:
        changed = self._find(BUILTIN_WAF_RULES, Action.CHANGED)
        rows, values = self._rows(BUILTIN_WAF_RULES, changed), self._values(BUILTIN_WAF_RULES, changed)
        for row, each in zip(rows, values, strict=True):
            if "name" in each and len(changed) > 1:  # free it first: two rules may exchange their names
                change_waf_rule(row, actor=self._actor, force=True, name=f"{row.builtin_key}~{row.pk}")
        for row, each in zip(rows, values, strict=True):
            change_waf_rule(row, actor=self._actor, force=self._force, **each)

    def _write_entries(self, section: Section) -> None:
        gone, changed, created = (
            self._find(section, action) for action in (Action.DELETED, Action.CHANGED, Action.CREATED)
        )
        if gone or changed or created:
            write_entries(
                section.model,
                actor=self._actor,
                delete=self._rows(section, gone),
                change=zip(self._rows(section, changed), self._values(section, changed), strict=True),
                create=self._values(section, created),
                caller=self._caller,
                force=self._force,
            )

    def _delete_access_rules(self) -> None:
        if gone := self._rows(ACCESS_RULES, self._find(ACCESS_RULES, Action.DELETED)):
            delete_access_rules(gone, actor=self._actor)

    def _write_access_rules(self) -> None:
        changed, created = self._find(ACCESS_RULES, Action.CHANGED), self._find(ACCESS_RULES, Action.CREATED)
        for row, values in zip(self._rows(ACCESS_RULES, changed), self._values(ACCESS_RULES, changed), strict=True):
            if values:
                change_access_rule(row, actor=self._actor, **values)
        if created:
            create_access_rules(actor=self._actor, rules=self._values(ACCESS_RULES, created))
        if changed or created:
            ids = dict(AccessRule.objects.values_list("name", "pk"))
            order_access_rules([ids[name] for (name,) in self._document.tables[ACCESS_RULES.name]], actor=self._actor)

    def _write_expectations(self) -> None:
        gone, changed = self._find(EXPECT, Action.DELETED), self._find(EXPECT, Action.CHANGED)
        created = self._find(EXPECT, Action.CREATED)
        if gone or changed or created:
            rows = [*self._rows(EXPECT, changed), *[None] * len(created)]
            values = self._values(EXPECT, [*changed, *created])
            delete = self._rows(EXPECT, gone)
            write_expectations(actor=self._actor, delete=delete, save=zip(rows, values, strict=True))

    def _write_settings(self) -> None:
        """Write the settings; call this last, because registering the first domain changes a setting."""
        now = system_settings.current()
        wanted = self._document.settings or {}
        values = {name: value for name, value in wanted.items() if getattr(now, name) != value}
        if values:
            system_settings.change(actor=self._actor, **values)


def _refuse_removed(section: Section, wanted: list[Mapping[str, Any]], names: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise DomainRemoved, GroupRemoved or UserRemoved if a named row was deleted since."""
    for field, kind in section.names.items():
        for row in wanted:
            named = row.get(field) or []
            if not names[kind].keys() >= set(named if isinstance(named, list) else [named]):
                removed, words = _REMOVED[kind]
                raise removed(words)


def _named_rows(section: Section, document: Document) -> dict[str, dict[str, Any]]:
    """Return the rows that the section can name, by kind and name."""
    found: dict[str, dict[str, Any]] = {}
    for field, kind in section.names.items():
        if kind == "users":
            names = {name for row in document.tables[section.name].values() for name in row[field]}
            found[kind] = {user.username: user for user in users_named(names)}
        else:
            found[kind] = {row.name: row for row in BY_NAME[kind].model.objects.all()}
    return found
