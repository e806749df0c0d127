"""Becomes the control plane: gunicorn with deploy/gunicorn.conf.py."""

from django.conf import settings

from gatewall.install import launcher
from gatewall.install.plane_command import PlaneCommand


class Command(PlaneCommand):
    help = "Serves pages, API and admin, and /auth as well; replaces this process by gunicorn."
    configuration = "gunicorn.conf.py"
    application = "gatewall.wsgi:application"
    # To check a password takes 19 MiB. glibc would raise its own bound after the first one and keep that much in the
    # heap of each thread; above a fixed bound, memory goes back to the system when it is freed.
    environment = {"MALLOC_MMAP_THRESHOLD_": str(1024 * 1024)}

    @staticmethod
    def require_free_address() -> None:
        launcher.require_free(launcher.Port(settings.GATEWALL_BIND, settings.GATEWALL_PORT, "GATEWALL_PORT"))
