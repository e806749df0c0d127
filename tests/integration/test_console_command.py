"""The console command ``gatewall``: any folder, dashes or underscores, list of all commands, suggestions."""

import os
import shutil
import signal
import subprocess
import sys

import pytest
from django.core.management import get_commands

from gatewall.management import command_groups
from tests.support.processes import BASE, PATIENCE, environment, prepare

PACKAGES = ("gatewall", "accounts", "policies", "audit", "licensing", "webhooks")
STARTED = """
import os, sys
os.execve = lambda path, command, environment: print(command[-1], "django" in sys.modules) or sys.exit()
from gatewall.management.command_line import main
main()
"""


def run(command, folder, **env):
    return subprocess.run(
        command,
        cwd=folder,
        env={"PATH": os.environ["PATH"], **env},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def manage(*arguments):
    """Run ``manage.py`` without the packages of requirements.txt."""
    return run([sys.executable, "-S", str(BASE / "manage.py"), *arguments], "/")


@pytest.fixture
def checkout(tmp_path):
    """Return a checkout with its own environment that needs no download, and a link to its `gatewall`."""
    folder = tmp_path / "a checkout"
    for name in PACKAGES:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).symlink_to(BASE / name)
    shutil.copytree(BASE / "bin", folder / "bin")
    shutil.copy(BASE / "manage.py", folder)
    (folder / "requirements.txt").touch()
    python = folder / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    (tmp_path / "gatewall").symlink_to(folder / "bin" / "gatewall")
    return folder


@pytest.mark.parametrize("arguments", [(), ("help",), ("--help",), ("-h",)])
def test_the_list_has_every_command_of_ours_with_one_line_and_needs_no_package(arguments):
    ours = {name.replace("_", "-") for name, app in get_commands().items() if app == "gatewall"}

    result = manage(*arguments)

    assert (result.returncode, result.stderr) == (0, "")
    lines = [line.split(maxsplit=1) for line in result.stdout.splitlines() if line.startswith("  ")]
    assert ours | {"keys", "check"} <= {name for name, _ in lines}
    assert len(lines) == len({name for name, _ in lines}) == sum(map(len, command_groups.GROUPS.values()))
    assert max(map(len, result.stdout.splitlines())) <= 100


def test_the_known_commands_are_those_of_django_and_keys():
    assert command_groups.known() == {name.replace("_", "-") for name in get_commands()} | {"keys"}


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("doktor", "doctor"), ("controlplane", "control-plane"), ("data_plan", "data-plane"), ("runservr", "runserver")],
)
def test_an_unknown_command_ends_with_2_and_names_the_nearest(typed, meant):
    result = manage(typed, "--option")

    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == (
        f"gatewall: there is no command '{typed}'; did you mean `gatewall {meant}`? `gatewall` lists all commands\n"
    )


def test_an_unknown_command_without_a_similar_name_is_one_line():
    result = manage("xyzzy")

    assert (result.returncode, result.stderr) == (
        2,
        "gatewall: there is no command 'xyzzy'; `gatewall` lists all commands\n",
    )


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("home")
    prepare(folder)
    return folder


@pytest.mark.parametrize(
    ("name", "application"),
    [
        ("data-plane", "gatewall.data_plane:application()"),
        ("data_plane", "gatewall.data_plane:application()"),
        ("control-plane", "gatewall.wsgi:application"),
    ],
)
def test_a_plane_starts_by_either_spelling_and_without_django(home, name, application):
    result = subprocess.run(
        [sys.executable, "-c", STARTED, name],
        cwd=BASE,
        env=environment(home, GATEWALL_PORT="1", GATEWALL_AUTH_PORT="2", GATEWALL_BIND="127.0.0.2"),
        capture_output=True,
        text=True,
        check=False,
    )

    assert result.stdout == f"{application} False\n", result.stderr


