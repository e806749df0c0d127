"""``gatewall user``: list users, add, disable and enable them, reset a password or a second factor, end sessions."""

import secrets
import sys
from collections.abc import Mapping
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from accounts import selectors, services
from accounts.models import User
from accounts.sign_in import recovery
from gatewall.management.refused import refusals_as_errors

_ACTOR = "gatewall user"
_MAX_PASSWORD = 4096
_OF_ONE_USER = {
    "password": "sets a new password, which ends all sessions; git tokens stay",
    "disable": "ends all sessions and refuses the user until they are enabled",
    "enable": "lets a disabled user sign in again",
    "sign-out": "ends all sessions",
    "recover-2fa": "removes second factor, recovery codes and sessions",
}


class Command(BaseCommand):
    help = "Lists and changes users, for whoever has a shell on this host, also where nobody can sign in."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        actions.add_parser("list", help="lists all users")
        add = actions.add_parser("add", help="adds a user with a random password, which is printed once")
        add.add_argument("--admin", action="store_true", help="the user may administer Gatewall")
        add.add_argument("--auditor", action="store_true", help="the user may read the administration")
        add.add_argument("--email", default="", help="goes to the sites as Remote-Email")
        parsers = {"add": add} | {name: actions.add_parser(name, help=line) for name, line in _OF_ONE_USER.items()}
        for each in parsers.values():
            each.add_argument("username", help="3 to 64 letters, digits and . _ @ + -")
        for name in ("add", "password"):
            parsers[name].add_argument(
                "--password-stdin", action="store_true", help="read the password from standard input instead"
            )

    def handle(self, *args: Any, **options: Any) -> None:
        with refusals_as_errors():
            if options["action"] == "list":
                self._list()
            elif options["action"] == "add":
                self._add(options)
            else:
                self._change(_named(options["username"]), options)

    def _list(self) -> None:
        for user in selectors.users(timezone.now()):
            marks = {"admin": user.is_admin, "auditor": user.is_auditor, "disabled": not user.is_active}
            self.stdout.write("  ".join([user.username, *(mark for mark, holds in marks.items() if holds)]))

    def _add(self, options: Mapping[str, Any]) -> None:
        password, chosen = _password(options)
        user = services.create_user(
            actor=_ACTOR,
            username=options["username"],
            password=password,
            is_admin=options["admin"],
            is_auditor=options["auditor"],
            email=options["email"],
        )
        self.stdout.write(f"{user.username} was added{'' if chosen else f', with the password {password}'}")

    def _change(self, user: User, options: Mapping[str, Any]) -> None:
        action, name = options["action"], user.username
        if action == "password":
            password, chosen = _password(options)
            services.change_user(user, actor=_ACTOR, password=password)
            said = f"{name} has a new password{'' if chosen else f': {password}'}"
        elif action == "sign-out":
            services.end_all_sessions(user, actor=_ACTOR)
            said = f"{name} has no session any more"
        elif action == "recover-2fa":
            recovery.reset(user, actor=_ACTOR)
            said = f"{name} has no second factor and no session any more"
        else:
            services.change_user(user, actor=_ACTOR, is_active=action == "enable")
            said = f"{name} is {action}d"
        self.stdout.write(said)


def _password(options: Mapping[str, Any]) -> tuple[str, bool]:
    """Return the password from standard input or a random one, and whether a person chose it."""
    if not options["password_stdin"]:
        return secrets.token_urlsafe(18), False
    try:
        password = sys.stdin.readline(_MAX_PASSWORD + 2).removesuffix("\n")
        password.encode()  # in the locale C, bytes that are not UTF-8 are read as surrogates
    except UnicodeError:
        raise CommandError("the password of standard input is not UTF-8", returncode=2) from None
    if not 0 < len(password) <= _MAX_PASSWORD:
        raise CommandError(f"standard input must have a password of at most {_MAX_PASSWORD} characters", returncode=2)
    if "\0" in password:  # no sign-in takes it
        raise CommandError("a password has no null characters", returncode=2)
    return password, True


def _named(username: str) -> User:
    user = selectors.user_by_name(username)
    if user is None:
        raise CommandError(f"there is no user named {username!r}")
    return user
