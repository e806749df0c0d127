"""Deletes what is older than it is to be kept."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from audit import retention
from gatewall import system_settings

_LONGEST = 3650


class Command(BaseCommand):
    help = (
        "Deletes rows of the access log, and what was counted of them, that are older than the setting "
        "access_log_retention_days says. The agent does it every hour; this does it now."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--days", type=int, help="keep so many days instead, 1 to 3650")

    def handle(self, *args: Any, **options: Any) -> None:
        days = options["days"]
        if days is None:
            days = system_settings.current().access_log_retention_days
        if not 1 <= days <= _LONGEST:
            raise CommandError(f"--days is 1 to {_LONGEST}, not {days}")
        pruned = retention.prune(timezone.now(), days=days)
        partitions = f", and {pruned.partitions} whole days" if pruned.partitions else ""
        self.stdout.write(f"deleted {pruned.rows} rows older than {days} days{partitions}")
