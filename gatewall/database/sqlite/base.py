"""Django database backend ``gatewall.database.sqlite``."""

import re
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.db.backends.sqlite3 import base

from gatewall.database.sqlite.write_queue import WriteQueue

QUEUE_SUFFIX = "-queue"
_READS = "SELECT"
_WRITES = re.compile(
    r"\s*(?:INSERT|UPDATE|DELETE|REPLACE|CREATE|ALTER|DROP|REINDEX|ANALYZE|VACUUM|BEGIN\s+(?:IMMEDIATE|EXCLUSIVE)"
    r"|PRAGMA\s+wal_checkpoint\s*\(\s*(?:FULL|RESTART|TRUNCATE))",
    re.IGNORECASE,
)
"""Statements that take the write lock. Django writes no others, and reads in no transaction that it writes in later."""


class QueuedConnection(sqlite3.Connection):
    """A connection that waits for its turn before each statement or transaction that writes."""

    queue: WriteQueue | None = None
    patience = 0.0
    """Seconds to wait."""

    def before(self, statement: str) -> None:
        """Wait for the turn, if this takes the write lock. Raises OperationalError as SQLite does, when it is late."""
        if statement.startswith(_READS) or self.queue is None or self.in_transaction or not _WRITES.match(statement):
            return
        try:
            is_our_turn = self.queue.enter(self.patience)
        except OSError as error:  # no room, no descriptor, a file of another user
            raise sqlite3.OperationalError(f"the queue of writers cannot be used: {error}") from error
        if not is_our_turn:
            raise sqlite3.OperationalError("database is locked")

    def after(self) -> None:
        """Leave the turn to others, unless a transaction goes on."""
        if self.queue is not None and not self.in_transaction:
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
    """Django's own, over such a connection."""

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
    """Django's own, with writers that take turns. Readers wait for nobody (WAL)."""

    init_commands: list[str]  # set by Django, whose stubs leave it out

    def get_connection_params(self) -> dict[str, Any]:
        """Return Django's, for connections of our own; a new database will be one that can give free pages back."""
        params: dict[str, Any] = super().get_connection_params()
        if not self.is_in_memory_db() and _is_new(Path(self.settings_dict["NAME"])):
            # Before all else, or it has no effect. In a database that is there it would wait for the write lock.
            self.init_commands.insert(0, "PRAGMA auto_vacuum=INCREMENTAL")
        return {**params, "factory": QueuedConnection}

    def get_new_connection(self, conn_params: dict[str, Any]) -> QueuedConnection:
        """Connect to the database, and to its queue unless each connection has a database of its own."""
        connection: QueuedConnection = super().get_new_connection(conn_params)
        if not self.is_in_memory_db():
            connection.queue = WriteQueue(Path(f"{self.settings_dict['NAME']}{QUEUE_SUFFIX}"))
            connection.patience = conn_params["timeout"]
        return connection

    def create_cursor(self, name: Any = None) -> QueuedCursor:
        """Return a cursor of such a connection."""
        cursor: QueuedCursor = self.connection.cursor(factory=QueuedCursor)
        return cursor


def _is_new(path: Path) -> bool:
    return not path.exists() or not path.stat().st_size
