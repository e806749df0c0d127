"""Start the control plane: gunicorn with deploy/gunicorn.conf.py. ``gatewall`` starts it without Django."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from gatewall.install.plane_start import become_plane


class Command(BaseCommand):
    help = "Serves pages, API and admin, and /auth as well; replaces this process by gunicorn."

    def handle(self, *args: Any, **options: Any) -> None:
        become_plane("control_plane", settings.BASE_DIR)
