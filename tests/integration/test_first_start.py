"""Empty databases: a first start that is interrupted, one of a later release, and a restore of an old backup."""

from tests.support.backups import Content, Site
from tests.support.earlier_migrations import EARLIER, FIRST
from tests.support.later_release import LATER_SCHEMA, with_later_migrations

FEW_STATEMENTS = 650
"""Of an empty SQLite database: 578, of which one for each earlier name; the earlier migrations took 1,364."""
INTERRUPTED = """
from django.core.management import call_command
from django.core.management.commands import migrate
from django.db import connection
def interrupted(*_, **__):
    raise KeyboardInterrupt
migrate.emit_post_migrate_signal = interrupted
try:
    call_command("migrate", verbosity=0)
except KeyboardInterrupt:
    out = connection.introspection.table_names()
"""
COUNTED = """
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
with CaptureQueriesContext(connection) as statements:
    call_command("migrate", verbosity=0)
out = len(statements)
"""


def test_a_backup_of_before_is_restored_and_one_of_a_part_is_refused(tmp_path):
    site = Site.migrated(tmp_path / "home")
    site.ok("backup", tmp_path / "backup")
    content = Content.read(tmp_path / "backup")
    django = [node for node in content.manifest["migrations"] if tuple(node) not in FIRST]
    before = [*map(list, EARLIER), *django]
    content.write(tmp_path / "before", manifest={"migrations": before})
    content.write(tmp_path / "part", manifest={"migrations": before[1:]})

    assert "restored" in site.ok("restore", tmp_path / "before", "--yes")
    site.ok("migrate", "--check")
    refusal = site.refused("restore", tmp_path / "part", "--yes")
    assert f"made before 0.1.0 and lacks {'.'.join(EARLIER[0])}: install commit " in refusal


def test_an_interrupted_first_start_leaves_nothing_and_a_whole_one_takes_few_statements(tmp_path):
    site = Site.fresh(tmp_path / "home")

    assert site.python(INTERRUPTED) == []
    assert site.python(COUNTED) < FEW_STATEMENTS


def test_a_first_start_of_a_later_release_builds_its_indexes_in_the_same_transaction(tmp_path):
    site = Site.fresh(tmp_path / "home")

    _, later = site.python(with_later_migrations(tmp_path, "call_command('migrate', verbosity=0)" + LATER_SCHEMA))

    assert later == {"column": [], "index": True, "table": 0}
