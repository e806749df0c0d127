"""Delete log entries beyond their retention."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.utils import timezone

from audit.storage import retention
from gatewall.database.sqlite.upkeep import compact
from gatewall.policy import system_settings

_LONGEST = 3650


class Command(BaseCommand):
    help = (
        "Deletes rows of the access log, and what was counted of them, and security events that are older than the "
        "settings access_log_retention_days and event_retention_days say. The agent does it every hour; this does "
        "it now."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--days", type=int, help="keep so many days instead, 1 to 3650")
        parser.add_argument(
            "--compact",
            action="store_true",
            help="on SQLite, also rewrite the database file without its free pages; writers wait, and it needs as much "
            "room again while it works",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["compact"] and connection.vendor != "sqlite":
            raise CommandError(
                "--compact is for SQLite; PostgreSQL does it by itself (autovacuum). Nothing was deleted", returncode=2
            )
        days_option, settings, now = options["days"], system_settings.current(), timezone.now()
        if days_option is not None and not 1 <= days_option <= _LONGEST:
            raise CommandError(f"--days is 1 to {_LONGEST}, not {days_option}", returncode=2)
        days = days_option or settings.access_log_retention_days
        pruned = retention.prune(now, days=days)
        partitions = f", and {pruned.partitions} whole days" if pruned.partitions else ""
        self.stdout.write(f"deleted {pruned.rows} rows older than {days} days{partitions}")
        days = days_option or settings.event_retention_days
        self.stdout.write(f"deleted {retention.prune_events(now, days=days).rows} events older than {days} days")
        if options["compact"] and (sizes := compact()):
            before, after = (size / 1_000_000 for size in sizes)
            self.stdout.write(f"rewrote the database: {before:.1f} MB to {after:.1f} MB")
