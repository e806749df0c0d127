"""Every command with ``--help``, once right and once wrong, and its exit codes as in the documented table."""

import io
import json
import signal
import socket
from collections.abc import Callable
from contextlib import closing
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import Mock

import pytest
from django.core.management import get_commands, load_command_class

from gatewall.credentials.rotation import new_ring
from gatewall.doctor.probing.findings import Verdict
from gatewall.install.ports import free_port
from gatewall.kernel import env
from gatewall.management.commands import backtest, doctor
from gatewall.publication.lineage import DatabaseWentBack
from policies import services
from tests.docs.test_tables import rows, words
from tests.integration.backtests import BLOCK, asked
from tests.support import proxies
from tests.support.cast import CLIENT
from tests.support.key_files import START
from tests.support.mail_server import accept_all
from tests.support.mmdb import write_mmdb
from tests.support.processes import PASSWORD, environment, is_listening, manager, prepare, running, wait_until

COMMANDS = {name for name, app in get_commands().items() if app == "gatewall"}
SERVERS = {"agent", "control_plane", "data_plane", "up"}
ELSEWHERE = {("control_plane", 3), ("data_plane", 3), ("up", 1), ("restore", 0)}
"""Codes that other tests cover: tests/servers/test_auth_life.py, test_up.py; a restore replaces
the tables of a test: test_backup.py."""
MADE_UP = ["--client-ip", CLIENT, "--host", "a.example", "--uri", "/"]


class World(NamedTuple):
    """The state that a case may change before its command runs."""

    patch: pytest.MonkeyPatch
    folder: Any
    installation: Any

    def file(self, name: str, content: bytes = b"") -> str:
        path = self.folder / name
        path.write_bytes(content)
        return str(path)


class Case(NamedTuple):
    """A command line, its preparation, and its exit code."""

    command: str
    code: int
    arguments: Callable[[World], list[str]]


def said_by_the_doctor(verdict, first=Verdict.OK):
    def arrange(world):
        found = {"verdict": verdict, "checks": [{"verdict": first, "title": "t", "findings": [], "fix": None}]}
        world.patch.setattr(doctor, "examine", lambda *_, **__: None)
        world.patch.setattr(doctor, "report", lambda _: found)
        return ["https://a.example/"]

    return arrange


def a_backtest(world):
    world.patch.setattr(backtest, "_limit", lambda: None)
    return [str(asked(BLOCK).pk)]


def an_admin(world):
    return [proxies.a_user("root", is_admin=True).username]


def no_place_for_a_password(world):
    world.patch.setattr("django.conf.settings.GATEWALL_ADMIN_PASSWORD", None)
    world.file("secrets-of-nobody")
    world.patch.setattr("django.conf.settings.GATEWALL_HOME", world.folder / "secrets-of-nobody")
    return ["somebody"]


def a_restored_database(world):
    services.block_network(actor="alice", network="203.0.113.7")
    world.patch.setattr("gatewall.publication.publisher.refuse_going_back", raising(DatabaseWentBack("went back")))
    return []


def a_broken_policy_folder(world):
    world.patch.setattr("gatewall.management.commands.publish_policy.publish", raising(OSError("no disk")))
    return []


def raising(error):
    return Mock(side_effect=error)


def keys(world):
    world.installation.clock.shift(86_400)
    return []


def keys_in_the_environment(world):
    world.patch.setenv("GATEWALL_JWT_KEYS", new_ring(START).text())
    return keys(world)


def banned(source):
    def arrange(world):
        services.block_network(actor="alice", network=CLIENT, source=source)
        return [CLIENT]

    return arrange


def a_geo_database(world):
    world.patch.setattr("gatewall.gate.countries.LOOK_SECONDS", 0.0)
    return [str(write_mmdb(world.folder / "new.mmdb", {"198.51.100.0/24": {"country": "NZ"}}))]


def a_user(world):
    return [proxies.a_user("bob").username]


