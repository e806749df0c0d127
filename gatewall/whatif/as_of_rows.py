"""Write the rows as they were at an earlier revision, in a transaction that is rolled back.

Nothing is validated again: the rows were valid then. A deleted token or license gets a digest that no token has, and a
deleted user no password: a recorded request can have them as its subject, but nobody can authenticate with them.
"""

import hashlib
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from accounts.models import User
from gatewall.engine.messages import gettext_noop as _
from gatewall.engine.segments import shard_of_user
from gatewall.engine.snapshot import Segment
from gatewall.kernel.changes import Resource, ids_of
from gatewall.models import SystemSettings
from gatewall.policy import system_settings
from gatewall.whatif.as_of_changes import EverythingBefore
from licensing.models import AppToken, GitToken, License, MachineCredential
from licensing.services import shard_of
from policies.history.undo import CannotRestore
from policies.models import (
    RESTORABLE,
    AuthorizedDomain,
    BlocklistEntry,
    DevicePass,
    Group,
    ListSubscription,
    ShareLink,
)

_BATCH = 200
_MOMENTS = frozenset({"expires_at", "created_at"})
_NAMED: Mapping[Any, str] = {AuthorizedDomain: "name", Group: "name", User: "username"}
"""The models that other rows refer to: a changed row is updated, not replaced. Their unique names."""
_SCOPES: Mapping[Any, tuple[str, ...]] = {
    User: ("authorized_domains", "groups"),
    AppToken: ("authorized_domains",),
    License: ("authorized_domains",),
}
"""Relations that are recorded by name only."""
_MODELS = (
    *_NAMED,
    *(model for model in RESTORABLE if model not in _NAMED),
    GitToken,
    AppToken,
    License,
    ShareLink,
    DevicePass,
    ListSubscription,
)


def write_rows(past: EverythingBefore) -> set[str]:
    """Write the rows of every model and the settings; return the segments that they are published in."""
    tables = [_Rows(model, past) for model in _MODELS]
    for table in reversed(tables):
        table.remove()
    for table in tables:
        table.write()
    for table in tables:
        table.relate()
    segments = {segment for table in tables for segment in table.segments()}
    return segments | _write_settings(past)


class _Rows:
    """The changed rows of one model, as they are now (``old``) and as they were (``new``)."""

    def __init__(self, model: Any, past: EverythingBefore) -> None:
        self._model, self._resource, self._past = model, model.recorded.resource, past
        self._relations = model.recorded.relations or _SCOPES.get(model, ())
        objects = {id_: fields for (kind, id_), fields in past.objects.items() if kind == self._resource}
        rows = model._default_manager.prefetch_related(*self._relations)  # noqa: SLF001 - public by its documentation
        self.old: dict[int, Any] = {
            row.pk: row for row in _in_batches(rows, list(objects)) if not self._is_unknown(row)
        }
        self.new: dict[int, Any] = {}
        self._related: dict[int, dict[str, list[int]]] = {}
        for id_, fields in objects.items():
            if fields is not None and (row := self._row(id_, fields)) is not None:
                self.new[id_] = row

    def _is_unknown(self, row: Any) -> bool:
        """Return whether the row is of an imported list whose earlier entries were not recorded; it stays unchanged."""
        return isinstance(row, BlocklistEntry) and row.source in self._past.unknown

    def _is_of_unknown(self, fields: Mapping[str, Any], *, is_whole: bool) -> bool:
        """Return whether a deleted row was, or may have been, of an imported list whose entries were not recorded."""
        is_entry = self._model is BlocklistEntry and bool(self._past.unknown)
        return is_entry and (not is_whole or fields["source"] in self._past.unknown)

    def _row(self, id_: int, fields: Mapping[str, Any]) -> Any:
        old, is_whole = self.old.get(id_), (self._resource, id_) in self._past.whole
        if old is None and self._is_of_unknown(fields, is_whole=is_whole):
            return None
        if old is None and not is_whole:
            raise CannotRestore(_("the earlier values of %(row)s are not fully known"), row=f"{self._resource} {id_}")
        row = self._model(pk=id_)
        if old is None:
            self._fill(row, fields)
        else:
            for column in self._model._meta.concrete_fields:  # noqa: SLF001 - documented API
                setattr(row, column.attname, getattr(old, column.attname))
        for name, attribute in self._model.recorded.fields.items():
            if name in fields and name not in {"builtin", *self._relations}:
                value = datetime.fromisoformat(fields[name]) if name in _MOMENTS and fields[name] else fields[name]
                setattr(row, "domain_id" if name == "domain" else attribute, value)
        self._related[id_] = {
            name: fields[ids_of(name)] if ids_of(name) in fields else _ids(old, name) for name in self._relations
        }
        return row

    def _fill(self, row: Any, fields: Mapping[str, Any]) -> None:
        """Set the columns of a deleted row that are not recorded."""
        if hasattr(row, "digest"):
            row.digest = hashlib.sha256(f"{self._resource} {row.pk} was deleted".encode()).hexdigest()
        if isinstance(row, User):
            row.set_unusable_password()
        if fields.get("builtin"):
            row.builtin_key = f"removed-{row.pk}"

    def remove(self) -> None:
        """Delete the rows that did not exist then, and rename the others, so that their unique names are free."""
        name = _NAMED.get(self._model)
        kept = self.new if name else {}
        for batch in _batches([id_ for id_ in self.old if id_ not in kept]):
            self._model.objects.filter(pk__in=batch).delete()
        for id_ in self.old.keys() & kept.keys():
            self._model.objects.filter(pk=id_).update(**{str(name): f"as-of-{id_}"})

    def write(self) -> None:
        """Write the rows as they were."""
        updated = self.old.keys() & self.new.keys() if self._model in _NAMED else frozenset()
        for id_ in updated:
            self.new[id_].save(force_update=True)
        added = [row for id_, row in self.new.items() if id_ not in updated]
        self._model.objects.bulk_create(added, batch_size=_BATCH)

    def relate(self) -> None:
        """Write the relations of the rows."""
        for id_, relations in self._related.items():
            for name, ids in relations.items():
                getattr(self.new[id_], name).set(ids)

    def segments(self) -> Iterator[str]:
        """Yield the segments of each row, before and after."""
        for row in (*self.old.values(), *self.new.values()):
            if isinstance(row, User):
                yield shard_of_user(row.pk)
            elif isinstance(row, MachineCredential):
                yield shard_of(row)
            else:
                yield from getattr(row, "segments", ())


def _write_settings(past: EverythingBefore) -> set[str]:
    settings = system_settings.current()
    key = Resource.SETTINGS.value, settings.pk
    if key not in past.objects:
        return set()
    was = past.objects[key]
    if was is None:
        SystemSettings.objects.all().delete()
    else:
        system_settings.write({name: value for name, value in was.items() if name in system_settings.names()})
    return {Segment.SETTINGS}


def _ids(row: Any, relation: str) -> list[int]:
    return [] if row is None else [related.pk for related in getattr(row, relation).all()]


def _in_batches(rows: Any, ids: list[int]) -> Iterator[Any]:
    for batch in _batches(ids):
        yield from rows.filter(pk__in=batch)


def _batches(ids: list[int]) -> Iterator[list[int]]:
    for start in range(0, len(ids), _BATCH):
        yield ids[start : start + _BATCH]
