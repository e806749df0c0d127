"""Django's migrate with a short lock timeout on PostgreSQL: a waiting DDL statement blocks all later queries."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import DEFAULT_DB_ALIAS, OperationalError, connections

from gatewall.install import clock
from gatewall.install.backup import schema

_PATIENCE = "1s"
_TRIES = 60
_PAUSE_SECONDS = 1.0
_LOCK_NOT_AVAILABLE = "55P03"


class Command(migrate.Command):
    help = f"{migrate.Command.help} A table that is in use is waited for {_PATIENCE} at once, {_TRIES} times."

    def handle(self, *args: Any, **options: Any) -> None:
        for number in range(1, _TRIES + 1):
            try:
                with _lock_timeout(options["database"]):
                    self._warn_of_newer_release(options["database"])
                    super().handle(*args, **options)
                    self._warn_of_wrong_clock(options)
            except OperationalError as error:
                if getattr(error.__cause__, "sqlstate", "") != _LOCK_NOT_AVAILABLE:
                    raise
                if number == _TRIES:
                    raise CommandError(f"a table was in use {_TRIES} times in a row; what is done stays") from None
                time.sleep(_PAUSE_SECONDS)
            else:
                return

    def _warn_of_newer_release(self, database: str) -> None:
        later = schema.unknown_migrations(schema.applied_migrations())
        if later and database == DEFAULT_DB_ALIAS:
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
