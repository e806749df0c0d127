"""Pages of docs/how-to for operators: their lines, typed on a host with Gatewall, but for the folder /etc."""

import subprocess
import sys
from typing import NamedTuple

import pytest

from tests.docs.how_to import OUTLINE, blocks
from tests.support.backups import Site
from tests.support.processes import BASE, PATIENCE


class Host(NamedTuple):
    """A host with an installation, whose /etc is a folder of the test."""

    site: Site
    path: str
    etc: str

    def typed(self, lines: str, **variables: str) -> str:
        """Type lines into a shell; return what they print."""
        environment = {**self.site.environment, **variables}
        run = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", lines.replace("/etc/", f"{self.etc}/")],
            env={**environment, "PATH": f"{self.path}:{environment['PATH']}"},
            capture_output=True,
            text=True,
            timeout=3 * PATIENCE,
            check=False,
        )
        assert run.returncode == 0, run.stdout + run.stderr
        return run.stdout


@pytest.fixture
def host(tmp_path):
    command = tmp_path / "bin" / "gatewall"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{BASE}/manage.py" "$@"\n')
    command.chmod(0o755)
    return Host(Site.migrated(tmp_path / "home"), str(command.parent), str(tmp_path / "etc"))


def test_lines_of_the_first_site_register_it_and_write_the_proxys_files(host, tmp_path):
    (lines,) = blocks("first-site", "sh", OUTLINE[1])
    (tmp_path / "etc" / "caddy").mkdir(parents=True)

    host.typed(lines)

    assert "app.example.com  authenticated" in host.typed("gatewall domain list")
    written = {path.name: path.read_text() for path in (tmp_path / "etc" / "caddy").iterdir()}
    assert set(written) == {"gatewall.caddy", "Caddyfile.example"}
    assert "app.example.com" in written["Caddyfile.example"]
    assert "127.0.0.1:3000" in written["Caddyfile.example"]
