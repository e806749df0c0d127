"""Install a geo database: the same as ``gatewall geo install``."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from gatewall.management.commands.geo import add_install_arguments, install_database


class Command(BaseCommand):
    help = "The same as `geo install`."

    def add_arguments(self, parser: CommandParser) -> None:
        add_install_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        install_database(options, self.stdout, self.stderr)
