"""``gatewall migrate`` first checks models and database."""

import pytest

from tests.support import command_server
from tests.support.processes import PATIENCE, environment, prepare


@pytest.mark.parametrize("tag", ["models", "database"])
def test_migrate_makes_no_table_where_a_check_of_models_or_database_fails(tmp_path, tag):
    prepare(tmp_path)
    code = "from django.core import checks\n"
    code += f"checks.register(lambda app_configs, **_: [checks.Error('does not fit')], '{tag}')\n"
    code += "from gatewall.management import command_line\ncommand_line.main()\n"

    done = command_server.run(["migrate"], env=environment(tmp_path), code=code, timeout=PATIENCE)

    assert done.returncode != 0
    assert "does not fit" in done.stderr
    assert "Applying" not in done.stdout
