"""The rows of each model before and after a rollback."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db import models

from gatewall.api.translation import message_of
from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.changes import Change, Described, Resource, describe, difference, ids_of
from policies.groups.members import Members
from policies.history.undo import CannotRestore, Past
from policies.models import AUTO_BAN, AccessRule, AuthorizedDomain, Grant, Group, WafRule
from policies.rule_order import arrange
from policies.rule_references import remove_from_rules
from policies.validators import validate_pattern

_BATCH = 200
_MOMENTS = frozenset({"expires_at", "created_at"})
_BUILTIN_FIXED = frozenset({"pattern", "operator"})
_TEMPORARY_POSITION = 10_000_000
"""First of the temporary positions of restored access rules, until all rules are in order."""


class Table:
    """The rows of one model before (``old``) and after (``new``) a rollback."""

    def __init__(self, model: type[Any], past: Past) -> None:
        self.model, self.resource, self._past = model, model.recorded.resource, past
        objects = {id_: fields for (kind, id_), fields in past.objects.items() if kind == self.resource}
        self.old = self._rows().in_bulk(list(objects))
        self.new: dict[int, Any] = {}
        self._related: dict[int, dict[str, list[int]]] = {}
        self.before = {id_: describe(row) for id_, row in self.old.items()}
        for id_, fields in objects.items():
            if self._is_kept(id_, fields):
                self.old.pop(id_, None)
            elif fields is not None:
                due = self._fields_unchanged_since(id_, fields)
                self.new[id_] = self._row(id_, due, whole=(self.resource, id_) in past.whole)

    def _rows(self) -> models.QuerySet[Any]:
        rows_now: models.QuerySet[Any] = self.model.objects.prefetch_related(*self.model.recorded.relations)
        return rows_now.select_related("domain") if "domain" in self.model.recorded.fields else rows_now

    def _is_kept(self, id_: int, fields: Mapping[str, Any] | None) -> bool:
        """Return whether a row is not rolled back: an automatic ban or, in a partial undo, a row changed since."""
        if not self._past.is_part:
            return getattr(self.old.get(id_), "source", None) == AUTO_BAN
        return fields is not None and self._is_settled(id_, fields)

    def _is_settled(self, id_: int, fields: Mapping[str, Any]) -> bool:
        """Return whether a later change settled the row: it or its domain was deleted, or it was recreated."""
        domain, was_deleted = fields.get("domain"), (self.resource, id_) in self._past.whole
        if domain is not None and not AuthorizedDomain.objects.filter(pk=domain).exists():
            return (Resource.DOMAINS, domain) not in self._past.whole
        return (id_ in self.old) == was_deleted

    def _fields_unchanged_since(self, id_: int, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields without those that a later change has set."""
        became, old = self._past.became.get((self.resource, id_), {}), self.old.get(id_)
        if old is None:
            return dict(fields)
        known = {**self.before[id_].fields, "domain": getattr(old, "domain_id", None)}
        return {name: value for name, value in fields.items() if name not in became or known.get(name) == became[name]}

    def _exists_already(self, row: Any) -> bool:
        """Return whether an equal entry was created since; that entry is kept."""
        same = {name: getattr(row, name) for name in self.model.recorded.same_entry}
        return self._past.is_part and bool(same) and self._rows().filter(**same).exists()

    def _row(self, id_: int, fields: dict[str, Any], *, whole: bool) -> Any:
        old = self.old.get(id_)
        if old is None and not whole:
            raise CannotRestore(_("the earlier values of %(row)s are not fully known"), row=f"{self.resource} {id_}")
        row = self.model(pk=id_)
        if old is not None:
            for column in self.model._meta.concrete_fields:  # noqa: SLF001 - documented API
                setattr(row, column.attname, getattr(old, column.attname))
        relations = self.model.recorded.relations
        now = self.before[id_].fields if old is not None else {}
        self._related[id_] = {name: fields.get(ids_of(name), now.get(ids_of(name), [])) for name in relations}
        unrestored = {"builtin", *relations} | (_BUILTIN_FIXED if getattr(old, "builtin_key", None) else set())
        for name, attribute in self.model.recorded.fields.items():
            if name in fields and name not in unrestored:
                value = datetime.fromisoformat(fields[name]) if name in _MOMENTS and fields[name] else fields[name]
                setattr(row, "domain_id" if name == "domain" else attribute, value)
        return row

    def remove(self) -> None:
        """Delete every row that is removed or changed, so that unique names do not clash."""
        self._rows().filter(pk__in=list(self.old)).delete()

    def insert(self) -> None:
        """Insert the rows with their old ids. Raises CannotRestore."""
        self.new = {id_: row for id_, row in self.new.items() if not self._exists_already(row)}
        created_at = {id_: row.created_at for id_, row in self.new.items()}
        for row in self.new.values():
            self._drop_deleted(row)
            check(self.resource, row)
        self._rows().bulk_create(self.new.values(), batch_size=_BATCH)
        for id_, row in self.new.items():
            row.created_at = created_at[id_]  # auto_now_add has overwritten it
        self._rows().bulk_update(self.new.values(), ["created_at"], batch_size=_BATCH)

        for row in self.new.values():
            self._relate(row)

    def _relate(self, row: Any) -> None:
        for name, ids in self._related[row.pk].items():
            getattr(row, name).set(ids)

    def _drop_deleted(self, row: Any) -> None:
        """Drop related rows that are not restored; disable a row that would be left without a condition."""
        for name, ids in self._related[row.pk].items():
            related = self.model._meta.get_field(name).related_model  # noqa: SLF001 - documented API
            left = list(related._default_manager.filter(pk__in=ids).values_list("pk", flat=True))  # noqa: SLF001 - the same
            self._related[row.pk][name] = left
            if ids and not left and hasattr(row, "enabled"):
                row.enabled = False

    def segments(self) -> set[str]:
        """Return the segments of each affected row before and after the rollback."""
        touched = (*self.old.values(), *self.new.values())
        return {segment for row in touched for segment in row.segments}

    def changes(self) -> Iterator[Change]:
        """Yield the change of each row."""
        after = self._rows().in_bulk([*self.old, *self.new])
        for id_ in sorted({*self.old, *self.new}):
            became = difference(self.before.get(id_), describe(after[id_]) if id_ in after else None)
            if became:
                yield became


