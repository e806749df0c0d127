"""Keep the policy as a document: export it, and compare, plan and apply one, on this host or over the API."""

import os
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from gatewall.management.policy import arguments
from gatewall.management.policy.local import Local
from gatewall.management.policy.outcome import Backend
from gatewall.management.policy.remote import Remote, token_of
from gatewall.management.policy.running import run


class Command(BaseCommand):
    help = "Exports the policy as a document, compares another document with it, shows its effect, and applies it."

    def add_arguments(self, parser: CommandParser) -> None:
        arguments.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        def backend() -> Backend:
            if options["url"] is None:
                return Local()
            return Remote(options["url"], token_of(options["token_file"], os.environ))

        if code := run(options, backend, self.stdout, self.stderr):
            sys.exit(code)
