"""Authenticator apps keep working when their table gets a key of its own, on SQLite and PostgreSQL."""

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from accounts.models import TotpDevice, User
from accounts.sign_in import totp
from tests.support.second_factor import an_app

BEFORE, AFTER = [("accounts", "0014_remembered_devices")], [("accounts", "0015_several_totp_devices")]
OLD = (
    "CREATE TABLE accounts_totpdevice (user_id bigint NOT NULL PRIMARY KEY REFERENCES accounts_user (id)"
    " DEFERRABLE INITIALLY DEFERRED, sealed_secret varchar(255) NOT NULL, created_at {moment} NOT NULL,"
    " confirmed_at {moment} NULL, last_step bigint NOT NULL)"
)


@pytest.mark.django_db(transaction=True)
def test_the_app_of_the_release_before_signs_in_after_the_migration_and_its_inserts_work(wall):
    bob, alice, at = wall.a_user("Bob"), wall.a_user("alice", is_admin=True), timezone.now()
    app = an_app(bob)
    names = "user_id, sealed_secret, created_at, confirmed_at, last_step"
    moment = "timestamp with time zone" if connection.vendor == "postgresql" else "datetime"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TEMPORARY TABLE kept AS SELECT {names} FROM accounts_totpdevice")  # noqa: S608 - ours
        cursor.execute("DROP TABLE accounts_totpdevice")
        cursor.execute(OLD.format(moment=moment))
        cursor.execute(f"INSERT INTO accounts_totpdevice ({names}) SELECT {names} FROM kept")  # noqa: S608 - ours
        cursor.execute("DROP TABLE kept")
    migration = MigrationExecutor(connection).loader.get_migration(*AFTER[0])
    state = MigrationExecutor(connection).loader.project_state(BEFORE)
    with connection.schema_editor(atomic=True) as editor:
        migration.apply(state, editor)

    assert totp.use_code(bob, app.code(), at)
    with connection.cursor() as cursor:  # as the release before inserts: it knows no key
        cursor.execute(f"INSERT INTO accounts_totpdevice ({names}) SELECT %s, 'x', %s, NULL, 0", [alice.pk, at])
    totp.begin_setup(bob, name="another", at=at)
    rows = list(TotpDevice.objects.values_list("user_id", "name", "confirmed_at"))
    assert [(user, name) for user, name, _ in rows] == [(bob.pk, ""), (alice.pk, ""), (bob.pk, "another")]
    User.objects.get(pk=bob.pk).delete()
    assert [row.user_id for row in TotpDevice.objects.all()] == [alice.pk]
    TotpDevice.objects.all().delete()
