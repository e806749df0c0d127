"""State of the database schema: read the applied migrations, drop all tables, create them at any state."""

from collections.abc import Collection, Iterable
from functools import cache

from django.apps import apps
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from gatewall.install.backup.values import Table, table_of

Node = tuple[str, str]
"""App label and name of a migration."""
_MIGRATIONS = "django_migrations"
_LAST_VALUE = "SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence(%s, %s)::regclass), 0)"


LAST_WITH_EARLIER_MIGRATIONS = "c667107f"
"""The last commit before 0.1.0 that has the migrations which those of 0.1.0 replace (docs/adr/0133)."""


def applied_migrations() -> list[Node]:
    """Return the applied migrations by the names of this release, sorted."""
    return by_present_names(MigrationRecorder(connection).applied_migrations())


def by_present_names(nodes: Iterable[Node]) -> list[Node]:
    """Return migrations, sorted, with a squashed migration instead of those that it replaces.

    If only a part of the replaced ones is there, the old names are kept: see ``lacking_replaced``.
    """
    found = set(nodes)
    for node, migration in _loader().replacements.items():
        if node in found or found.issuperset(migration.replaces):
            found = found.difference(migration.replaces) | {node}
    return sorted(found)


def lacking_replaced(nodes: Iterable[Node]) -> list[Node]:
    """Return the missing migrations of each squashed migration whose replaced ones are applied only in part."""
    found = set(nodes)
    replaced = [set(migration.replaces) for migration in _loader().replacements.values()]
    return sorted(node for names in replaced if names & found for node in names - found)


def unknown_migrations(nodes: Iterable[Node]) -> list[Node]:
    """Return the migrations that neither this release nor an earlier one has."""
    known = set(_loader().disk_migrations)
    known.update(*(migration.replaces for migration in _loader().replacements.values()))
    return [node for node in nodes if node not in known]


def is_current() -> bool:
    """Return whether the database has exactly the tables of this release."""
    return set(applied_migrations()) == set(_loader().disk_migrations)


def tables_at(nodes: Collection[Node]) -> dict[str, Table]:
    """Return the tables that exist after these migrations, by name."""
    state = _loader().project_state(_last(nodes))
    models = state.apps.get_models(include_auto_created=True)
    tables = [table_of(model) for model in models if model._meta.managed and not model._meta.proxy]  # noqa: SLF001
    return {table.name: table for table in sorted(tables, key=lambda table: table.name)}


def make_tables(nodes: Collection[Node]) -> None:
    """Migrate an empty database to the state after these migrations, and empty its tables."""
    MigrationExecutor(connection).migrate(_last(nodes))
    check_constraints()
    names = [connection.ops.quote_name(name) for name in tables_at(nodes)]
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(f"TRUNCATE {', '.join(names)}")
            return
        for name in names:
            cursor.execute(f"DELETE FROM {name}")  # noqa: S608 - our own name


def migrate_on() -> int:
    """Apply the migrations that are missing; return how many."""
    executor = MigrationExecutor(connection)
    targets = executor.loader.graph.leaf_nodes()
    missing = len(executor.migration_plan(targets))
    executor.migrate(targets)
    return missing


def drop_tables() -> None:
    """Drop every table of Gatewall, also those of a later release."""
    prefixes = tuple(f"{config.label}_" for config in apps.get_app_configs())
    ours = {*connection.introspection.django_table_names(), _MIGRATIONS}
    with connection.cursor() as cursor:
        found = connection.introspection.table_names(cursor)
        names = [connection.ops.quote_name(name) for name in found if name in ours or name.startswith(prefixes)]
        if connection.vendor == "postgresql" and names:
            cursor.execute(f"DROP TABLE {', '.join(names)} CASCADE")
            return
        for name in names:
            cursor.execute(f"DROP TABLE {name}")


def check_constraints() -> None:
    """Check every foreign key now. Raises IntegrityError."""
    if connection.vendor == "postgresql":  # a pending check would also forbid ALTER TABLE
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute("SET CONSTRAINTS ALL DEFERRED")
    else:
        connection.check_constraints()


def sequence_of(table: Table) -> int:
    """Return the last number that the database gave to a row of the table; 0 if it does not number the rows."""
    if table.key is None:
        return 0
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(_LAST_VALUE, [table.name, table.key.name])
        else:
            cursor.execute("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = %s", [table.name])
        (last,) = cursor.fetchone()
    return int(last)


def continue_after(table: Table, last: int) -> None:
    """Set the table's sequence, so that the next row gets a number after ``last`` and after every row."""
    if table.key is None:
        return
    name, key = connection.ops.quote_name(table.name), connection.ops.quote_name(table.key.name)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT coalesce(max({key}), 0) FROM {name}")  # noqa: S608 - our own names
        last = max(last, cursor.fetchone()[0])
        if not last:
            return
        if connection.vendor == "postgresql":
            cursor.execute("SELECT setval(pg_get_serial_sequence(%s, %s), %s)", [table.name, table.key.name, last])
        else:
            cursor.execute("DELETE FROM sqlite_sequence WHERE name = %s", [table.name])
            cursor.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", [table.name, last])


def _last(nodes: Collection[Node]) -> list[Node]:
    """Return the last migration of each app among these."""
    graph, chosen = _loader().graph, set(nodes)
    return sorted(
        node
        for node in chosen
        if not any(child.key in chosen for child in graph.node_map[node].children if child.key[0] == node[0])
    )


@cache
def _loader() -> MigrationLoader:
    """Return the migrations of this release, whatever is applied."""
    return MigrationLoader(None)
