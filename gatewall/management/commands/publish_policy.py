"""Publish the committed policy on this host."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from gatewall.publication.publisher import confirm_new_epoch, publish
from gatewall.snapshot.files import NotForward
from gatewall.snapshot.host_paths import policy_files


class Command(BaseCommand):
    help = "Publishes the committed policy on this host, as the agent does, and writes damaged files again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--confirm-restored-database",
            action="store_true",
            help="accept the policy of a database that was restored from a backup in place of the newer one in force",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        files = policy_files(settings.CONFIG)
        try:
            if options["confirm_restored_database"]:
                confirm_new_epoch(files)
            manifest = publish(files, verify=True)
        except NotForward as error:
            raise CommandError(str(error)) from None
        except (ValueError, OSError) as error:
            raise CommandError(f"nothing was published: {error}", returncode=2) from None
        self.stdout.write(f"revision {manifest.version.revision} is in force ({len(manifest.segments)} segments)")
