#!/usr/bin/env python3
"""Runs one of Gatewall's commands; ``manage.py help`` lists them."""

import os
import sys

from django.core.management import execute_from_command_line
from django.db import OperationalError, ProgrammingError

from gatewall.env import ConfigError


def main() -> None:
    """Run the command line; a bad environment, or a database that cannot be used, is one line and exit code 2."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gatewall.settings")
    try:
        execute_from_command_line(sys.argv)
    except ConfigError as error:
        print(f"gatewall: {error}", file=sys.stderr)
        sys.exit(2)
    except (OperationalError, ProgrammingError) as error:  # the second: PostgreSQL before `migrate`
        print(f"gatewall: DATABASE_URL: the database cannot be used: {_without_password(error)}", file=sys.stderr)
        sys.exit(2)


def _without_password(error: Exception) -> str:
    """Return the first line of what the database says, where our password does not stand by accident."""
    from django.conf import settings  # noqa: PLC0415 - there are settings now

    words = (str(error).splitlines() or [type(error).__name__])[0]
    password = settings.DATABASES["default"].get("PASSWORD")
    return words.replace(password, "***") if password else words


if __name__ == "__main__":
    main()
