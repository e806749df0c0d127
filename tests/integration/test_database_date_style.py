"""A server, database or role of PostgreSQL may write times in another style than the driver reads."""

import datetime as dt

from gatewall.database.postgresql.base import DatabaseWrapper
from gatewall.kernel import env_database
from tests.postgres import FAST, server


def test_times_are_read_whatever_the_date_style_of_the_server():
    with server([*FAST, "-c", "datestyle=SQL,DMY"]) as running:
        wrapper = DatabaseWrapper({"TIME_ZONE": None, "PATIENCE_SECONDS": 3, **env_database.database(running.url)})
        with wrapper.get_new_connection(wrapper.get_connection_params()) as connection:
            (written,) = connection.execute("SELECT timestamptz '2026-03-04 05:06:07+00'").fetchone()
    assert written == dt.datetime(2026, 3, 4, 5, 6, 7, tzinfo=dt.UTC)
