"""Replace the installation's database by a backup."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import Error, connection

from accounts import selectors
from gatewall.install.backup.archive import Archive, BackupRefused, Manifest
from gatewall.install.backup.data_keys import add_data_keys
from gatewall.install.backup.differences import Report
from gatewall.install.backup.restoring import refuse_other_release, restore_backup
from gatewall.install.backup.running import refuse_while_running
from gatewall.publication.publisher import publish
from gatewall.snapshot.host_paths import policy_files

_NOT_COMPARED = (
    "The replaced database is not a later state of this backup. It is not known what was revoked after the backup: "
    "check what is valid now."
)
_COMPARED = "What was revoked after the backup stays revoked. Lists, rules and settings are those of the backup."


class Command(BaseCommand):
    help = "Replaces the whole database by a backup and publishes its policy. Stop Gatewall on every host first."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="a file that the command backup wrote")
        parser.add_argument("--yes", action="store_true", help="do not ask")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        try:
            refuse_while_running(settings.CONFIG)
            with Archive.opened(path) as archive:
                refuse_other_release(archive.manifest)
                self._show(archive.manifest)
                if not options["yes"]:
                    _ask()
                refuse_while_running(settings.CONFIG)  # the answer may have taken hours
                self._restore(archive)
        except BackupRefused as error:
            raise CommandError(f"nothing was restored: {error}") from None
        except OSError as error:
            raise CommandError(f"nothing was restored: {error.filename}: {error.strerror}", returncode=2) from None

    def _show(self, manifest: Manifest) -> None:
        log = "with" if manifest.has_log else "without"
        self.stdout.write(
            f"Backup of {manifest.host}, made at {manifest.made_at} by Gatewall {manifest.version} "
            f"on {manifest.engine}: revision {manifest.revision}, {log} access log"
        )

    def _restore(self, archive: Archive) -> None:
        text = archive.data_keys()
        keys = add_data_keys(text, settings.CONFIG.home) if text is not None else []
        files = policy_files(settings.CONFIG)
        report = restore_backup(archive, files)
        self._report(report, keys)
        _truncate_wal()
        try:
            manifest = publish(files, verify=True)
        except (Error, OSError, ValueError) as error:
            # The database is restored: a second restore would not help.
            raise CommandError(
                f"restored, but not published: {error}; run gatewall publish-policy", returncode=2
            ) from None
        self.stdout.write(f"revision {manifest.version.revision} is in force on this host")

    def _report(self, report: Report, keys: list[str]) -> None:
        self.stdout.write(f"restored {report.rows} rows. All sessions have ended: every user signs in again.")
        if report.migrated:
            self.stdout.write(f"applied {report.migrated} migrations: run gatewall seed-waf-rules")
        if keys:
            self.stdout.write(
                f"added the data keys {', '.join(keys)}: copy secrets/data-keys to the other hosts, "
                "then run gatewall rotate-keys --finish"
            )
        if report.unopened:
            self.stdout.write(f"secrets of second factors and webhooks that no key can decrypt: {report.unopened}")
        if not selectors.has_active_admin():
            self.stdout.write("no admin can sign in: run gatewall create-admin NAME")
        if report.compared and report.undone:
            self.stdout.write(f"policy revisions after the backup that are undone: {report.undone}")
        self.stdout.write(_COMPARED if report.compared else _NOT_COMPARED)
        for found in (*report.kept_out, *report.differs):
            self.stdout.write(f"- {found.line()}")


def _ask() -> None:
    if not sys.stdin.isatty():
        raise BackupRefused("there is nobody to ask: say --yes")
    if input("This replaces the whole database, its access log included. Type yes to go on: ").strip() != "yes":
        raise BackupRefused("you did not type yes")


def _truncate_wal() -> None:
    """Truncate SQLite's write-ahead log, to free the disk space of the transaction."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
