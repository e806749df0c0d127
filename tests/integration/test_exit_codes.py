"""Exit codes of commands: 0 done, 1 refused, 2 cannot run; an error is one line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from accounts.models import User
from tests.support import command_server
from tests.support.processes import PATIENCE

BASE = Path(__file__).resolve().parents[2]
KEYS = ("GATEWALL_SECRET_KEY", "GATEWALL_JWT_KEYS", "GATEWALL_DATA_KEYS")


@pytest.fixture
def home(settings, tmp_path):
    settings.GATEWALL_ADMIN_PASSWORD = None
    return tmp_path


def manage(home, *arguments):
    """Run manage.py with an empty state folder."""
    variables = {**{name: os.environ[name] for name in ("PATH", *KEYS)}, "GATEWALL_HOME": str(home)}
    return command_server.run(arguments, env=variables, timeout=PATIENCE)


@pytest.mark.django_db
def test_a_password_that_cannot_be_written_down_is_shown(home, capsys):
    (home / "secrets").write_text("no folder")

    with pytest.raises(CommandError) as caught:
        call_command("create_admin")

    assert (caught.value.returncode, len(str(caught.value).splitlines())) == (2, 1)
    assert "password" in capsys.readouterr().out
    assert User.objects.filter(username="admin").exists()


@pytest.mark.django_db
@pytest.mark.parametrize("arguments", [(), ("--confirm-restored-database",)], ids=["publish", "confirm"])
def test_a_policy_that_cannot_be_published_is_exit_code_2(home, arguments):
    (home / "policy").write_text("no folder")

    with pytest.raises(CommandError) as caught:
        call_command("publish_policy", *arguments)

    assert (caught.value.returncode, len(str(caught.value).splitlines())) == (2, 1)


@pytest.mark.django_db
def test_compacting_postgresql_cannot_be_done_and_deletes_nothing(monkeypatch, capsys):
    monkeypatch.setattr(connection, "vendor", "postgresql")

    with pytest.raises(CommandError) as caught:
        call_command("prune_logs", "--compact", "--days", "1")

    assert (caught.value.returncode, len(str(caught.value).splitlines())) == (2, 1)
    assert "deleted" not in capsys.readouterr().out


COMMANDS = [
    ("explain", "--client-ip", "192.0.2.1", "--host", "a.example", "--uri", "/"),
    ("import_list", "drop.txt", "--name", "drop"),
    ("unban", "192.0.2.1"),
    ("reload",),
    ("publish_policy",),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_database_without_its_tables_is_one_line_and_exit_code_2(tmp_path, command):
    (tmp_path / "drop.txt").write_text("192.0.2.1\n")

    result = manage(tmp_path, *(str(tmp_path / word) if word == "drop.txt" else word for word in command))

    if command[0] == "explain":  # as at the gate: without a policy there is an answer, a refusal
        assert (result.returncode, result.stdout.splitlines()[0]) == (0, "503 cannot-decide (error)")
    else:
        assert result.returncode == 2, result
        assert len(result.stderr.splitlines()) == 1


def test_wrong_arguments_are_exit_code_2(tmp_path):

    result = manage(tmp_path, "explain", "--uri", "/")

    assert result.returncode == 2
    assert "Traceback" not in result.stderr


def test_outside_of_the_virtual_environment_one_line_has_the_command_to_type(tmp_path):
    command = [sys.executable, "-S", BASE / "manage.py", "explain", "--uri", "/a b"]  # without site-packages
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)

    assert (result.returncode, result.stdout, len(result.stderr.splitlines())) == (2, "", 1)
    assert result.stderr.startswith("gatewall: ")
    assert result.stderr.endswith(
        f" is not installed for {sys.executable}: type {BASE}/bin/gatewall explain --uri '/a b'\n"
    )
