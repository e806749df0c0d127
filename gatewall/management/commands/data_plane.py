"""Becomes the data plane: gunicorn with deploy/data_plane.conf.py. ``manage.py data_plane`` alone needs no Django."""

from django.conf import settings

from gatewall.install import data_plane_start
from gatewall.install.plane_command import PlaneCommand


class Command(PlaneCommand):
    help = "Answers /auth for the reverse proxy, from published files alone; replaces this process by gunicorn."
    configuration = data_plane_start.CONFIGURATION
    application = data_plane_start.APPLICATION

    @staticmethod
    def require_free_address() -> None:
        data_plane_start.require_free_address(settings.CONFIG)
