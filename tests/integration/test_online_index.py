"""An index that is built while its table is in use, and migrations that never wait long for a lock."""

import time
from threading import Event, Thread

import pytest
from django.core.management import CommandError, call_command
from django.db import NotSupportedError, connection, models, transaction
from django.db.migrations.state import ModelState, ProjectState

from audit.models import AccessLog
from gatewall.database.online_index import AddIndexOnline, locking_index_builds
from gatewall.management.commands import migrate
from policies.models import GeoBlockRule

ON_POSTGRES = connection.vendor == "postgresql"
only_postgres = pytest.mark.skipif(not ON_POSTGRES, reason="SQLite has one lock for everything")
NAME = "online_for_a_test"


def apply(model, *fields, atomic=False):
    """Add the index to the model's table, as a migration does, and return the operation and its states."""
    app, name = model._meta.app_label, model._meta.model_name
    before = ProjectState()
    before.add_model(ModelState.from_model(model, exclude_rels=True))
    after = before.clone()
    operation = AddIndexOnline(name, models.Index(fields=fields, name=NAME))
    operation.state_forwards(app, after)
    with connection.schema_editor(atomic=atomic) as editor:
        operation.database_forwards(app, editor, before, after)
    return operation, before, after


def undo(model, operation, before, after):
    """Remove the index."""
    with connection.schema_editor() as editor:
        operation.database_backwards(model._meta.app_label, editor, after, before)


def indexed(table):
    """Return the columns of each index of this table by name, on PostgreSQL only of valid ones."""
    with connection.cursor() as cursor:
        found = connection.introspection.get_constraints(cursor, table)
        return {name: one["columns"] for name, one in found.items() if one["index"] and _is_valid(cursor, name)}


def _is_valid(cursor, name):
    if not ON_POSTGRES:
        return True
    cursor.execute("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", [name])
    return cursor.fetchone() == (True,)


class Holder:
    """Another connection, in a transaction that has written to the table."""

    def __init__(self, sql):
        self._sql, self._held, self._end = sql, Event(), Event()
        self._thread = Thread(target=self._hold)

    def _hold(self):
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(self._sql)
                self._held.set()
                self._end.wait(30)
        finally:
            connection.close()

    def __enter__(self):
        self._thread.start()
        assert self._held.wait(10)
        return self

    def end(self):
        self._end.set()
        self._thread.join()

    def __exit__(self, *_):
        self.end()


@pytest.mark.django_db(transaction=True)
def test_an_index_is_built_and_taken_away_again():
    done = apply(GeoBlockRule, "remark")
    try:
        assert indexed("policies_geoblockrule")[NAME] == ["remark"]
        if ON_POSTGRES:
            apply(GeoBlockRule, "remark")  # as after a crash before the migration was recorded
    finally:
        undo(GeoBlockRule, *done)
    assert NAME not in indexed("policies_geoblockrule")


@only_postgres
@pytest.mark.django_db(transaction=True)
def test_an_index_on_the_access_log_is_on_every_partition_of_now_and_later():
    done = apply(AccessLog, "country_code", "at")
    try:
        with connection.cursor() as cursor:
            cursor.execute(
                "CREATE TABLE audit_accesslog_20300101 PARTITION OF audit_accesslog "
                "FOR VALUES FROM ('2030-01-01') TO ('2030-01-02')"
            )
        assert indexed("audit_accesslog")[NAME] == ["country_code", "at"]
        for partition in ("audit_accesslog_default", "audit_accesslog_20300101"):
            assert ["country_code", "at"] in indexed(partition).values()
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE IF EXISTS audit_accesslog_20300101")
        undo(AccessLog, *done)
    assert ["country_code", "at"] not in indexed("audit_accesslog_default").values()


@only_postgres
@pytest.mark.django_db(transaction=True)
def test_an_invalid_index_is_built_again():
    done = apply(GeoBlockRule, "remark")
    try:
        with connection.cursor() as cursor:
            cursor.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = to_regclass(%s)", [NAME])
        assert NAME not in indexed("policies_geoblockrule")
        apply(GeoBlockRule, "remark")
        assert NAME in indexed("policies_geoblockrule")
    finally:
        undo(GeoBlockRule, *done)


@only_postgres
@pytest.mark.django_db(transaction=True)
def test_building_keeps_no_writer_out_and_outwaits_the_patience_of_a_migration():
    """Building waits for a transaction that began earlier; meanwhile others can write."""
    writer = (
        "INSERT INTO policies_geoblockrule (created_at, created_by, country_code, remark) VALUES (now(), '', '{}', '')"
    )
    built = []

    def build():
        try:
            with migrate._lock_timeout("default"):
                built.append(apply(GeoBlockRule, "remark"))
        finally:
            connection.close()

    with Holder(writer.format("AA")) as holder:
        builder = Thread(target=build)
        builder.start()
        time.sleep(1.5)  # longer than a migration waits for a table
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout TO '500ms'")
            cursor.execute(writer.format("BB"))
            cursor.execute("RESET lock_timeout")
        assert builder.is_alive()
        holder.end()
        builder.join(30)
    assert NAME in indexed("policies_geoblockrule")
    undo(GeoBlockRule, *built[0])


@only_postgres
@pytest.mark.django_db(transaction=True)
def test_an_index_is_not_built_inside_a_transaction():
    with pytest.raises(NotSupportedError, match="atomic = False"):
        apply(GeoBlockRule, "remark", atomic=True)


@only_postgres
@pytest.mark.django_db(transaction=True)
def test_migrate_tries_a_locked_table_several_times_and_then_fails(monkeypatch):
    monkeypatch.setattr(migrate, "_TRIES", 2)
    monkeypatch.setattr(migrate, "_PAUSE_SECONDS", 0.0)
    began = time.monotonic()
    with Holder("LOCK TABLE django_migrations"), pytest.raises(CommandError, match="in use 2 times in a row"):
        call_command("migrate", verbosity=0)
    assert 2.0 <= time.monotonic() - began < 10
    with connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchone() == ("0",)


@only_postgres
@pytest.mark.django_db(transaction=True)
def test_migrate_goes_on_when_the_table_is_free_again(monkeypatch):
    with Holder("LOCK TABLE django_migrations") as holder:
        monkeypatch.setattr(migrate.time, "sleep", lambda _: holder.end())
        call_command("migrate", verbosity=0)


@only_postgres
@pytest.mark.django_db(transaction=True)
def test_an_index_is_built_inside_the_transaction_of_a_restore_or_a_first_start():
    with locking_index_builds():
        done = apply(GeoBlockRule, "remark", atomic=True)
    assert indexed("policies_geoblockrule")[NAME] == ["remark"]
    undo(GeoBlockRule, *done)
