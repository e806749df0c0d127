"""DateStyle and IntervalStyle of a PostgreSQL server, database or role may differ from those that the driver reads."""

import datetime as dt

from gatewall.database.postgresql.base import DatabaseWrapper
from gatewall.kernel import env_database
from tests.postgres import FAST, server
from tests.support.prepared_postgresql import prepared_on_postgresql
from tests.support.processes import manage

SESSION = """
from datetime import timedelta
from uuid import uuid4
from django.utils import timezone
from accounts.models import Session, User
now = timezone.now()
Session.objects.create(jti=uuid4(), user=User.objects.get(), session_version=0, issued_at=now,
                       expires_at=now + timedelta(hours=30), client_ip="192.0.2.1")
"""


def test_times_are_read_whatever_the_date_style_of_the_server():
    with server([*FAST, "-c", "datestyle=SQL,DMY"]) as running:
        wrapper = DatabaseWrapper({"TIME_ZONE": None, "PATIENCE_SECONDS": 3, **env_database.database(running.url)})
        with wrapper.get_new_connection(wrapper.get_connection_params()) as connection:
            (written,) = connection.execute("SELECT timestamptz '2026-03-04 05:06:07+00'").fetchone()
    assert written == dt.datetime(2026, 3, 4, 5, 6, 7, tzinfo=dt.UTC)


def test_keys_are_rotated_whatever_the_interval_style_of_the_server(tmp_path):
    with prepared_on_postgresql(tmp_path, [*FAST, "-c", "intervalstyle=iso_8601"]) as running:
        manage(tmp_path, "shell", "-c", SESSION, DATABASE_URL=running.url)
        assert "re-sealed" in manage(tmp_path, "rotate_keys", "--finish", DATABASE_URL=running.url)
