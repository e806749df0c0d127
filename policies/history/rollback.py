"""Write rows as they were at an earlier revision, in one new revision."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, models, transaction

from gatewall.api.translation import message_of
from gatewall.engine.messages import gettext_noop as _
from gatewall.engine.snapshot import Segment
from gatewall.kernel.changes import Change, Resource, describe, difference
from gatewall.policy import revisions, system_settings
from policies import rows
from policies.history.undo import CannotRestore, Past
from policies.models import AUTO_BAN, RESTORABLE, AuthorizedDomain, WafRule
from policies.rules.builtin import free_name
from policies.scopes import Scopes
from policies.validators import MAX_CUSTOM_RULES, validate_pattern

_BATCH = 200
_MOMENTS = frozenset({"expires_at", "created_at"})
_BUILTIN_FIXED = frozenset({"pattern", "operator"})


@revisions.one_at_a_time
def take_back(previous: int, last: int, *, actor: str) -> None:
    """Undo the revisions after ``previous`` up to ``last``; later changes stay.

    Creates no revision if nothing is unrestored to undo. Raises CannotRestore.
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


class _Table:
    """The rows of one model before (``old``) and after (``new``) a rollback."""

    def __init__(self, model: type[Any], past: Past) -> None:
        self.model, self.resource, self._past = model, model.recorded.resource, past
        objects = {id_: fields for (kind, id_), fields in past.objects.items() if kind == self.resource}
        self.old = self._rows().in_bulk(list(objects))
        self.new: dict[int, Any] = {}
        self.before = {id_: describe(row) for id_, row in self.old.items()}
        for id_, fields in objects.items():
            if self._is_kept(id_, fields):
                self.old.pop(id_, None)
            elif fields is not None:
                due = self._fields_unchanged_since(id_, fields)
                self.new[id_] = self._row(id_, due, whole=(self.resource, id_) in past.whole)

    def _rows(self) -> models.QuerySet[Any]:
        rows_now: models.QuerySet[Any] = self.model.objects.all()
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
        """Return whether an equal entry was created since; it stays."""
        same = {name: getattr(row, name) for name in self.model.recorded.same_entry}
        return self._past.is_part and bool(same) and self._rows().filter(**same).exists()

    def _row(self, id_: int, fields: dict[str, Any], *, whole: bool) -> Any:
        old = self.old.get(id_)
        if old is None and not whole:
            raise CannotRestore(_("of %(row)s, what it was is not known in full"), row=f"{self.resource} {id_}")
        row = self.model(pk=id_)
        if old is not None:
            for column in self.model._meta.concrete_fields:  # noqa: SLF001 - documented API
                setattr(row, column.attname, getattr(old, column.attname))
        unrestored = {"builtin"} | (_BUILTIN_FIXED if getattr(old, "builtin_key", None) else set())
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
            _check(self.resource, row)
        self._rows().bulk_create(self.new.values(), batch_size=_BATCH)
        for id_, row in self.new.items():
            row.created_at = created_at[id_]  # auto_now_add has overwritten it
        self._rows().bulk_update(self.new.values(), ["created_at"], batch_size=_BATCH)

    def touched(self) -> Iterator[Any]:
        """Yield each affected row before and after the rollback."""
        yield from (*self.old.values(), *self.new.values())

    def changes(self) -> Iterator[Change]:
        """Yield the change of each row."""
        after = self._rows().in_bulk([*self.old, *self.new])
        for id_ in sorted({*self.old, *self.new}):
            became = difference(self.before.get(id_), describe(after[id_]) if id_ in after else None)
            if became:
                yield became


class _Domains(_Table):
    """Domains: changed rows are updated, not deleted, because other rows refer to them."""

    def remove(self) -> None:
        """Delete the removed domains, and free the names of the changed ones."""
        self._rows().filter(pk__in=[id_ for id_ in self.old if id_ not in self.new]).delete()
        for id_ in self.old.keys() & self.new.keys():
            AuthorizedDomain.objects.filter(pk=id_).update(name=f"restored-{id_}.invalid.")

    def insert(self) -> None:
        """Write the domains. Raises CannotRestore."""
        changed = {id_: self.new[id_] for id_ in self.old.keys() & self.new.keys()}
        for row in changed.values():
            _check(self.resource, row)
            row.save(force_update=True)
        self.new = {id_: row for id_, row in self.new.items() if id_ not in changed}
        super().insert()
        self.new |= changed


def _restore_rows(past: Past) -> tuple[list[Change], set[str]]:
    """Roll back all tables and settings; return the changes, and the segments to compile again."""
    domains, *tables = [(_Domains if model is AuthorizedDomain else _Table)(model, past) for model in RESTORABLE]
    [rules] = [table for table in tables if table.model is WafRule]
    scopes = Scopes(domains.old.values())
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
        segments.update(segment for row in table.touched() if changed for segment in row.segments)
    settings = _restore_settings(past)
    changes += filter(None, [*renamed, *scopes.changes(), settings])
    return changes, segments | {*(WafRule.segments if renamed else ()), *([Segment.SETTINGS] if settings else ())}


def _refuse_too_many_rules() -> None:
    if WafRule.objects.filter(builtin_key__isnull=True).count() > MAX_CUSTOM_RULES:
        raise CannotRestore(
            _("there would be more than %(number)s WAF rules: delete some first"), number=f"{MAX_CUSTOM_RULES:,}"
        )


def _rename_builtin_rules(rules: _Table) -> list[Change | None]:
    """Rename built-in rules that hold the name of a restored rule; return the changes."""
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
    _check(Resource.SETTINGS, settings)
    return system_settings.write(known)


def _check(resource: str, row: models.Model) -> None:
    try:
        row.full_clean(exclude={"domain"}, validate_unique=False, validate_constraints=False)
        if isinstance(row, WafRule):
            validate_pattern(row.pattern, row.operator)
    except ValidationError as error:
        words = _("%(row)s as it was is not valid any more: %(why)s")
        raise CannotRestore(words, row=f"{resource} {row.pk}", why=message_of(error)) from None
