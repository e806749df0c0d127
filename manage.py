#!/usr/bin/env python3
"""Runs one of Gatewall's commands; ``manage.py help`` lists them."""

import os
import sys

from django.core.management import execute_from_command_line

from gatewall.env import ConfigError


def main() -> None:
    """Run the command line; a bad environment is one line and exit code 2."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gatewall.settings")
    try:
        execute_from_command_line(sys.argv)
    except ConfigError as error:
        print(f"gatewall: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
