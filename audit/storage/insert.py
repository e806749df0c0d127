"""Insert records into the access log, in the caller's transaction."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db import DataError, IntegrityError, connection, transaction

from audit.spool.batches import Row
from audit.spool.rows import COLUMNS

# Errors of the database, and of its driver for values that cannot be sent.
_REFUSALS = (DataError, IntegrityError, ValueError, TypeError, OverflowError)
_LOG = f"INSERT INTO audit_accesslog ({', '.join(COLUMNS)}) VALUES ({', '.join(['%s'] * len(COLUMNS))})"  # noqa: S608 - our own names
_RULES = "INSERT INTO audit_accesslogrule (rule_id, at, decision_id) VALUES (%s, %s, %s)"


def insert(rows: list[Row], bad: list[bytes]) -> list[Row]:
    """Insert rows and return them; rows that the database rejects are isolated by bisection and added to ``bad``."""
    if not rows:
        return []
    try:
        with transaction.atomic():
            _insert_all(rows)
    except _REFUSALS:
        if len(rows) == 1:
            bad.append(rows[0].data)
            return []
        middle = len(rows) // 2
        return insert(rows[:middle], bad) + insert(rows[middle:], bad)
    return rows


def _insert_all(rows: list[Row]) -> None:
    rules = [(rule["id"], row.columns[1], row.columns[0]) for row in rows for rule in row.record.rules]
    if connection.vendor == "postgresql":
        _copy("audit_accesslog", COLUMNS, (row.columns for row in rows))
        _copy("audit_accesslogrule", ("rule_id", "at", "decision_id"), rules)
        return
    # Django's format for times and UUIDs in a database without these types.
    columns = (row.columns for row in rows)
    with connection.cursor() as cursor:
        cursor.executemany(_LOG, [(key.hex, _text_of(at), *others) for key, at, *others in columns])
        cursor.executemany(_RULES, [(rule, _text_of(at), key.hex) for rule, at, key in rules])


def _text_of(at: datetime) -> str:
    """Return a time in UTC as Django's adapter for SQLite does, which takes five times as long."""
    return str(at.replace(tzinfo=None))


def _copy(table: str, columns: Iterable[str], rows: Iterable[tuple[Any, ...]]) -> None:
    # Convert driver errors, which Django does not do here.
    with (
        connection.wrap_database_errors,
        connection.cursor() as cursor,
        cursor.copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN") as copy,
    ):
        for row in rows:
            copy.write_row(row)
