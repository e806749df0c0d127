"""Lift automatic bans."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from gatewall.engine.addresses import parse_address
from gatewall.policy import revisions
from policies.bans.banning import unban


class Command(BaseCommand):
    help = "Removes the automatic blocklist entries that contain an address; entries made by hand or imported stay."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("addresses", nargs="*", metavar="ADDRESS")
        parser.add_argument("--all-automatic", action="store_true", help="remove every automatic entry")
        parser.add_argument("--dry-run", action="store_true", help="say what would be removed, and remove nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        texts, everything, dry_run = options["addresses"], options["all_automatic"], options["dry_run"]
        if not texts and not everything:
            raise CommandError("name an ADDRESS, or --all-automatic", returncode=2)
        addresses = [parse_address(text) for text in texts]
        for text, address in zip(texts, addresses, strict=True):
            if address is None:
                raise CommandError(f"{text[:64]!r} is not an IP address", returncode=2)
        known = [address for address in addresses if address is not None]
        unbanned = unban(known, actor="unban", at=timezone.now(), all_automatic=everything, dry_run=dry_run)
        for entry in unbanned.lifted:
            self.stdout.write(f"{'would remove' if dry_run else 'removed'} {entry.network} (entry {entry.pk})")
        if not unbanned.lifted:
            self.stdout.write("there is no automatic entry to remove")
        elif not dry_run:
            pending = " and not in force on this host yet" if revisions.publication_is_pending() else ""
            self.stdout.write(f"revision {revisions.current().revision} is committed{pending}")
        if unbanned.still_blocked:
            blocked = (
                f"{address} by {entry.network} ({entry.source}, entry {entry.pk})"
                for address, entry in unbanned.still_blocked.items()
            )
            raise CommandError(f"still blocked: {', '.join(blocked)}")
