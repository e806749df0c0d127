"""The operator pages of docs/how-to: run their lines on a host with Gatewall and another folder for /etc."""

import os
import pwd
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from gatewall.install.ports import free_port
from tests.docs.how_to import OUTLINE, blocks
from tests.postgres import postgres
from tests.support.backups import Site
from tests.support.processes import PATIENCE, control_plane
from tests.support.typed_command import put_command

VISITOR = "203.0.113.9"
BAN = f"""
from policies import services
services.block_network(actor="auto-ban", network="{VISITOR}", source="auto-ban")
"""


class Host(NamedTuple):
    """A host with an installation; its /etc is a folder of the test."""

    site: Site
    path: str
    etc: str

    def typed(self, lines: str, **variables: str) -> str:
        """Type lines into a shell; return what they print."""
        environment = {**self.site.environment, **variables}
        run = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", lines.replace("/etc/", f"{self.etc}/")],
            cwd=self.site.home,
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
    programs = tmp_path / "bin"
    programs.mkdir()
    put_command(programs)
    return Host(Site.migrated(tmp_path / "home"), str(programs), str(tmp_path / "etc"))


def test_the_lines_for_the_first_site_register_it_and_write_the_proxy_files(host, tmp_path):
    (lines,) = blocks("first-site", "sh", OUTLINE[1])
    (tmp_path / "etc" / "caddy").mkdir(parents=True)

    host.typed(lines)

    assert "app.example.com  authenticated" in host.typed("gatewall domain list")
    written = {path.name: path.read_text() for path in (tmp_path / "etc" / "caddy").iterdir()}
    assert set(written) == {"gatewall.caddy", "Caddyfile.example"}
    assert "app.example.com" in written["Caddyfile.example"]
    assert "127.0.0.1:3000" in written["Caddyfile.example"]


def checks(page: str) -> tuple[str, list[str]]:
    """Return the check lines of a page, and their expected output from its comments."""
    lines = "".join(blocks(page, "sh", OUTLINE[2]))
    return lines, re.findall(r"    # (.*)$", lines, re.MULTILINE)


def test_the_lines_for_a_lockout_find_its_cause_and_end_it(host):
    find, ways, back = blocks("locked-out", "sh", OUTLINE[1])
    lines, said = checks("locked-out")
    host.typed("gatewall domain add app.example.com")
    host.typed("echo 'correct horse battery' | gatewall user add admin --password-stdin --admin")
    host.site.ok("shell", "-c", BAN)

    banned = host.typed(find)
    host.typed(ways)
    revision = re.search(r"revision (\d+)", host.typed(find))[1]
    host.typed(f"printf 'version: 1\nblocklist: [{{ip: {VISITOR}/32}}]\n' | gatewall policy apply - --force")
    blocked = host.typed(find)
    host.typed(back.replace("--revision 12", f"--revision {revision}"))

    for answer in (banned, blocked):
        assert answer.startswith("403 client-blocked")
        assert "<- decides" in answer
    assert host.typed(lines).splitlines() == said


def test_the_lines_for_an_attack_block_a_list_and_limit_the_rate_reversibly(host):
    block, rate, over = blocks("under-attack", "sh", OUTLINE[1])
    lines, said = checks("under-attack")
    host.typed("gatewall domain add app.example.com")

    host.typed(block)
    assert host.typed(lines).splitlines() == said
    host.typed(rate)
    exported = host.typed("gatewall policy export")
    assert "request_rate_per_minute: 600" in exported
    assert "authorized_domains_mode: registered" in exported
    host.typed(over)
    assert host.typed(lines).startswith("401 credential-missing")


def test_metrics_and_health_are_readable_with_the_token_of_the_page(host, tmp_path):
    (make,) = blocks("monitoring", "sh", OUTLINE[1])
    lines, _ = checks("monitoring")
    user = pwd.getpwuid(os.getuid()).pw_name
    for folder in ("gatewall", "prometheus"):
        (tmp_path / "etc" / folder).mkdir(parents=True)
    host.typed(re.sub(r"-o (gatewall|prometheus) ", f"-o {user} ", make))
    port, token = free_port(), str(tmp_path / "etc" / "gatewall" / "metrics-token")

    assert Path(token).read_text() == (tmp_path / "etc" / "prometheus" / "gatewall-token").read_text()
    assert {path.stat().st_mode & 0o777 for path in tmp_path.glob("etc/*/*-token")} == {0o400}
    with control_plane(host.site.home, port, GATEWALL_WORKERS="1", GATEWALL_METRICS_TOKEN_FILE=token):
        number, health = host.typed(lines.replace("9999", str(port))).splitlines()

    assert int(number) > 20
    assert '"status":"ok"' in health


def test_a_site_moves_to_postgresql_by_the_lines_of_the_page(host, tmp_path):
    (move,) = blocks("many-hosts", "sh", OUTLINE[1])
    lines, _ = checks("many-hosts")
    host.typed("gatewall domain add app.example.com")
    (tmp_path / "backups").mkdir()

    with postgres() as url:
        moved = move.replace("/srv/backups", str(tmp_path / "backups"))
        moved, number = re.subn(r"DATABASE_URL=\S+", f"DATABASE_URL={url}", moved)
        host.typed(moved)

        assert number == 1
        assert "domain app.example.com" in host.typed(lines, DATABASE_URL=url)


def test_a_change_is_exported_planned_applied_and_in_force_by_the_lines_of_the_page(host):
    export, plan, apply = blocks("plan-a-change", "sh", OUTLINE[1])
    lines, _ = checks("plan-a-change")
    host.typed("gatewall domain add app.example.com")
    host.typed(export)
    host.typed("sed -i 's/^blocklist: .*/blocklist: [{ip: 203.0.113.0\\/24}]/' policy.yaml")

    planned, applied = host.typed(plan), host.typed(apply)

    assert "203.0.113.0/24" in planned
    assert "It is reverted in 300 seconds unless you confirm it." in applied
    assert host.typed(lines).startswith("No drift")
