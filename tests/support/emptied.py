"""Empty the database after a test that commits: only non-empty tables, and not the rows of migrations."""

from typing import Any

from django.db import connections, transaction
from django.test import TransactionTestCase

KEPT = {"django_content_type", "auth_permission"}
"""Tables that migrations fill. Django would empty them too, and fill them again."""


def empty_quickly() -> None:
    """Replace Django's flush after committing tests of this process by ``_empty_tables``.

    Django's ``flush`` takes 25 ms of CPU time on SQLite and 125 ms on PostgreSQL, where it truncates each table;
    this takes 1 ms and 6 ms.
    """
    cases: Any = TransactionTestCase
    cases._fixture_teardown = _empty_tables


def _empty_tables(case: Any) -> None:
    for name in case._databases_names(include_mirrors=False):
        connection = connections[name]
        found = connection.introspection.django_table_names(only_existing=True, include_views=False)
        tables = [connection.ops.quote_name(table) for table in found if table not in KEPT]
        rows = ", ".join(f"EXISTS (SELECT 1 FROM {table})" for table in tables)  # noqa: S608 - names of our tables
        with transaction.atomic(using=name), connection.cursor() as cursor:  # foreign keys are checked at commit
            cursor.execute(f"SELECT {rows}")
            for table, has_rows in zip(tables, cursor.fetchone(), strict=True):
                if has_rows:
                    cursor.execute(f"DELETE FROM {table}")  # noqa: S608 - as above
