"""Check that a migration can be applied while the previous release runs: docs/adr/0045.

A migration whose operations cannot be judged explains its safety by code: ``accepted = {"code": "three rows"}``.
Locks during a scan, and what certainly breaks the previous release, cannot be accepted.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db.migrations import Migration, RunPython, RunSQL, SeparateDatabaseAndState
from django.db.migrations import operations as ops
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState
from django.db.models import CharField, CheckConstraint, Field, ForeignKey, ManyToManyField, UniqueConstraint, Value
from django.db.models.fields import NOT_PROVIDED
from django.db.models.functions import Now

from gatewall.database.online_index import AddIndexOnline

RELEASED = Path(__file__).with_name("released_migrations.toml")
APPS = ("accounts", "audit", "backtest", "console", "gatewall", "licensing", "policies", "webhooks")
FEW_ROWS = {
    "gatewall.policyhead": "one row",
    "gatewall.systemsettings": "one row",
    "gatewall.pendingconfirmation": "one for each forced change",
    "gatewall.node": "one for each host",
    "policies.geoblockrule": "as many as there are countries",
    "policies.authorizeddomain": "typed by hand",
    "policies.allowlistentry": "typed by hand",
    "policies.wafrule": "some thousand",
    "policies.grant": "at most 1,000",
    "policies.listsubscription": "typed by hand",
    "webhooks.webhook": "typed by hand",
    "console.savedview": "typed by hand",
    "backtest.backtest": "asked for by hand",
}
"""Small tables, and why they are small. Any other table may have millions of rows."""
ACCEPTABLE = {"code", "sql", "unknown", "narrower", "nullable", "conflict-target", "half-done"}
_DROP = re.compile(r'ALTER TABLE "?(\w+)"? DROP COLUMN "?(\w+)"?|DROP TABLE "?(\w+)"?', re.IGNORECASE)
_HARMLESS = (ops.AlterModelOptions, ops.AlterModelManagers, ops.AlterModelTableComment, ops.RemoveIndex, AddIndexOnline)
Finding = tuple[str, str]


@dataclass(slots=True)
class History:
    """Models and fields of the newest release, and columns it no longer uses."""

    models: set[str] = field(default_factory=set)
    fields: set[tuple[str, str]] = field(default_factory=set)
    unused: set[tuple[str, str]] = field(default_factory=set)

    def few(self, model: str) -> bool:
        """Return whether a table has few rows, or is unknown to the newest release."""
        return model in FEW_ROWS or model not in self.models


def releases() -> dict[str, dict[str, str]]:
    """Return the last migration of each app, by release."""
    return tomllib.loads(RELEASED.read_text())


def judged(loader: MigrationLoader, released: Mapping[str, str]) -> dict[str, list[Finding]]:
    """Return the findings of all migrations after this release, by ``app.name``."""
    state, history = at_release(loader, released)
    plan = [each for each in _plan(loader) if each.app_label in APPS and not _is_in(each, released)]
    return {f"{each.app_label}.{each.name}": findings(each, state, history) for each in plan}


def at_release(loader: MigrationLoader, released: Mapping[str, str]) -> tuple[ProjectState, History]:
    """Return the models of a release, and its history."""
    history, state = History(), ProjectState()
    for migration in [each for each in _plan(loader) if each.app_label not in APPS or _is_in(each, released)]:
        for operation in migration.operations:
            _remember_unused(history, operation, migration.app_label, state)
            operation.state_forwards(migration.app_label, state)
    for (app, name), model in state.models.items():
        history.models.add(f"{app}.{name}")
        history.fields |= {(f"{app}.{name}", each) for each in model.fields}
    return state, history


def findings(migration: Migration, state: ProjectState, history: History) -> list[Finding]:
    """Return the findings of one migration, and apply it to the state."""
    found: list[Finding] = []
    app, accepted = migration.app_label, getattr(migration, "accepted", {})
    for operation in migration.operations:
        if isinstance(operation, AddIndexOnline) and migration.atomic:
            found.append(("atomic", f"{operation.index.name} is built beside its use: atomic = False"))
        found += _of_operation(operation, app, state, history)
        operation.state_forwards(app, state)
    if not migration.atomic and any(not isinstance(each, AddIndexOnline) for each in migration.operations):
        found.append(
            ("half-done", "without a transaction, and not of AddIndexOnline alone: what fails stays half done")
        )
    return [(code, what) for code, what in found if code not in ACCEPTABLE or not str(accepted.get(code, "")).strip()]


def _of_operation(operation: Any, app: str, state: ProjectState, history: History) -> Iterable[Finding]:
    if isinstance(operation, SeparateDatabaseAndState):
        yield from _of_separate(operation, app, state, history)
        return
    if isinstance(operation, _HARMLESS) or type(operation) is ops.CreateModel:
        return
    judge = _JUDGES.get(type(operation))
    if judge is None:
        yield "unknown", f"{type(operation).__name__} is not known to this check"
    else:
        name = getattr(operation, "model_name", "") or getattr(operation, "name", "")
        yield from judge(operation, f"{app}.{name}".lower(), state, history)


def _of_separate(operation: Any, app: str, state: ProjectState, history: History) -> Iterable[Finding]:
    for each in operation.database_operations:
        yield from _of_operation(each, app, state, history)
    for each in operation.state_operations:
        if isinstance(each, ops.RemoveField):
            old = state.models[app, each.model_name.lower()].fields[each.name]
            if not _may_be_left_out(old):
                what = (
                    f"{each.model_name}.{each.name} stays in the table and wants a value: make it null, or db_default"
                )
                yield "not-null", what
        elif not isinstance(each, ops.DeleteModel):
            yield "unknown", f"{type(each).__name__} in the state alone"


def _add_field(operation: Any, model: str, state: ProjectState, history: History) -> Iterable[Finding]:
    new, what = operation.field, f"{model}.{operation.name}"
    if model not in history.models or isinstance(new, ManyToManyField):
        return
    if not _may_be_left_out(new):
        yield "not-null", f"{what}: the release before inserts rows without it: null=True or db_default"
    if new.db_default is not NOT_PROVIDED and not isinstance(new.db_default, (Value, Now, str, int, float, bool, list)):
        yield "rewrite", f"{what}: its default is not the same for all rows, which rewrites the table"
    if not history.few(model) and _has_index(new):
        yield "index", f"{what}: its index is built while nobody may write: AddIndexOnline afterwards"
    if not history.few(model) and isinstance(new, ForeignKey) and new.db_constraint:  # type: ignore[attr-defined]  # the stubs leave it out
        yield "scan", f"{what}: its foreign key is checked for every row: db_constraint=False"


def _alter_field(operation: Any, model: str, state: ProjectState, history: History) -> Iterable[Finding]:
    key = tuple(model.split("."))
    old, new = state.models[key].fields[operation.name], operation.field
    what = f"{model}.{operation.name}"
    if model not in history.models:
        return
    if old.db_column != new.db_column:
        yield "rename", f"{what}: the release before asks for the old column"
    if _as_stored(old) == _as_stored(new):
        return
    if old.null and not new.null:
        yield "not-null", f"{what}: every row is looked at, and the release before writes null"
    if new.null and not old.null:
        yield "nullable", f"{what}: the release before may read null now"
    if old.db_default is not NOT_PROVIDED and new.db_default is NOT_PROVIDED and not new.null:
        yield "not-null", f"{what}: the release before may leave it out"
    if not history.few(model) and _has_index(new) and not _has_index(old):
        yield "index", f"{what}: its index is built while nobody may write: AddIndexOnline"
    elif new.unique and not old.unique:
        yield "narrower", f"{what}: the release before may write it twice"
    if not _same_type(old, new):
        yield "type", f"{what}: every row is written anew, and the release before knows the old type: a new column"


def _add_index(operation: Any, model: str, state: ProjectState, history: History) -> Iterable[Finding]:
    if not history.few(model):
        yield "index", f"{operation.index.name}: built while nobody may write: AddIndexOnline"


def _add_constraint(operation: Any, model: str, state: ProjectState, history: History) -> Iterable[Finding]:
    constraint = operation.constraint
    if model not in history.models:
        return
    if not history.few(model):
        yield "scan", f"{constraint.name}: every row is looked at while nobody may read"
    if isinstance(constraint, CheckConstraint):
        fields = {name for name, *_ in _leaves(constraint.condition)}
    else:
        fields = set(constraint.fields) if isinstance(constraint, UniqueConstraint) else set()
    if not fields or any((model, name.split("__")[0]) in history.fields for name in fields):
        yield "narrower", f"{constraint.name}: the release before may write what it refuses"


def _remove_constraint(operation: Any, model: str, state: ProjectState, history: History) -> Iterable[Finding]:
    if model in history.models:
        yield "conflict-target", f"{operation.name}: ON CONFLICT of the release before may name its columns"


def _remove_field(operation: Any, model: str, state: ProjectState, history: History) -> Iterable[Finding]:
    if (model, operation.name) in history.fields:
        yield "drop", f"{model}.{operation.name}: the release before uses it: {_TWO_STEPS}"


def _delete_model(operation: Any, model: str, state: ProjectState, history: History) -> Iterable[Finding]:
    if model in history.models:
        yield "drop", f"{operation.name}: the release before uses its table: {_TWO_STEPS}"


def _rename(operation: Any, model: str, state: ProjectState, history: History) -> Iterable[Finding]:
    yield "rename", f"{operation.describe()}: the release before asks for the old name"


def _run_sql(operation: Any, _: str, state: ProjectState, history: History) -> Iterable[Finding]:
    statements = operation.sql if isinstance(operation.sql, (list, tuple)) else [operation.sql]
    for statement in map(str, statements):
        drop = _DROP.fullmatch(statement.strip().rstrip(";"))
        if drop is None:
            if re.search(r"\b(DROP|RENAME)\b", statement, re.IGNORECASE):
                yield "drop", f"{statement[:60]}: one DROP a statement, of what no release uses any more"
            yield "sql", f"{statement[:60]}: what it locks is not known to this check"
        elif (drop[1] or drop[3], drop[2] or "") not in history.unused:
            yield "drop", f"{statement[:60]}: the release before uses it: {_TWO_STEPS}"


def _run_python(operation: Any, _: str, state: ProjectState, history: History) -> Iterable[Finding]:
    yield "code", f"{operation.code.__name__}: how long it holds which rows is not known to this check"


_TWO_STEPS = "first out of the state (SeparateDatabaseAndState), in the release after that out of the table (RunSQL)"
Judge = Callable[[Any, str, ProjectState, History], Iterable[Finding]]
_JUDGES: dict[type, Judge] = {
    ops.AddField: _add_field,
    ops.AlterField: _alter_field,
    ops.AddIndex: _add_index,
    ops.AddConstraint: _add_constraint,
    ops.RemoveConstraint: _remove_constraint,
    ops.RemoveField: _remove_field,
    ops.DeleteModel: _delete_model,
    ops.RenameField: _rename,
    ops.RenameModel: _rename,
    ops.AlterModelTable: _rename,
    RunSQL: _run_sql,
    RunPython: _run_python,
}


def _may_be_left_out(each: "Field[Any, Any]") -> bool:
    """Return whether an INSERT may omit the column."""
    return isinstance(each, ManyToManyField) or each.null or each.db_default is not NOT_PROVIDED


def _has_index(each: "Field[Any, Any]") -> bool:
    return bool(each.unique or each.db_index)  # type: ignore[attr-defined]  # the stubs leave it out


def _as_stored(each: "Field[Any, Any]") -> tuple[Any, ...]:
    """Return the parts of a field that are in the database: no validators, choices or labels."""
    _, path, arguments, options = each.deconstruct()
    return path, arguments, {name: value for name, value in options.items() if name not in each.non_db_attrs}


def _same_type(old: "Field[Any, Any]", new: "Field[Any, Any]") -> bool:
    """Return whether no row must be rewritten: an equal type, or a longer text."""
    if isinstance(old, CharField) and isinstance(new, CharField):
        return _longer(old, new)
    return type(old) is type(new) and _shape(old) == _shape(new)


def _longer(old: "CharField[Any, Any]", new: "CharField[Any, Any]") -> bool:
    return (new.max_length or 0) >= (old.max_length or 0)


def _shape(each: "Field[Any, Any]") -> dict[str, Any]:
    told = {"null", "unique", "db_index", "db_default", "default", "db_column"}
    return {name: value for name, value in _as_stored(each)[2].items() if name not in told}


def _leaves(condition: Any) -> Iterable[tuple[str, Any]]:
    for child in condition.children:
        if isinstance(child, tuple):
            yield child
        else:
            yield from _leaves(child)


def _remember_unused(history: History, operation: Any, app: str, state: ProjectState) -> None:
    """Record what a released migration removed from the state but not from the database."""
    for each in operation.state_operations if isinstance(operation, SeparateDatabaseAndState) else ():
        if isinstance(each, ops.RemoveField):
            model = state.apps.get_model(app, each.model_name)
            history.unused.add((model._meta.db_table, model._meta.get_field(each.name).column))
        elif isinstance(each, ops.DeleteModel):
            history.unused.add((state.apps.get_model(app, each.name)._meta.db_table, ""))


def _plan(loader: MigrationLoader) -> list[Migration]:
    """Return all migrations in an order of application."""
    keys: dict[tuple[str, str], None] = {}
    for leaf in sorted(loader.graph.leaf_nodes()):
        keys |= dict.fromkeys(loader.graph.forwards_plan(leaf))
    return [loader.graph.nodes[key] for key in keys]


def _is_in(migration: Migration, released: Mapping[str, str]) -> bool:
    """Return whether the release includes the migration, by its number."""
    return migration.name[:4] <= released.get(migration.app_label, "")[:4]
