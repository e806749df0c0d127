"""Installs a geo database."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from gatewall import geo_file, revisions
from gatewall.downloads import DownloadFailed, DownloadRefused, download, is_url
from gatewall.operations.geo_database import GeoDatabaseRefused, Readable, install


class Command(BaseCommand):
    help = "Checks an MMDB file with countries, puts it under GATEWALL_HOME and has every worker read it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("source", metavar="FILE|URL", help="a file, or an https URL")
        parser.add_argument("--sha256", metavar="HEX", help="refuse a file with another digest")

    def handle(self, *args: Any, **options: Any) -> None:
        wanted = options["sha256"]
        if wanted is not None and not re.fullmatch(r"[0-9A-Fa-f]{64}", wanted):
            raise CommandError("--sha256 has 64 hexadecimal digits", returncode=2)
        target, named = geo_file.installed(settings.GATEWALL_HOME), settings.GATEWALL_GEOIP_DATABASE
        if named not in {None, target}:
            raise CommandError(f"GEOIP_DATABASE names {str(named)!r}: unset it, or replace that file yourself")
        try:
            with _opened(options["source"]) as source:
                installed = install(source, target, at=timezone.now(), sha256=wanted)
        except (GeoDatabaseRefused, DownloadRefused) as refused:
            raise CommandError(f"the geo database stays as it is: {refused}") from None
        except DownloadFailed as failed:
            raise CommandError(str(failed), returncode=2) from None
        except OSError as error:
            raise CommandError(f"the file cannot be read or written: {error.strerror or error}", returncode=2) from None
        revisions.demand_reload()
        built = f"{installed.built_at:%Y-%m-%d}"
        self.stdout.write(f"{installed.kind} of {built} is in {target}, {installed.size:,} bytes")
        self.stdout.write(f"sha256 {installed.sha256}; every worker reads it again")


@contextmanager
def _opened(source: str) -> Iterator[Readable]:
    """Give the file or what is at the URL. Raises OSError, DownloadRefused, DownloadFailed."""
    if is_url(source):
        with download(source) as downloaded:
            yield downloaded
        return
    with Path(source).open("rb") as file:
        yield file
