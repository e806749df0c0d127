"""A release after this one, for tests of upgrades: it adds a table, a column and an index that is built online."""

from pathlib import Path

_FIRST = """
from importlib import import_module

Migration = import_module("gatewall.console.migrations.0001_first_release").Migration
"""
_COLUMN = """
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("console", "0001_first_release")]
    operations = [
        migrations.AddField("savedview", "later_column", models.CharField(max_length=9, db_default="new")),
        migrations.CreateModel("LaterTable", [("id", models.BigAutoField(primary_key=True))]),
    ]
"""
_INDEX = """
from django.db import migrations, models

from gatewall.database.online_index import AddIndexOnline


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("console", "0002_column")]
    operations = [AddIndexOnline("savedview", models.Index(fields=["created_at"], name="later_index"))]
"""
_FILES = {"__init__": "", "0001_first_release": _FIRST, "0002_column": _COLUMN, "0003_index": _INDEX}
ADDED = 2
"""The number of its migrations that this release lacks."""
_BEGIN = """
import io, sys
from django.conf import settings
from django.core.management import call_command
from django.db import connection
said = io.StringIO()
sys.path.insert(0, {folder!r})
settings.MIGRATION_MODULES = {{"console": "later_migrations"}}
"""
LATER_SCHEMA = """
with connection.cursor() as cursor:
    cursor.execute("SELECT later_column FROM console_savedview")
    later = {"column": [value for (value,) in cursor.fetchall()]}
    later["index"] = "later_index" in connection.introspection.get_constraints(cursor, "console_savedview")
    cursor.execute("SELECT count(*) FROM console_latertable")
    (later["table"],) = cursor.fetchone()
out = [said.getvalue(), later]
"""
"""Code whose ``out`` has the output of commands, the column's values, the index's existence, and the table's rows."""


def with_later_migrations(folder: Path, code: str) -> str:
    """Return code for ``Site.python`` that runs this code with the later release's migrations, written to the folder.

    The given code may use Django's ``call_command`` and ``connection``, and ``said``, a file for output of commands.
    """
    package = folder / "later_migrations"
    package.mkdir(exist_ok=True)
    for name, text in _FILES.items():
        (package / f"{name}.py").write_text(text)
    return _BEGIN.format(folder=str(folder)) + code
