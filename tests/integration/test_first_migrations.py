"""The migrations of 0.1.0 replace earlier ones, and databases with the earlier ones remain usable."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.operations import CreateModel
from django.db.migrations.recorder import MigrationRecorder

from gatewall.database.first_migration import FirstMigration
from gatewall.install.backup import schema
from tests.support.earlier_migrations import EARLIER, FIRST


@pytest.fixture
def earlier(db):
    """The recorded migrations, as the last version with the earlier ones recorded them."""
    recorder = MigrationRecorder(connection)
    recorder.ensure_schema()
    for node in FIRST:
        recorder.record_unapplied(*node)
    assert set(EARLIER) < set(recorder.applied_migrations())
    return recorder


def migrated():
    said = StringIO()
    call_command("migrate", verbosity=1, stdout=said, stderr=said)
    return said.getvalue()


def test_a_database_with_all_earlier_migrations_needs_no_migration(earlier):
    assert schema.is_current()
    call_command("migrate", "--check")

    said = migrated()

    assert "No migrations to apply" in said
    assert "newer" not in said
    assert set(FIRST) < set(earlier.applied_migrations())
    call_command("makemigrations", "--check", "--dry-run", verbosity=0)


@pytest.mark.parametrize("lacking", [("policies", "0017_grants_of_groups"), EARLIER[0]])
def test_some_but_not_all_earlier_migrations_are_one_line_with_the_commit_to_install(earlier, lacking):
    earlier.record_unapplied(*lacking)

    with pytest.raises(CommandError) as refused:
        migrated()

    assert str(refused.value) == (
        f"the database is of a version before 0.1.0 and lacks {'.'.join(lacking)}: install commit "
        f"{schema.LAST_WITH_EARLIER_MIGRATIONS}, run gatewall migrate, then install this version again"
    )


def test_a_partly_migrated_earlier_database_never_counts_as_migrated():
    """Otherwise the second migration of an app would be run on the tables of earlier ones."""
    for app in {app for app, _ in EARLIER}:
        names = [node for node in EARLIER if node[0] == app]
        assert all(schema.lacking_replaced(names[:number]) for number in range(1, len(names))), app
        assert schema.by_present_names(names) == [node for node in sorted(FIRST) if node[0] == app]


def test_every_first_migration_makes_tables_and_nothing_else():
    """FirstMigration creates the tables from the state after all of its operations."""
    for migration in FIRST.values():
        assert isinstance(migration, FirstMigration)
        assert all(isinstance(operation, CreateModel) for operation in migration.operations)
