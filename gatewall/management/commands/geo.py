"""Install a geo database (GeoLite2, DB-IP, IPinfo, tor-geoipdb), and show the one in use."""

import re
import time
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.management.base import OutputWrapper as Output
from django.db import Error
from django.utils import timezone

from audit.event_kinds import EventKind
from audit.events.recording import Event, record_event
from gatewall.gate import countries
from gatewall.install.geo_database import Installed, Readable, install
from gatewall.install.geo_license import attribution
from gatewall.install.geo_verification import KNOWN_ADDRESSES, GeoDatabaseRefused, Verified, verify
from gatewall.kernel.downloads import DownloadFailed, DownloadRefused, download, is_url
from gatewall.snapshot.host_paths import geo_folder, node_name
from policies import geo

_TOR = (Path("/usr/share/tor/geoip"), Path("/usr/share/tor/geoip6"))
_SECONDS = 300
_SOURCES = "`apt install tor-geoipdb` brings free data; DB-IP Lite and GeoLite2 are files to download"


class Command(BaseCommand):
    help = "Installs a geo database, from which the gate knows countries, and shows the one in use."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        add_install_arguments(actions.add_parser("install", help="verifies a file and puts it in use on this host"))
        actions.add_parser("status", help="shows the database in use, its age and the attribution of its license")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["action"] == "install":
            install_database(options, self.stdout, self.stderr)
        else:
            _show_status(self.stdout)


def add_install_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of ``geo install``."""
    parser.add_argument(
        "sources",
        nargs="*",
        metavar="FILE|URL",
        help="an MMDB file (.mmdb, .mmdb.gz, .tar.gz), or text ranges for IPv4 and IPv6; without any, those of "
        "Debian's tor-geoipdb",
    )
    parser.add_argument("--sha256", metavar="HEX", help="refuse a file with another digest")


def install_database(options: Mapping[str, Any], stdout: Output, stderr: Output) -> None:
    """Verify and install the sources, record the event, and wait until every process uses them. Raises CommandError."""
    target = geo.configured()
    stdout.write("Reading and verifying; text ranges take half a minute ...")
    stdout.flush()
    installed = _installed(options["sources"], target, options["sha256"])
    _record(installed, stderr)
    time.sleep(countries.LOOK_SECONDS)  # until every process of this host uses it
    stdout.write(f"{target}: {installed.size:,} bytes, sha256 of the source {installed.sha256}")
    _show(installed.database, installed.attribution, stdout)
    stdout.write("Every process of this host uses it.")


def _installed(names: list[str], target: Path, sha256: str | None) -> Installed:
    if sha256 is not None and not re.fullmatch(r"[0-9A-Fa-f]{64}", sha256):
        raise CommandError("--sha256 has 64 hexadecimal digits", returncode=2)
    names = names or [str(path) for path in _TOR if path.exists()]
    if not names:
        raise CommandError(f"name a file or URL: {_TOR[0]} is not there. {_SOURCES}", returncode=2)
    try:
        with ExitStack() as stack:
            source, *more = [stack.enter_context(_opened(name)) for name in names]
            return install(source, target, at=timezone.now(), sha256=sha256, more=more)
    except (GeoDatabaseRefused, DownloadRefused) as refused:
        raise CommandError(f"the geo database stays as it is: {refused}") from None
    except DownloadFailed as failed:
        raise CommandError(str(failed), returncode=2) from None
    except OSError as error:
        raise CommandError(f"the file cannot be read or written: {error.strerror or error}", returncode=2) from None


@contextmanager
def _opened(source: str) -> Iterator[Readable]:
    """Open a file or URL. Raises OSError, DownloadRefused, DownloadFailed."""
    if is_url(source):
        with download(source, seconds=_SECONDS) as downloaded:
            yield downloaded
        return
    with Path(source).open("rb") as file:
        yield file


def _record(installed: Installed, stderr: Output) -> None:
    database = installed.database
    detail = {
        "node": node_name(),
        "geo_database": database.kind,
        "built_at": database.built_at.isoformat(),
        "networks": database.networks,
        "sha256": installed.sha256,
    }
    try:
        record_event(Event(EventKind.SETTINGS_CHANGED, detail=detail))
    except Error:
        stderr.write("It is installed, but not recorded as an event: the database cannot be used.")


def _show_status(stdout: Output) -> None:
    """Show the database in use. Raises CommandError."""
    path = geo.configured()
    if not path.exists():
        raise CommandError(f"there is no geo database at {path}, so no country is known. {_SOURCES}")
    try:
        database = verify(path, at=timezone.now())
    except (GeoDatabaseRefused, OSError) as refused:
        raise CommandError(f"{path} cannot be used: {refused}") from None
    stdout.write(f"{path}: {path.stat().st_size:,} bytes")
    _show(database, attribution(database.kind, database.description), stdout)
    _show_asns(stdout)


def _show_asns(stdout: Output) -> None:
    """Show the source of AS numbers, and for how many well-known addresses it has one."""
    path = settings.CONFIG.geoip_asn_database
    known = countries.Countries(geo.configured(), folder=geo_folder(settings.CONFIG.home), asns=path)
    number = sum(known.asn_of(ip_address(text)) is not None for text in KNOWN_ADDRESSES)
    if path is None and not number:
        stdout.write("AS numbers   none are known: set GEOIP_ASN_DATABASE to an MMDB file with them")
        return
    built = geo.describe(path or geo.configured())
    what = f"{built.kind}, built {built.built_at:%Y-%m-%d}, " if built else ""
    stdout.write(f"AS numbers   {what}known of {number} of {len(KNOWN_ADDRESSES)} well-known addresses")


def _show(database: Verified, license_line: str, stdout: Output) -> None:
    age = max(0, (timezone.now() - database.built_at).days)
    stdout.write(f"Database     {database.kind}")
    stdout.write(f"Built        {database.built_at:%Y-%m-%d}, {age} days ago")
    stdout.write(f"Entries      {database.networks:,} networks in {database.countries} countries")
    stdout.write(f"Known        {database.known} of {len(KNOWN_ADDRESSES)} well-known addresses")
    stdout.write(f"Attribution  {license_line}")
