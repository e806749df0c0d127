"""The commands of the page about tests name existing tests, and the unit tests need no environment."""

import os
import re
import shlex
import subprocess
import sys

import pytest

from tests.support.processes import BASE

PAGE = (BASE / "docs" / "testing.md").read_text().replace("\n", " ")
COMMANDS = sorted(set(re.findall(r"`(?:python -m tests\.postgres -- )?python -m pytest ([^`]+)`", PAGE)))


@pytest.mark.parametrize("arguments", COMMANDS)
def test_commands_name_existing_tests(arguments):
    paths = [each for each in shlex.split(arguments) if each.startswith("tests/")]

    assert paths
    assert all((BASE / each).exists() for each in paths)


@pytest.mark.parametrize("arguments", [each for each in COMMANDS if "no:django" in each])
def test_unit_tests_are_collected_in_a_shell_without_settings(arguments):
    given = {name: value for name, value in os.environ.items() if not name.startswith(("DJANGO_", "PYTEST_"))}
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:xdist", *shlex.split(arguments)]
    command.remove("-n")
    command.remove("2")

    done = subprocess.run(command, cwd=BASE, env=given, capture_output=True, text=True, timeout=300, check=False)

    assert done.returncode == 0, done.stdout[-2000:]
