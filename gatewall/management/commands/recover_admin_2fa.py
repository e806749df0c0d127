"""Remove the lost second factor of a user."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts import selectors
from accounts.sign_in import recovery


class Command(BaseCommand):
    help = "Takes second factor, recovery codes and sessions from a user, who then signs in with the password alone."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")

    def handle(self, *args: Any, **options: Any) -> None:
        user = selectors.user_by_name(options["username"])
        if user is None:
            raise CommandError(f"there is no user named {options['username']!r}", returncode=1)
        recovery.reset(user, actor="recover_admin_2fa")
        self.stdout.write(f"{user.username} has no second factor and no session any more.")
