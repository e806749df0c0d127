"""Write a backup of the installation to one file."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from gatewall.install.backup.archive import BackupRefused
from gatewall.install.backup.creating import create_backup

_SECRETS = "The file holds password hashes and the keys that decrypt second factors: keep it as safe as the database."


class Command(BaseCommand):
    help = "Writes a backup of the database and of the data keys to one file, while Gatewall runs."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="the file to write; mode 0600")
        parser.add_argument("--without-log", action="store_true", help="leave out the rows of the access log")
        parser.add_argument(
            "--without-secrets",
            action="store_true",
            help="leave out the data keys: second factors and webhook secrets then need the keys from elsewhere",
        )
        parser.add_argument("--force", action="store_true", help="replace a file that exists")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"].absolute()
        try:
            manifest = create_backup(
                path,
                with_log=not options["without_log"],
                with_secrets=not options["without_secrets"],
                force=options["force"],
            )
        except BackupRefused as error:
            raise CommandError(str(error)) from None
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror}", returncode=2) from None
        rows = sum(table.rows for table in manifest.tables.values())
        size = path.stat().st_size / 1_000_000
        self.stdout.write(f"wrote {path}: revision {manifest.revision}, {rows} rows, {size:.1f} MB")
        if not options["without_secrets"]:
            self.stdout.write(_SECRETS)
