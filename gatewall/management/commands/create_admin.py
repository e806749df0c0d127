"""Create an admin."""

import secrets
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts import selectors, services
from gatewall.kernel.file_io import replace_file
from gatewall.management.refused import refusals_as_errors


class Command(BaseCommand):
    help = "Makes an admin; without a password in GATEWALL_ADMIN_PASSWORD, a random one is printed once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username", nargs="?", default="admin")
        parser.add_argument("--if-missing", action="store_true", help="do nothing when there is an admin already")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["if_missing"] and selectors.has_admin():
            return
        chosen = settings.GATEWALL_ADMIN_PASSWORD
        password = chosen or secrets.token_urlsafe(18)
        with refusals_as_errors():
            services.create_user(actor="create_admin", username=options["username"], password=password, is_admin=True)
        if chosen:
            self.stdout.write(f"made the admin {options['username']!r}; the password is in GATEWALL_ADMIN_PASSWORD")
            return
        path = settings.GATEWALL_HOME / "secrets" / f"{options['username']}-password"
        made = f"made the admin {options['username']!r}, password {password}"
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(path, f"{password}\n".encode(), synced=False)
        except OSError as error:
            self.stdout.write(made)  # after the commit; the password is stored nowhere else
            raise CommandError(f"{path} cannot be written: {error.strerror}", returncode=2) from None
        self.stdout.write(f"{made} (also in {path})")