def no_password_to_read(world):
    world.patch.setattr("sys.stdin", io.StringIO())
    return ["add", "ada", "--password-stdin"]


def requests(world):
    item = {"id": "1", "label": "benign", "visible": "uri", "method": "GET", "uri": "/", "headers": {}}
    world.file("x.jsonl", json.dumps(item).encode() + b"\n")
    return ["rates", str(world.folder)]


def a_backup_that_is_nowhere(world):
    world.patch.setattr("gatewall.management.commands.restore.refuse_while_running", lambda _: None)
    return ["/nowhere/backup", "--yes"]


def given(*arguments):
    return lambda _: list(arguments)


CASES = [
    Case("backtest", 0, a_backtest),
    Case("backtest", 1, given("12345")),
    Case("backup", 0, lambda world: [str(world.folder / "new")]),
    Case("backup", 1, lambda world: [world.file("taken")]),
    Case("backup", 2, given("/nowhere/backup")),
    Case("create_admin", 0, given("root")),
    Case("create_admin", 1, an_admin),
    Case("create_admin", 2, no_place_for_a_password),
    Case("doctor", 0, said_by_the_doctor(Verdict.OK)),
    Case("doctor", 1, said_by_the_doctor(Verdict.WRONG)),
    Case("doctor", 2, said_by_the_doctor(Verdict.OK, Verdict.WRONG)),
    Case("doctor", 2, given("ftp://a.example/")),
    Case("explain", 0, given(*MADE_UP)),
    Case("explain", 2, given(*MADE_UP, "--token-file", "/nowhere/token")),
    Case("geo", 0, lambda world: ["install", *a_geo_database(world)]),
    Case("geo", 1, given("status")),
    Case("geo", 2, given("install", "/nowhere/geo.mmdb")),
    Case("import_list", 0, lambda world: [world.file("list", b"203.0.113.7\n"), "--name", "drop"]),
    Case("import_list", 1, given("--name", "drop", "--remove")),
    Case("import_list", 2, given("/nowhere/list", "--name", "drop")),
    Case("policy", 0, given("export")),
    Case("policy", 1, lambda world: ["drift", world.file("bad.yaml", b"version: 2\n")]),
    Case("policy", 2, given("drift", "/nowhere/policy.yaml")),
    Case("policy", 3, lambda world: ["drift", world.file("other.yaml", b"version: 1\nsettings: {waf_mode: off}\n")]),
    Case("migrate", 0, given("--no-input", "--verbosity=0")),
    Case("migrate", 1, given("no_such_app")),
    Case("proxy_config", 0, given("nginx", "--site", "app.example.com")),
    Case("proxy_config", 2, given("nginx", "--site", "app.example.com:443")),
    Case("prune_logs", 0, given()),
    Case("prune_logs", 2, given("--days", "0")),
    Case("publish_policy", 0, given()),
    Case("publish_policy", 1, a_restored_database),
    Case("publish_policy", 2, a_broken_policy_folder),
    Case("send_test_mail", 0, lambda world: accept_all(world.patch)),
    Case("send_test_mail", 1, given("bob@office.example")),
    Case("recover_admin_2fa", 0, a_user),
    Case("recover_admin_2fa", 1, given("nobody")),
    Case("reload", 0, given()),
    Case("restore", 1, lambda world: [world.file("damaged"), "--yes"]),
    Case("restore", 2, a_backup_that_is_nowhere),
    Case("rotate_keys", 0, keys),
    Case("rotate_keys", 1, given()),  # a new installation
    Case("rotate_keys", 2, keys_in_the_environment),
    Case("seed_domains", 0, given()),
    Case("seed_waf_rules", 0, given()),
    Case("unban", 0, banned("auto-ban")),
    Case("unban", 1, banned("manual")),
    Case("unban", 2, given("nothing")),
    Case("update_geoip", 0, a_geo_database),
    Case("update_geoip", 1, lambda world: [world.file("bad.mmdb", b"nothing")]),
    Case("update_geoip", 2, given("/nowhere/geo.mmdb")),
    Case("domain", 0, given("list")),
    Case("domain", 1, given("add", "no host")),
    Case("user", 0, given("list")),
    Case("user", 1, given("disable", "nobody")),
    Case("user", 2, no_password_to_read),
    Case("waf", 0, requests),
    Case("waf", 2, given("rates", "/nowhere")),
]


