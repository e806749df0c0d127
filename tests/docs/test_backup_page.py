"""docs/backup.md: its lines run in order, with paths of the test."""

import os
import re
import subprocess
from pathlib import Path

from gatewall.install.ports import free_port
from tests.support.backups import Site
from tests.support.processes import PATIENCE
from tests.support.typed_command import put_command

BASE = Path(__file__).resolve().parents[2]
BLOCKS = re.findall(r"^ *```sh\n(.*?)^ *```", (BASE / "docs" / "backup.md").read_text(), re.DOTALL | re.MULTILINE)


def test_the_lines_of_the_page_run_as_printed(tmp_path):
    site = Site.fresh(tmp_path / "home")
    site.ok("migrate", "--verbosity=0")
    programs, backups = tmp_path / "bin", tmp_path / "backups"
    backups.mkdir()
    programs.mkdir()
    put_command(programs)
    making, restoring, drill = (
        block.replace("/srv/backups", str(backups)).replace("/tmp/drill", str(tmp_path / "drill"))  # noqa: S108
        for block in BLOCKS
    )
    for port in ("19999", "19998"):  # another server on this machine may use them
        assert drill.count(port) == 1
        drill = drill.replace(port, str(free_port()))

    environment = {**site.environment, "PATH": f"{programs}:{os.environ['PATH']}"}
    for lines in (making, restoring.replace("monday", "monday --yes"), drill):
        run = subprocess.run(
            ["sh", "-ec", lines], env=environment, capture_output=True, text=True, timeout=5 * PATIENCE, check=False
        )
        assert run.returncode == 0, run.stdout + run.stderr

    folder = site.home / "backups"
    site.ok("backup", folder / "first")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert "is in force on this host" in run.stdout
    assert sorted(path.name for path in backups.iterdir()) == ["gatewall-monday", "small"]
    assert (tmp_path / "drill" / "gatewall.sqlite3").exists()
