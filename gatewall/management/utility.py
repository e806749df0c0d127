"""Django's command line without its system checks before each of our commands."""

from django.core.management import ManagementUtility
from django.core.management.base import ALL_CHECKS, BaseCommand

_OWN_COMMANDS = f"{__package__}.commands."
_NO_CHECKS = ("none",)
"""A tag that no check has. With an empty list a command would refuse ``--skip-checks``, which cron jobs may use."""


class Utility(ManagementUtility):
    """Runs a management command.

    The system checks import every page (400 modules, 0.25 s of CPU), and find faults of the code, which the tests find
    before a release. Commands of Django, including ``gatewall check``, still run them.
    """

    def fetch_command(self, subcommand: str) -> BaseCommand:
        """Return the command; our own commands run only the system checks that they name."""
        command = super().fetch_command(subcommand)
        if type(command).__module__.startswith(_OWN_COMMANDS) and command.requires_system_checks == ALL_CHECKS:
            command.requires_system_checks = _NO_CHECKS
        return command