@pytest.fixture
def world(monkeypatch, tmp_path, installation, settings):
    """Return a new installation, with a database."""
    settings.GATEWALL_ADMIN_PASSWORD = PASSWORD
    folder = tmp_path / "files"
    folder.mkdir()
    return World(monkeypatch, folder, installation)


@pytest.fixture
def run(monkeypatch, capsys):
    """Return a function that runs a command as ``manage.py`` does; it gives the exit code and the lines on stderr."""
    monkeypatch.setattr("django.core.management.base.connections", SimpleNamespace(close_all=lambda: None))

    def run(command, *arguments):
        try:
            load_command_class("gatewall", command).run_from_argv(["manage.py", command, *arguments])
        except SystemExit as end:
            return end.code or 0, capsys.readouterr().err.splitlines()
        return 0, capsys.readouterr().err.splitlines()

    return run


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_a_command_has_help_and_refuses_an_unknown_option(run, command):
    assert run(command, "--help") == (0, [])
    assert run(command, "--no-such-option")[0] == 2


@pytest.mark.django_db
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.command}-{case.code}")
def test_a_command_ends_with_its_code_and_an_error_is_one_line(run, world, case):
    code, lines = run(case.command, *case.arguments(world))

    assert (code, len(lines)) == (case.code, 1 if code in {1, 2} else 0), lines


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("home")
    prepare(folder)
    return folder


def ports():
    return {name: str(free_port()) for name in ("GATEWALL_PORT", "GATEWALL_AUTH_PORT", "GATEWALL_DEMO_PORT")}


@pytest.mark.parametrize("command", sorted(SERVERS))
def test_a_server_ends_with_0_on_sigterm(home, command):
    changes, log = {**ports(), "GATEWALL_DEMO": "0"}, home / f"{command}.log"
    config = env.read(environment(home, **changes), home)
    is_ready = {
        "agent": (home / "run" / "agent.wake").exists,
        "control_plane": lambda: is_listening(config.port),
        "data_plane": lambda: is_listening(config.auth_port),
        "up": lambda: "Gatewall   http" in log.read_text(),
    }[command]
    (home / "run" / "agent.wake").unlink(missing_ok=True)
    with running(manager(command), log=log, env=environment(home, **changes)) as process:
        wait_until(lambda: is_ready() or process.poll() is not None, what=command)
        process.send_signal(signal.SIGTERM)

        assert process.wait(60) == 0, log.read_text()


@pytest.mark.parametrize("command", sorted(SERVERS))
def test_a_server_that_cannot_run_ends_with_2_and_one_line(home, command):
    changes, log = ports(), home / f"{command}-wrong.log"
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        wrong = {"agent": {"GATEWALL_PORT": "0"}, "data_plane": {"GATEWALL_AUTH_PORT": str(taken.getsockname()[1])}}
        changes |= wrong.get(command, {"GATEWALL_PORT": str(taken.getsockname()[1])})
        with running(manager(command), log=log, env=environment(home, **changes)) as process:
            assert process.wait(60) == 2
    assert len(log.read_text().splitlines()) == 1


def test_the_table_has_every_command_and_the_codes_it_ends_with():
    table = {
        words(command)[0].split()[0].replace("-", "_"): {int(word) for word in words(ends) if word.isdigit()}
        for command, _, ends in rows("operations.md", "## Commands")
    }
    seen = {command: {0, 2} if command in SERVERS else {2} for command in COMMANDS}
    for command, code in [*((case.command, case.code) for case in CASES), *ELSEWHERE]:
        seen[command].add(code)

    assert table == seen
