"""Starts the data plane without Django, whose settings need secrets that a data plane does not get."""

import os
import sys
from pathlib import Path
from typing import NoReturn

from gatewall.install import launcher
from gatewall.kernel import env

CONFIGURATION, APPLICATION = "data_plane.conf.py", "gatewall.data_plane:application()"


def become_data_plane(base: Path) -> NoReturn:
    """Replace this process by the data plane; exit 2 with one line if its address is taken.

    Raises ConfigError for a bad environment.
    """
    config = env.read(os.environ, base)
    os.umask(0o077)
    config.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        require_free_address(config)
    except launcher.PortTakenError as taken:
        print(taken, file=sys.stderr)  # noqa: T201 - the one line
        sys.exit(2)
    launcher.become_plane(base, CONFIGURATION, APPLICATION, {})


def require_free_address(config: env.Config) -> None:
    """Raise PortTakenError unless the data plane can have its port or socket."""
    # gunicorn would take a socket in use from under whoever listens on it.
    if config.auth_socket is not None:
        launcher.require_free_socket(config.auth_socket, "GATEWALL_AUTH_SOCKET")
    else:
        launcher.require_free(launcher.Port(config.bind, config.auth_port, "GATEWALL_AUTH_PORT"))
