"""Start the data plane: gunicorn with deploy/data_plane.conf.py. ``gatewall`` starts it without Django."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from gatewall.install.plane_start import become_plane


class Command(BaseCommand):
    help = "Answers /auth for the reverse proxy, from published files alone; replaces this process by gunicorn."

    def handle(self, *args: Any, **options: Any) -> None:
        become_plane("data_plane", settings.BASE_DIR)
