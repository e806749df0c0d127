"""Django's migrate with a short lock timeout on PostgreSQL: a waiting DDL statement blocks all later queries."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.checks import Tags
from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import DEFAULT_DB_ALIAS, OperationalError, connections, transaction
from django.db.migrations.exceptions import MigrationSchemaMissing
from django.db.migrations.recorder import MigrationRecorder

from gatewall.database.online_index import locking_index_builds
from gatewall.install import clock
from gatewall.install.backup import schema

_PATIENCE = "1s"
_TRIES = 60
_PAUSE_SECONDS = 1.0
_LOCK_NOT_AVAILABLE = "55P03"
_CREATED_CONCURRENTLY = {"23505", "42P07"}
"""SQLSTATEs of a statement that creates a table while another connection commits a table of the same name."""


class Command(migrate.Command):
    help = f"{migrate.Command.help} A table that is in use is waited for {_PATIENCE} at once, {_TRIES} times."

    requires_system_checks = (Tags.models, Tags.database)  # whether this database can have our tables

    def handle(self, *args: Any, **options: Any) -> None:
        for number in range(1, _TRIES + 1):
            try:
                with _lock_timeout(options["database"]):
                    with _all_or_nothing_if_empty(options["database"]):
                        self._look_at_applied(options["database"])
                        super().handle(*args, **options)
                    self._warn_of_wrong_clock(options)
            except (OperationalError, MigrationSchemaMissing) as error:
                if not _is_in_use(error):
                    raise
                if number == _TRIES:
                    raise CommandError(f"a table was in use {_TRIES} times in a row; what is done stays") from None
                time.sleep(_PAUSE_SECONDS)
            else:
                return

    def _look_at_applied(self, database: str) -> None:
        """Warn of a database of a newer release; raise CommandError for one with unfinished migrations before 0.1.0."""
        if database != DEFAULT_DB_ALIAS:
            return
        applied = schema.applied_migrations()
        if lacking := schema.lacking_replaced(applied):
            raise CommandError(
                f"the database is of a version before 0.1.0 and lacks {'.'.join(lacking[0])}: install commit "
                f"{schema.LAST_WITH_EARLIER_MIGRATIONS}, run gatewall migrate, then install this version again"
            )
        if later := schema.unknown_migrations(applied):
            names = ", ".join(".".join(node) for node in later)
            self.stderr.write(
                f"The database is of a newer release ({names}): only the release directly before that one works "
                "with it. To go further back, restore a backup."
            )

    def _warn_of_wrong_clock(self, options: dict[str, Any]) -> None:
        if options["database"] != DEFAULT_DB_ALIAS or not schema.is_current():
            return
        if problem := clock.problem():
            self.stderr.write(f"{problem[0].upper()}{problem[1:]}. {clock.FIX}")


def _is_in_use(error: OperationalError | MigrationSchemaMissing) -> bool:
    """Return whether another connection locks a table, or creates the table of migrations (a first start)."""
    is_first = isinstance(error, MigrationSchemaMissing)
    cause = error.__context__ if is_first else error
    state = getattr(cause.__cause__, "sqlstate", "") if cause else ""
    return state == _LOCK_NOT_AVAILABLE or (is_first and state in _CREATED_CONCURRENTLY)


@contextmanager
def _lock_timeout(alias: str) -> Iterator[None]:
    """Limit the lock wait of statements on this connection within the block."""
    connection = connections[alias]
    if connection.vendor != "postgresql":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute(f"SET lock_timeout TO '{_PATIENCE}'")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET lock_timeout")


@contextmanager
def _all_or_nothing_if_empty(alias: str) -> Iterator[None]:
    """Run the block in one transaction if no migration was ever applied: an interrupted first start leaves nothing."""
    connection = connections[alias]
    if MigrationRecorder(connection).has_table():
        yield
        return
    unchecked = connection.disable_constraint_checking()  # else SQLite cannot change tables in a transaction
    try:
        with transaction.atomic(using=alias), locking_index_builds():
            yield
            connection.check_constraints()
    finally:
        if unchecked:
            connection.enable_constraint_checking()
