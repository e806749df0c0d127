"""Becomes the data plane: gunicorn with deploy/data_plane.conf.py."""

from django.conf import settings

from gatewall.operations import launcher
from gatewall.operations.plane_command import PlaneCommand


class Command(PlaneCommand):
    help = "Answers /auth for the reverse proxy, from published files alone; replaces this process by gunicorn."
    configuration = "data_plane.conf.py"
    application = "gatewall.data_plane:application()"

    @staticmethod
    def require_free_address() -> None:
        # gunicorn would take a socket in use from under whoever listens on it.
        if settings.GATEWALL_AUTH_SOCKET is not None:
            launcher.require_free_socket(settings.GATEWALL_AUTH_SOCKET, "GATEWALL_AUTH_SOCKET")
        else:
            port = launcher.Port(settings.GATEWALL_BIND, settings.GATEWALL_AUTH_PORT, "GATEWALL_AUTH_PORT")
            launcher.require_free(port)
