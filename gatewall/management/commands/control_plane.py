"""Becomes the control plane: gunicorn with deploy/gunicorn.conf.py."""

from django.conf import settings

from gatewall.operations import launcher
from gatewall.operations.plane_command import PlaneCommand


class Command(PlaneCommand):
    help = "Serves pages, API and admin, and /auth as well; replaces this process by gunicorn."
    configuration = "gunicorn.conf.py"
    application = "gatewall.wsgi:application"

    @staticmethod
    def require_free_address() -> None:
        launcher.require_free(launcher.Port(settings.GATEWALL_BIND, settings.GATEWALL_PORT, "GATEWALL_PORT"))
