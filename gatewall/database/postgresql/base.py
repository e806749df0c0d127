"""Django database backend ``gatewall.database.postgresql``."""

from typing import Any

from django.db.backends.postgresql import base
from django.db.backends.postgresql.psycopg_any import IsolationLevel

from gatewall.database.postgresql.connection import WatchedConnection, connect


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's own, over connections that give up a silent server after ``PATIENCE_SECONDS`` of its settings."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> WatchedConnection:
        """Connect; of Django's options, ``pool`` and ``isolation_level`` are not known here."""
        self.isolation_level = IsolationLevel.READ_COMMITTED
        return connect(conn_params, self.settings_dict["PATIENCE_SECONDS"])
