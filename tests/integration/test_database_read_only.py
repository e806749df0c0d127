"""A read-only PostgreSQL, such as a standby after a failover, is treated as an outage and not as a bug."""

from tests.postgres import FAST
from tests.support import command_server
from tests.support.prepared_postgresql import prepared_on_postgresql
from tests.support.processes import PATIENCE, environment

WRITTEN = """
from django.db import OperationalError, connection
with connection.cursor() as cursor:
    cursor.execute("SELECT 1")
    try:
        cursor.execute("UPDATE accounts_user SET is_active = true")
    except OperationalError as error:
        print(error)
connection.close_if_unusable_or_obsolete()
with connection.cursor() as cursor:
    cursor.execute("SELECT 2")
    print(cursor.fetchone())
"""


def test_a_write_on_a_read_only_server_is_one_line_and_ends_its_connection(tmp_path):
    with prepared_on_postgresql(tmp_path, [*FAST, "-c", "default_transaction_read_only=on"]) as running:
        ours = environment(tmp_path, DATABASE_URL=running.url)
        added = command_server.run(("user", "add", "alice"), env=ours, timeout=PATIENCE)
        written = command_server.run(("shell", "-v0", "-c", WRITTEN), env=ours, timeout=PATIENCE)

    assert (added.returncode, added.stderr) == (
        2,
        "gatewall: DATABASE_URL: the database cannot be used: the server is read-only\n",
    )
    assert written.stdout.splitlines() == ["the server is read-only", "(2,)"], written.stderr