@pytest.mark.parametrize("arguments", [("unban", "--help"), ("help", "unban"), ("import_list", "--help")])
def test_the_usage_of_a_command_is_that_of_gatewall(home, arguments):
    result = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=BASE,
        env=environment(home),
        capture_output=True,
        text=True,
        check=False,
    )

    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(f"usage: gatewall {arguments[0].replace('help', arguments[1])} ")


@pytest.mark.parametrize("arguments", [("policy", "schema"), ("policy", "--help", "--url=x")])
def test_a_closed_output_pipe_causes_no_traceback(home, arguments):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as closed:
        result = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=BASE,
            env=environment(home),
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert (result.returncode, result.stderr) == (128 + signal.SIGPIPE, "")


def test_a_value_that_is_not_utf_8_is_refused_in_one_line(home):
    result = subprocess.run(
        [sys.executable, "manage.py", "explain", "--client-ip", "192.0.2.1", "--host", "a.example", "--uri", b"/\xff"],
        cwd=BASE,
        env=environment(home),
        capture_output=True,
        text=True,
        check=False,
    )

    assert (result.returncode, result.stderr) == (2, "gatewall: a value on the command line is not UTF-8\n")


def test_the_command_of_a_checkout_works_from_any_folder_through_a_link(checkout, home, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "list.txt").write_text("203.0.113.7\n")
    ours = {**environment(home), "PYTHON": sys.executable}
    arguments = ["import-list", "list.txt", "--name", "drop", "--dry-run"]

    first = run([str(tmp_path / "gatewall"), *arguments], elsewhere, **ours)
    second = run([str(checkout / ".venv" / "bin" / "gatewall"), *arguments], elsewhere, **ours)

    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert "drop" in first.stdout
    assert first.stdout == second.stdout
    assert first.stderr.startswith("Installing requirements.txt")
    assert second.stderr == ""


def test_the_list_installs_nothing(checkout):
    shutil.rmtree(checkout / ".venv")

    result = run([str(checkout / "bin" / "gatewall")], "/", PYTHON=sys.executable)

    assert result.stdout.startswith("usage: gatewall COMMAND")
    assert not (checkout / ".venv").exists()


def test_keys_are_made_below_the_state_folder_once(tmp_path):
    result = run([sys.executable, str(BASE / "manage.py"), "keys"], "/", GATEWALL_HOME=str(tmp_path / "state"))
    again = run([sys.executable, str(BASE / "manage.py"), "keys"], "/", GATEWALL_HOME=str(tmp_path / "state"))

    assert result.stdout.count("made ") == len(list((tmp_path / "state" / "secrets").iterdir())) == 5
    assert (again.returncode, again.stdout) == (0, "")


def test_a_command_without_arguments_refuses_one(tmp_path):
    result = run([sys.executable, str(BASE / "manage.py"), "keys", "now"], "/", GATEWALL_HOME=str(tmp_path / "state"))

    assert result.returncode == 2
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    ("named", "first", "second", "found"),
    [
        ("", "usable", "good", "second"),
        ("", "usable", "usable", "first"),
        ("", "good", "good", "first"),
        ("first", "usable", "good", "first"),
        ("", None, "usable", "second"),
        ("", None, None, ""),
    ],
)
def test_an_optimized_python_is_preferred_to_the_first_one_unless_one_is_named(tmp_path, named, first, second, found):
    for name, kind in (("first", first), ("second", second)):
        (tmp_path / name).write_text(f"#!/bin/sh\necho {kind}\n" if kind else "#!/bin/sh\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    script = f'. {BASE}/bin/environment.sh; pythons="first second"; find_python; echo "$python"'

    result = run(["sh", "-euc", script], "/", PATH=f"{tmp_path}:{os.environ['PATH']}", PYTHON=named)

    assert result.stdout == (f"{found}\n" if found else "")
    assert (result.returncode, "Python 3.11 or newer is needed" in result.stderr) == (
        (0, False) if found else (2, True)
    )
