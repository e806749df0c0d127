"""Becomes the control plane: gunicorn with deploy/gunicorn.conf.py."""

import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from gatewall.operations import launcher

APPLICATION = "gatewall.wsgi:application"


class Command(BaseCommand):
    help = "Serves pages, API and admin, and /auth as well; replaces this process by gunicorn."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            require_free_address()
        except launcher.PortTakenError as taken:
            self.stderr.write(str(taken))
            sys.exit(2)
        launcher.become_plane(settings.BASE_DIR, "gunicorn.conf.py", APPLICATION)


def require_free_address() -> None:
    """Raise PortTakenError unless the control plane can have its port: gunicorn would try for five seconds."""
    launcher.require_free(launcher.Port(settings.GATEWALL_BIND, settings.GATEWALL_PORT, "GATEWALL_PORT"))
