"""Install a geo database."""

import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from gatewall.gate import countries
from gatewall.install.geo_database import GeoDatabaseRefused, Readable, install
from gatewall.kernel import geo_file
from gatewall.kernel.downloads import DownloadFailed, DownloadRefused, download, is_url

_TOR = (Path("/usr/share/tor/geoip"), Path("/usr/share/tor/geoip6"))


class Command(BaseCommand):
    help = (
        "Checks an MMDB file with countries, or makes one of text ranges, puts it under GATEWALL_HOME and waits until "
        "every process of this host uses it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "sources",
            nargs="*",
            metavar="FILE|URL",
            help="an MMDB file, or text ranges for IPv4 and IPv6; without any, those of Debian's tor-geoipdb",
        )
        parser.add_argument("--sha256", metavar="HEX", help="refuse a file with another digest")

    def handle(self, *args: Any, **options: Any) -> None:
        expected_sha256 = options["sha256"]
        if expected_sha256 is not None and not re.fullmatch(r"[0-9A-Fa-f]{64}", expected_sha256):
            raise CommandError("--sha256 has 64 hexadecimal digits", returncode=2)
        target, named = geo_file.installed(settings.GATEWALL_HOME), settings.GATEWALL_GEOIP_DATABASE
        if named not in {None, target}:
            raise CommandError(f"GEOIP_DATABASE names {str(named)!r}: unset it, or replace that file yourself")
        names = options["sources"] or [str(path) for path in _TOR if path.exists()]
        if not names:
            raise CommandError(f"name a file or URL: tor-geoipdb is not installed ({_TOR[0]})", returncode=2)
        try:
            with ExitStack() as stack:
                source, *more = [stack.enter_context(_opened(name)) for name in names]
                installed = install(source, target, at=timezone.now(), sha256=expected_sha256, more=more)
        except (GeoDatabaseRefused, DownloadRefused) as refused:
            raise CommandError(f"the geo database stays as it is: {refused}") from None
        except DownloadFailed as failed:
            raise CommandError(str(failed), returncode=2) from None
        except OSError as error:
            raise CommandError(f"the file cannot be read or written: {error.strerror or error}", returncode=2) from None
        time.sleep(countries.LOOK_SECONDS)  # until every process of this host uses it
        built = f"{installed.built_at:%Y-%m-%d}"
        self.stdout.write(f"{installed.kind} of {built} is in {target}, {installed.size:,} bytes")
        self.stdout.write(f"sha256 {installed.sha256}; every process of this host uses it")


@contextmanager
def _opened(source: str) -> Iterator[Readable]:
    """Open a file or URL. Raises OSError, DownloadRefused, DownloadFailed."""
    if is_url(source):
        with download(source) as downloaded:
            yield downloaded
        return
    with Path(source).open("rb") as file:
        yield file