class Named(Table):
    """Domains and groups: changed rows are updated, not deleted, because other rows refer to them."""

    @property
    def removed(self) -> list[int]:
        """Return the ids of the rows that the rollback deletes."""
        return [id_ for id_ in self.old if id_ not in self.new]

    def remove(self) -> None:
        """Delete the removed rows, and free the names of the changed ones."""
        self._rows().filter(pk__in=self.removed).delete()
        for id_ in self.old.keys() & self.new.keys():
            self._rows().filter(pk=id_).update(name=f"restored-{id_}.invalid.")

    def insert(self) -> None:
        """Write the rows. Raises CannotRestore."""
        changed = {id_: self.new[id_] for id_ in self.old.keys() & self.new.keys()}
        for row in changed.values():
            self._drop_deleted(row)
            check(self.resource, row)
            row.save(force_update=True)
            self._relate(row)
        self.new = {id_: row for id_, row in self.new.items() if id_ not in changed}
        super().insert()
        self.new |= changed


class Groups(Named):
    """Groups: a kept group keeps its members, a removed group loses them, and a restored group has none."""

    def remove(self) -> None:
        """Delete the removed groups; disable the access rules that name no other group."""
        self._members = Members(self.removed)
        for group in Group.objects.filter(pk__in=self.removed):
            remove_from_rules("groups", group)
        super().remove()

    def segments(self) -> set[str]:
        return super().segments() | self._members.segments

    def changes(self) -> Iterator[Change]:
        """Yield the change of each group, and of each member of a removed one."""
        yield from super().changes()
        yield from filter(None, self._members.changes())


class AccessRules(Table):
    """Access rules: their order has no gaps afterwards, including rules that are not restored."""

    def __init__(self, model: type[Any], past: Past) -> None:
        super().__init__(model, past)
        self.before = {rule.pk: describe(rule) for rule in self._rows()}

    def remove(self) -> None:
        """Delete the affected rules; disable those that name only domains that will be deleted."""
        super().remove()
        gone = [
            id_ for (kind, id_), fields in self._past.objects.items() if kind == Resource.DOMAINS and fields is None
        ]
        for domain in AuthorizedDomain.objects.filter(pk__in=gone):
            remove_from_rules("domains", domain)

    def insert(self) -> None:
        """Insert the rules at their positions. Raises CannotRestore."""
        kept = dict(AccessRule.objects.values_list("pk", "position"))
        wanted = {id_: row.position for id_, row in self.new.items()}
        for number, row in enumerate(self.new.values(), _TEMPORARY_POSITION):
            row.position = number
        super().insert()
        places = kept | wanted
        arrange(sorted(places, key=lambda id_: (places[id_], id_ in kept, id_)))

    def segments(self) -> set[str]:
        return set(AccessRule.segments)

    def changes(self) -> Iterator[Change]:
        """Yield the change of every rule, because rules that are not restored may have moved."""
        yield from _changes_of_all(self.before, self._rows())


class Grants(Table):
    """Grants: those of deleted users and groups are not restored; removing a domain or group deletes its grants."""

    def __init__(self, model: type[Any], past: Past) -> None:
        super().__init__(model, past)
        self.before = {grant.pk: describe(grant) for grant in self._rows()}

    def _rows(self) -> models.QuerySet[Any]:
        return super()._rows().select_related("user", "group", "domain")

    def insert(self) -> None:
        """Insert the grants of users and groups that exist. Raises CannotRestore."""
        users = get_user_model().objects.in_bulk({row.user_id for row in self.new.values()})
        groups = Group.objects.in_bulk({row.group_id for row in self.new.values()})
        self.new = {id_: row for id_, row in self.new.items() if row.user_id in users or row.group_id in groups}
        super().insert()

    def segments(self) -> set[str]:
        return set(Grant.segments)

    def changes(self) -> Iterator[Change]:
        """Yield the change of each grant."""
        yield from _changes_of_all(self.before, self._rows())


def _changes_of_all(before: Mapping[int, Described], rows_now: Iterable[Any]) -> Iterator[Change]:
    """Yield the change of each row of a small table, including rows that the rollback does not name."""
    after = {row.pk: describe(row) for row in rows_now}
    for id_ in sorted({*before, *after}):
        if changed := difference(before.get(id_), after.get(id_)):
            yield changed


def check(resource: str, row: models.Model) -> None:
    """Raise CannotRestore unless the row is valid."""
    try:
        row.full_clean(exclude={"domain"}, validate_unique=False, validate_constraints=False)
        if isinstance(row, WafRule):
            validate_pattern(row.pattern, row.operator)
    except ValidationError as error:
        words = _("the earlier values of %(row)s are no longer valid: %(why)s")
        raise CannotRestore(words, row=f"{resource} {row.pk}", why=message_of(error)) from None
