"""Django database backend ``gatewall.database.sqlite``."""

import re
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.db.backends.sqlite3 import base

from gatewall.database.sqlite.write_queue import WriteObserver, WriteQueue

QUEUE_SUFFIX = "-queue"
_READS = "SELECT"
_WRITES = re.compile(
    r"\s*(?:INSERT|UPDATE|DELETE|REPLACE|CREATE|ALTER|DROP|REINDEX|ANALYZE|VACUUM|BEGIN\s+(?:IMMEDIATE|EXCLUSIVE)"
    r"|PRAGMA\s+wal_checkpoint\s*\(\s*(?:FULL|RESTART|TRUNCATE))",
    re.IGNORECASE,
)
"""Statements that take the write lock. Django sends no others, and never reads first in a writing transaction."""


class QueuedConnection(sqlite3.Connection):
    """Connection that queues before each writing statement or transaction."""

    queue: WriteQueue | None = None
    patience = 0.0
    """Timeout in seconds."""
    observer: WriteObserver | None = None
    counts = False
    """Whether the observer counts the current transaction as a change."""

    def before(self, statement: str) -> None:
        """Queue if the statement takes the write lock. Raises OperationalError on timeout, as SQLite does."""
        if statement.startswith(_READS) or self.queue is None or self.in_transaction or not _WRITES.match(statement):
            return
        try:
            is_our_turn = self.queue.enter(self.patience)
        except OSError as error:  # disk full, no descriptor, a file of another user
            raise sqlite3.OperationalError(f"the queue of writers cannot be used: {error}") from error
        if not is_our_turn:
            raise sqlite3.OperationalError("database is locked")
        if self.observer is not None:
            self.observer.before_writing()

    def after(self) -> None:
        """Leave the queue, unless in a transaction."""
        if self.queue is None or self.in_transaction:
            return
        if self.observer is not None and self.queue.is_held:
            self.observer.after_writing(counts=self.counts)
            self.counts = False
        self.queue.leave()

    def commit(self) -> None:
        try:
            super().commit()
        finally:
            self.after()

    def rollback(self) -> None:
        try:
            super().rollback()
        finally:
            self.after()

    def close(self) -> None:
        try:
            super().close()
        finally:
            if self.queue is not None:
                self.queue.close()


class QueuedCursor(base.SQLiteCursorWrapper):
    """Django's cursor, over a ``QueuedConnection``."""

    connection: QueuedConnection

    def execute(self, query: str, params: Any = None) -> Any:
        self.connection.before(query)
        try:
            return super().execute(query, params)
        finally:
            self.connection.after()

    def executemany(self, query: str, param_list: Iterable[Any]) -> Any:
        self.connection.before(query)
        try:
            return super().executemany(query, param_list)
        finally:
            self.connection.after()


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's backend with a queue of writers. Readers do not wait (WAL)."""

    init_commands: list[str]  # set by Django, whose stubs leave it out

    def get_connection_params(self) -> dict[str, Any]:
        """Return Django's parameters for queued connections; a new database gets incremental auto-vacuum."""
        params: dict[str, Any] = super().get_connection_params()
        if not self.is_in_memory_db() and _is_new(Path(self.settings_dict["NAME"])):
            # Must be the first statement. For an existing database it has no effect, and would wait for the write lock.
            self.init_commands.insert(0, "PRAGMA auto_vacuum=INCREMENTAL")
        return {**params, "factory": QueuedConnection}

    def get_new_connection(self, conn_params: dict[str, Any]) -> QueuedConnection:
        """Connect, with a queue unless the database is in memory."""
        connection: QueuedConnection = super().get_new_connection(conn_params)
        if not self.is_in_memory_db():
            connection.queue = WriteQueue(Path(f"{self.settings_dict['NAME']}{QUEUE_SUFFIX}"))
            connection.patience = conn_params["timeout"]
        return connection

    def create_cursor(self, name: Any = None) -> QueuedCursor:
        cursor: QueuedCursor = self.connection.cursor(factory=QueuedCursor)
        return cursor


def _is_new(path: Path) -> bool:
    return not path.exists() or not path.stat().st_size
