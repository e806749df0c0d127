"""Becomes the data plane: granian with the options that it needs."""

import os
import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from gatewall.operations import launcher

_RESPAWN_SECONDS = "0.5"


class Command(BaseCommand):
    help = "Answers /auth for the reverse proxy, from published files alone; replaces this process by granian."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            require_free_address()
        except launcher.PortTakenError as taken:
            self.stderr.write(str(taken))
            sys.exit(2)
        os.chdir(settings.BASE_DIR)
        command = [sys.executable, "-m", "granian", *granian_options(), "gatewall.asgi:application"]
        os.execv(command[0], command)  # noqa: S606 - our own interpreter


def require_free_address() -> None:
    """Raise PortTakenError unless the data plane can have its address for itself.

    granian shares a taken port in silence (SO_REUSEPORT): half of the answers would be another's. It
    does not start on a socket that a killed master has left.
    """
    if settings.GATEWALL_AUTH_SOCKET is not None:
        launcher.require_free_socket(settings.GATEWALL_AUTH_SOCKET, "GATEWALL_AUTH_SOCKET")
    else:
        launcher.require_free(launcher.Port(settings.GATEWALL_BIND, settings.GATEWALL_AUTH_PORT, "GATEWALL_AUTH_PORT"))


def granian_options() -> list[str]:
    """Return granian's options, each with its reason."""
    options = ["--interface", "asginl"]  # raw header bytes and path; no lifespan, there is nothing to start
    options += ["--http", "1", "--no-ws"]  # what proxies speak to us
    options += ["--workers", str(settings.CONFIG.workers)]
    # Without these two, one worker that dies takes the whole server with it.
    options += ["--respawn-failed-workers", "--respawn-interval", _RESPAWN_SECONDS]
    options += ["--workers-kill-timeout", "5"]
    options += ["--log-level", "warning" if settings.CONFIG.log_level != "DEBUG" else "debug", "--no-access-log"]
    if settings.GATEWALL_AUTH_SOCKET is not None:
        return [*options, "--uds", str(settings.GATEWALL_AUTH_SOCKET), "--uds-permissions", "0660"]
    return [*options, "--host", settings.GATEWALL_BIND, "--port", str(settings.GATEWALL_AUTH_PORT)]
