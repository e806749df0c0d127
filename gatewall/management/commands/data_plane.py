"""Becomes the data plane: gunicorn with deploy/data_plane.conf.py."""

import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from gatewall.operations import launcher

APPLICATION = "gatewall.data_plane:application()"


class Command(BaseCommand):
    help = "Answers /auth for the reverse proxy, from published files alone; replaces this process by gunicorn."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            require_free_address()
        except launcher.PortTakenError as taken:
            self.stderr.write(str(taken))
            sys.exit(2)
        launcher.become_plane(settings.BASE_DIR, "data_plane.conf.py", APPLICATION)


def require_free_address() -> None:
    """Raise PortTakenError unless the data plane can have its address for itself.

    gunicorn would try for five seconds, and take a socket in use from under whoever listens on it.
    """
    if settings.GATEWALL_AUTH_SOCKET is not None:
        launcher.require_free_socket(settings.GATEWALL_AUTH_SOCKET, "GATEWALL_AUTH_SOCKET")
    else:
        launcher.require_free(launcher.Port(settings.GATEWALL_BIND, settings.GATEWALL_AUTH_PORT, "GATEWALL_AUTH_PORT"))
