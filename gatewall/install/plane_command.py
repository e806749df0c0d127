"""A management command that becomes a plane."""

import sys
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from django.conf import settings
from django.core.management.base import BaseCommand

from gatewall.install import launcher


class PlaneCommand(BaseCommand):
    """Becomes gunicorn with one of the files in deploy/, or ends with 2 and one line if its address is taken."""

    requires_system_checks = ()
    configuration: ClassVar[str]
    application: ClassVar[str]
    environment: ClassVar[Mapping[str, str]] = {}
    """Variables for the plane, unless the operator sets them."""

    @staticmethod
    @abstractmethod
    def require_free_address() -> None:
        """Raise PortTakenError unless the plane can have its address: gunicorn would try for five seconds."""

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self.require_free_address()
        except launcher.PortTakenError as taken:
            self.stderr.write(str(taken))
            sys.exit(2)
        launcher.become_plane(settings.BASE_DIR, self.configuration, self.application, self.environment)
