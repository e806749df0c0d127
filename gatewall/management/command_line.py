"""Console command ``gatewall``: run a management command by name. ``bin/gatewall`` and ``manage.py`` call it."""

import argparse
import os
import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from gatewall.credentials import keyfiles
from gatewall.kernel import disk_trouble
from gatewall.management import command_groups

BASE = Path(__file__).resolve().parents[2]
_HELP = {"help", "-h", "--help"}


def main() -> None:
    """Run the command line of this process; if that is not possible, print one line and exit with 2."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gatewall.settings")
    arguments = sys.argv[1:]
    try:
        try:
            run(arguments)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # `gatewall policy export | head` is no error
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is flushed at the end
        sys.exit(128 + signal.SIGPIPE)
    except ModuleNotFoundError as missing:
        package = (missing.name or "").partition(".")[0]
        if (BASE / package).exists():
            raise  # one of our own
        gatewall = shlex.join([str(BASE / "bin" / "gatewall"), *arguments])
        end(f"{package} is not installed for {sys.executable}: type {gatewall}")


def run(arguments: Sequence[str]) -> None:
    """Run a command, or list all commands. An unknown command ends the process with 2 and names the nearest one."""
    name, *rest = arguments or ["help"]
    if name in _HELP and rest:
        name, rest = rest[0], ["--help"]
    if name in _HELP:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `gatewall | head` is no error
        print(command_groups.listing())  # noqa: T201 - the output of the command
        return
    name = name.replace("_", "-")
    if name not in command_groups.known():
        similar = command_groups.nearest(name)
        meant = f"did you mean `gatewall {similar}`? " if similar else ""
        end(f"there is no command {arguments[0]!r}; {meant}`gatewall` lists all commands")
    try:
        if name == "keys":
            _make_keys(rest)
        elif name == "policy" and any(each == "--url" or each.startswith("--url=") for each in rest):
            _run_policy_remotely(rest)
        else:
            _execute(name.replace("-", "_"), rest)
    except OSError as error:
        if not (words := disk_trouble.of_error(error, _home())):
            raise
        end(words)


def _make_keys(arguments: Sequence[str]) -> None:
    """Create the missing keys, without loading the settings, which need these keys."""
    argparse.ArgumentParser("gatewall keys", description=keyfiles.main.__doc__).parse_args(arguments)
    os.chdir(BASE)  # GATEWALL_HOME is relative to the repository
    keyfiles.main()


def _run_policy_remotely(arguments: Sequence[str]) -> NoReturn:
    """Run a policy command over the API, without the settings, which need a configuration of this host."""
    from gatewall.management.policy.running import run_remotely  # noqa: PLC0415 - its libraries may be missing

    sys.exit(run_remotely(arguments, os.environ))


def _execute(name: str, arguments: Sequence[str]) -> None:
    """Run a known command; a bad environment or an unusable database ends it with one line and exit code 2."""
    from gatewall.kernel.env import ConfigError  # noqa: PLC0415 - its libraries may be missing

    try:
        if name in {"control_plane", "data_plane"} and not arguments:
            from gatewall.install.plane_start import become_plane  # noqa: PLC0415 - the others need none

            become_plane(name, BASE)
        _execute_in_django(name, arguments)
    except ConfigError as error:
        end(str(error))


def _execute_in_django(name: str, arguments: Sequence[str]) -> None:
    from django.db import OperationalError, ProgrammingError  # noqa: PLC0415 - a plane starts without Django
    from django.db.migrations.exceptions import MigrationSchemaMissing  # noqa: PLC0415 - as above

    from gatewall.management.utility import Utility  # noqa: PLC0415 - as above

    try:
        Utility(["gatewall", name, *arguments]).execute()
    except (OperationalError, ProgrammingError, MigrationSchemaMissing) as error:  # the second: before `migrate`
        words = _without_password(error)
        end(disk_trouble.of_sqlite(words, _home()) or f"DATABASE_URL: the database cannot be used: {words}")
    except UnicodeEncodeError:
        if "".join(arguments).isprintable():  # a byte that is not UTF-8 is a surrogate here
            raise
        end("a value on the command line is not UTF-8")


def _home() -> Path:
    """Return the folder of the state as the operator wrote it."""
    return Path(os.environ.get("GATEWALL_HOME") or "var")


def end(words: str) -> NoReturn:
    """End the process with one line and exit code 2."""
    print(f"gatewall: {words}", file=sys.stderr)  # noqa: T201 - the one line
    sys.exit(2)


def _without_password(error: Exception) -> str:
    """Return the first line of the database's error, with our password masked."""
    from django.conf import settings  # noqa: PLC0415 - there are settings now

    words = (str(error).splitlines() or [type(error).__name__])[0]
    password = settings.DATABASES["default"].get("PASSWORD")
    return words.replace(str(password), "***") if password else words
