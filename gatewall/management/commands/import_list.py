"""Import a block list."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from gatewall.kernel.downloads import DownloadFailed, DownloadRefused, download, is_url
from gatewall.policy import revisions
from policies.list_files.parsing import MAX_BYTES, Format, ListDoubtful, ListRefused
from policies.lists.importing import Imported, ImportRules, import_list, remove_list

_MAX_DAYS = 36_500


class Command(BaseCommand):
    help = "Replaces all blocklist entries of the source import:NAME by those of a list, at once or not at all."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", nargs="?", metavar="FILE|URL", help="the list; - is standard input")
        parser.add_argument("--name", required=True, help="what the list is called: entries get the source import:NAME")
        parser.add_argument("--format", choices=[each.value for each in Format], default=Format.AUTO.value)
        parser.add_argument(
            "--expires-in-days", type=int, metavar="N", help="expiry of the entries that name none themselves"
        )
        parser.add_argument("--dry-run", action="store_true", help="say what would change, and change nothing")
        parser.add_argument(
            "--force",
            action="store_true",
            help="take networks larger than /8 (IPv6: /19), and a list of less than half of what is there",
        )
        parser.add_argument("--remove", action="store_true", help="take the list away")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["remove"] == bool(options["file"]):
            raise CommandError("name a FILE or URL, or --remove", returncode=2)
        days = options["expires_in_days"]
        if days is not None and not 1 <= days <= _MAX_DAYS:
            raise CommandError(f"--expires-in-days is a number from 1 to {_MAX_DAYS}", returncode=2)
        try:
            if options["remove"]:
                self.remove(options["name"], dry_run=options["dry_run"])
            else:
                self.replace(options)
        except ListDoubtful as doubtful:
            raise CommandError(f"nothing was imported: {doubtful}; --force takes it") from None
        except (ListRefused, DownloadRefused) as refused:
            raise CommandError(f"nothing was imported: {refused}") from None
        except DownloadFailed as failed:
            raise CommandError(f"nothing was imported: {failed}", returncode=2) from None

    def remove(self, name: str, *, dry_run: bool) -> None:
        if dry_run:
            raise CommandError("--remove has no --dry-run", returncode=2)
        count = remove_list(name)
        if not count:
            raise CommandError(f"there is no entry of import:{name}")
        self.stdout.write(f"{count:,} entries of import:{name} removed; {self.in_force()}")

    def replace(self, options: dict[str, Any]) -> None:
        now, days = timezone.now(), options["expires_in_days"]
        rules = ImportRules(
            at=now,
            trusted=settings.GATEWALL_TRUSTED_PROXIES,
            expires_at=now + timedelta(days=days) if days else None,
            force=options["force"],
        )
        with _opened(options["file"]) as file:
            imported = import_list(
                file, name=options["name"], rules=rules, kind=Format(options["format"]), dry_run=options["dry_run"]
            )
        for line in _lines(imported):
            self.stdout.write(line)
        if options["dry_run"]:
            self.stdout.write("nothing was changed (--dry-run)")
        else:
            self.stdout.write(self.in_force() if imported.changes else "the list is the same: no new revision")

    @staticmethod
    def in_force() -> str:
        pending = " and not in force on this host yet" if revisions.publication_is_pending() else ""
        return f"revision {revisions.current().revision} is committed{pending}"


@contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    """Open a file or a completely downloaded URL.

    Raises CommandError if it cannot be read, DownloadRefused, DownloadFailed.
    """
    try:
        if name == "-":
            yield sys.stdin.buffer
            return
        if is_url(name):
            with TemporaryFile() as file, download(name) as downloaded:
                downloaded.save(file, at_most=MAX_BYTES)
                file.seek(0)
                yield file
            return
        with Path(name).open("rb") as file:
            yield file
    except OSError as error:
        raise CommandError(f"{name!r} cannot be read: {error.strerror}", returncode=2) from None


def _lines(imported: Imported) -> Iterator[str]:
    yield from imported.examples
    yield from (f"skipped: {words}" for words in imported.bad_lines)
    dropped = ", ".join(f"{count:,} {why}" for why, count in sorted(imported.dropped.items()))
    yield (
        f"{imported.added:,} added, {imported.removed:,} removed, {imported.changed:,} changed, {imported.kept:,} kept"
        f", {sum(imported.dropped.values()):,} dropped" + (f" ({dropped})" if dropped else "")
    ) + (f", {imported.bad:,} lines skipped" if imported.bad else "")
