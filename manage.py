#!/usr/bin/env python3
"""Runs one of Gatewall's commands; ``manage.py help`` lists them."""

import os
import shlex
import sys
from pathlib import Path

ENVIRONMENT = Path(__file__).resolve().parent / ".venv"


def main() -> None:
    """Run the command line; where that cannot be done, say why in one line and end with exit code 2."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gatewall.settings")
    try:
        run()
    except ModuleNotFoundError as missing:
        package = (missing.name or "").partition(".")[0]
        if (Path(__file__).parent / package).exists():
            raise  # one of our own
        end(_where_to_run(package))


def run() -> None:
    """Run the command line; a bad environment, or a database that cannot be used, is one line and exit code 2."""
    from django.core.management import execute_from_command_line  # noqa: PLC0415 - it may be missing
    from django.db import OperationalError, ProgrammingError  # noqa: PLC0415 - as above

    from gatewall.kernel.env import ConfigError  # noqa: PLC0415 - as above

    try:
        if sys.argv[1:] in (["control_plane"], ["data_plane"]):
            from gatewall.install.plane_start import become_plane  # noqa: PLC0415 - the others need none

            become_plane(sys.argv[1], Path(__file__).resolve().parent)
        execute_from_command_line(sys.argv)
    except ConfigError as error:
        end(str(error))
    except (OperationalError, ProgrammingError) as error:  # the second: PostgreSQL before `migrate`
        end(f"DATABASE_URL: the database cannot be used: {_without_password(error)}")


def end(words: str) -> None:
    """End the process with one line and exit code 2."""
    print(f"gatewall: {words}", file=sys.stderr)
    sys.exit(2)


def _where_to_run(package: str) -> str:
    """Return what to type where a package is missing: most often another Python has it."""
    python = ENVIRONMENT / "bin" / "python"
    if python.exists() and Path(sys.prefix) != ENVIRONMENT:
        return f"{package} is not installed for {sys.executable}: type {python} {shlex.join(sys.argv)}"
    return (
        f"{package} is not installed for {sys.executable}: type "
        f"python3 -m venv {ENVIRONMENT} && {python} -m pip install --require-hashes -r requirements.txt"
    )


def _without_password(error: Exception) -> str:
    """Return the first line of what the database says, where our password does not stand by accident."""
    from django.conf import settings  # noqa: PLC0415 - there are settings now

    words = (str(error).splitlines() or [type(error).__name__])[0]
    password = settings.DATABASES["default"].get("PASSWORD")
    return words.replace(str(password), "***") if password else words


if __name__ == "__main__":
    main()
