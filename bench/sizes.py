"""Disk usage of the access log in bytes, by purpose."""

import sqlite3
from pathlib import Path

import psycopg

_ROWS = ("audit_accesslog", "audit_accesslogrule")
_POSTGRES = """
SELECT coalesce(parent.relname, class.relname), sum(pg_table_size(class.oid)), sum(pg_indexes_size(class.oid))
FROM pg_class class
LEFT JOIN pg_inherits ON inhrelid = class.oid LEFT JOIN pg_class parent ON parent.oid = inhparent
WHERE class.relkind = 'r' AND class.relname LIKE 'audit\\_%' GROUP BY 1
"""
_SQLITE = """
SELECT tbl_name, sum(CASE WHEN type = 'table' THEN pgsize ELSE 0 END),
       sum(CASE WHEN type = 'index' THEN pgsize ELSE 0 END)
FROM dbstat JOIN sqlite_master ON sqlite_master.name = dbstat.name
WHERE tbl_name LIKE 'audit\\_%' ESCAPE '\\' GROUP BY 1
"""
Sizes = dict[str, int]


def of_sqlite(path: Path) -> Sizes:
    """Return the bytes of rows, their indexes, and the counts in this file."""
    connection = sqlite3.connect(path)
    try:
        return _sorted(connection.execute(_SQLITE).fetchall())
    finally:
        connection.close()


def of_postgres(url: str) -> Sizes:
    """Return the bytes of rows, their indexes, and the counts of this database."""
    with psycopg.connect(url) as connection:
        return _sorted(connection.execute(_POSTGRES).fetchall())


def _sorted(tables: list[tuple[str, int, int]]) -> Sizes:
    sizes = {"rows": 0, "indexes": 0, "counts": 0}
    for name, table, indexes in tables:
        if name in _ROWS:
            sizes["rows"] += int(table)
            sizes["indexes"] += int(indexes)
        else:
            sizes["counts"] += int(table + indexes)
    return sizes
