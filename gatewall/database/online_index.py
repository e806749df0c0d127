"""Migration operation: create an index concurrently (``CONCURRENTLY``), also on partitioned tables."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.db import NotSupportedError
from django.db.migrations.operations import AddIndex
from django.db.models import Index

_PARTITIONS = "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = %s::regclass ORDER BY 1"
_KNOWN = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)"
_ATTACHED = "SELECT 1 FROM pg_inherits WHERE inhrelid = to_regclass(%s) AND inhparent = to_regclass(%s)"
_LONGEST_NAME = 63
_may_lock: ContextVar[bool] = ContextVar("index_builds_may_lock", default=False)


@contextmanager
def locking_index_builds() -> Iterator[None]:
    """Within the block, AddIndexOnline locks its table, in the caller's transaction: for tables not in use yet."""
    token = _may_lock.set(True)
    try:
        yield
    finally:
        _may_lock.reset(token)


class AddIndexOnline(AddIndex):
    """AddIndex that does not lock the table on PostgreSQL; needs ``atomic = False``.

    Resumes after an interruption. Raises NotSupportedError inside a transaction, except in ``locking_index_builds``.
    """

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        model = to_state.apps.get_model(app_label, self.model_name)
        is_allowed = self.allow_migrate_model(schema_editor.connection.alias, model)
        if schema_editor.connection.vendor != "postgresql" or _may_lock.get() or not is_allowed:
            super().database_forwards(app_label, schema_editor, from_state, to_state)
            return
        if schema_editor.connection.in_atomic_block:
            raise NotSupportedError("AddIndexOnline needs a migration with atomic = False")
        builder = _Builder(schema_editor, model, self.index)
        with builder.without_lock_timeout():
            builder.build()

    def describe(self) -> str:
        return f"{super().describe()}, without locking the table"


class _Builder:
    """Builds one index of one model on PostgreSQL."""

    def __init__(self, schema_editor: Any, model: Any, index: Index) -> None:
        self._editor = schema_editor
        self._model = model
        self._table: str = model._meta.db_table  # noqa: SLF001 - public by its documentation
        self._index = index

    def build(self) -> None:
        partitions = [name for (name,) in self._query(_PARTITIONS, self._table)]
        if not partitions:
            self._build_on(self._table, self._index)
            return
        if not self._query(_KNOWN, self._index.name):
            # Quick: ON ONLY builds nothing. Partitions created from now on get the index.
            statement = str(self._index.create_sql(self._model, self._editor))
            here = f" ON {self._editor.quote_name(self._table)} "
            self._editor.execute(statement.replace(here, here.replace(" ON ", " ON ONLY "), 1), params=None)
        for partition in partitions:
            part = self._index.clone()
            part.name = f"{partition}_{self._index.name}"[:_LONGEST_NAME]
            if self._query(_ATTACHED, part.name, self._index.name):
                continue
            self._build_on(partition, part)
            names = map(self._editor.quote_name, (self._index.name, part.name))
            self._editor.execute("ALTER INDEX {} ATTACH PARTITION {}".format(*names), params=None)

    @contextmanager
    def without_lock_timeout(self) -> Iterator[None]:
        """Disable ``lock_timeout``: a concurrent build waits for transactions but blocks none."""
        ((before,),) = self._query("SELECT current_setting('lock_timeout')")
        self._query("SELECT set_config('lock_timeout', '0', false)")
        try:
            yield
        finally:
            self._query("SELECT set_config('lock_timeout', %s, false)", before)

    def _build_on(self, table: str, index: Index) -> None:
        """Create the index unless it exists; drop and recreate an invalid one."""
        known = self._query(_KNOWN, index.name)
        if known == [(True,)]:
            return
        if known:
            self._editor.execute(f"DROP INDEX CONCURRENTLY {self._editor.quote_name(index.name)}", params=None)
        statement: Any = index.create_sql(self._model, self._editor, concurrently=True)
        statement.rename_table_references(self._table, table)
        self._editor.execute(statement, params=None)

    def _query(self, question: str, *values: str) -> list[tuple[Any, ...]]:
        with self._editor.connection.cursor() as cursor:
            cursor.execute(question, values)
            rows: list[tuple[Any, ...]] = cursor.fetchall()
            return rows
