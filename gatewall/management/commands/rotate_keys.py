"""Rotate session keys and data keys."""

import os
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from gatewall.install import key_rotation
from gatewall.install.key_rotation import DATA, SESSIONS, RotationRefused, RotationTooEarly
from gatewall.kernel import env

_PROCESSES = "gatewall up, or the control plane, data plane and agent"
_ROTATED = f"nothing has ended. Restart every process within a day ({_PROCESSES}), on every host with these files"
_COMPROMISED = (
    f"restart every process now ({_PROCESSES}): all sessions end then, and not before. "
    "Until then second factors are refused"
)


class Command(BaseCommand):
    help = "Puts the next session and data keys in use, makes new next ones, and re-seals secrets at rest."

    def add_arguments(self, parser: CommandParser) -> None:
        how = parser.add_mutually_exclusive_group()
        how.add_argument("--restarted", action="store_true", help="every process was restarted since the last rotation")
        how.add_argument("--finish", action="store_true", help="re-seal and drop what is left, but make no key")
        how.add_argument("--compromised", action="store_true", help="drop every old key at once: all sessions end")

    def handle(self, *args: Any, **options: Any) -> None:
        files = {name: env.secret_file(name, os.environ, settings.CONFIG.home) for name in (SESSIONS, DATA)}
        at = timezone.now()
        try:
            if options["finish"]:
                lines = key_rotation.finish(files, at)
            elif options["compromised"]:
                lines = [*key_rotation.replace_compromised(files, at), _COMPROMISED]
            else:
                lines = [*key_rotation.rotate(files, at, restarted=options["restarted"]), _ROTATED]
        except RotationRefused as error:
            raise CommandError(str(error), returncode=1 if isinstance(error, RotationTooEarly) else 2) from None
        for line in lines:
            self.stdout.write(line)
