"""Django database backend ``gatewall.database.postgresql``."""

from typing import Any

from django.db.backends.postgresql import base
from django.db.backends.postgresql.psycopg_any import IsolationLevel

from gatewall.database.postgresql.connection import WatchedConnection, connect


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's backend, over connections that give up a hung server after ``PATIENCE_SECONDS``."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> WatchedConnection:
        """Connect; Django's options ``pool`` and ``isolation_level`` are not supported."""
        self.isolation_level = IsolationLevel.READ_COMMITTED
        return connect(conn_params, self.settings_dict["PATIENCE_SECONDS"])
