"""``gatewall proxy-config PROXY --site HOST``: print the configuration of a reverse proxy in front of a site."""

import io
import sys
import tarfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from gatewall.doctor.report import place_of
from gatewall.kernel.env_reader import ConfigError
from gatewall.proxy_config import options as read
from gatewall.proxy_config.rendering import DEFAULT, KINDS, ConfigFile, Place, can_ask, render

_MODE = 0o644  # whatever our umask: the proxy is another user, and the files have no secrets


class Command(BaseCommand):
    help = (
        "Prints the complete configuration of a reverse proxy that guards a site with this Gatewall. "
        "Ends with 2 if a value cannot be used, or a file not be written."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("proxy", choices=list(KINDS), help="the kind of proxy")
        parser.add_argument("--site", required=True, metavar="HOST", help="the host of the site, like app.example.com")
        parser.add_argument(
            "--upstream", default=DEFAULT.upstream, metavar="ADDRESS:PORT", help="where the site listens"
        )
        parser.add_argument("--root-path", metavar="PATH", help="Gatewall's prefix; by default that of ROOT_PATH")
        parser.add_argument(
            "--public-url", metavar="URL", help="address of the guard page; by default that of GATEWALL_PUBLIC_URL"
        )
        parser.add_argument(
            "--auth", metavar="ADDRESS:PORT", help="the data plane as the proxy reaches it; also unix:/path"
        )
        parser.add_argument("--control", metavar="ADDRESS:PORT", help="the control plane as the proxy reaches it")
        parser.add_argument(
            "--resolver",
            default="",
            metavar="ADDRESS",
            help="for nginx: the DNS server that it asks again for names, in a container 127.0.0.11",
        )
        parser.add_argument(
            "--max-connection-seconds",
            type=int,
            default=0,
            metavar="SECONDS",
            help="for Envoy, and WebSockets of Caddy: end open connections after this time",
        )
        how = parser.add_mutually_exclusive_group()
        how.add_argument("--into", type=Path, metavar="FOLDER", help="write the files there instead of printing them")
        how.add_argument("--tar", action="store_true", help="print them as an archive, for `tar -x` as another user")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            place = place_from(options)
        except ConfigError as error:
            raise CommandError(_in_terms_of_options(str(error), options), returncode=2) from None
        kind, folder = options["proxy"], options["into"]
        if not can_ask(kind, place.auth):
            words = f"{KINDS[kind]} cannot ask over a Unix socket: pass --auth ADDRESS:PORT"
            raise CommandError(f"{words}, and set GATEWALL_AUTH_PORT instead of GATEWALL_AUTH_SOCKET", returncode=2)
        files = render(kind, place)
        if options["tar"]:
            sys.stdout.buffer.write(_archive(files))
        elif folder is None:
            self.stdout.write("\n".join(_with_head(file) for file in files), ending="")
        else:
            for file in files:
                self.stdout.write(f"wrote {_write(file, folder)}")


def place_from(options: dict[str, Any]) -> Place:
    """Return the values of these options; missing ones are those of this installation. Raises ConfigError."""
    host = read.site(options["site"])
    ours = place_of(host)
    public_url = options["public_url"]
    if public_url is None:
        public_url = ",".join(filter(None, [settings.GATEWALL_PUBLIC_URL, *settings.CONFIG.other_public_urls]))
    root_path = options["root_path"]
    place = Place(
        auth=read.auth_address(options["auth"] or ours.auth),
        control=read.address(options["control"] or ours.control, "--control"),
        root_path=read.prefix(settings.ROOT_PATH if root_path is None else root_path),
        host=host,
        upstream=read.address(options["upstream"], "--upstream"),
        resolver=read.resolver(options["resolver"], options["proxy"]),
        max_connection_seconds=read.max_connection_seconds(options["max_connection_seconds"], options["proxy"]),
    )
    return read.with_guard(place, public_url)


def _in_terms_of_options(words: str, options: dict[str, Any]) -> str:
    """Replace the environment variable in an error by the option that the caller used instead."""
    for option, variable in (("root_path", "ROOT_PATH"), ("public_url", "GATEWALL_PUBLIC_URL")):
        if options[option] is not None and words.startswith(variable):
            return f"--{option.replace('_', '-')}{words.removeprefix(variable)}"
    return words


def _with_head(file: ConfigFile) -> str:
    return f"==> {file.name} <==\n{file.text}"


def _archive(files: Sequence[ConfigFile]) -> bytes:
    """Return the files as a tar archive."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for file in files:
            content = file.text.encode()
            member = tarfile.TarInfo(file.name)
            member.size, member.mode, member.mtime = len(content), _MODE, int(time.time())
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def _write(file: ConfigFile, folder: Path) -> Path:
    path: Path = folder / file.name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8")
        path.chmod(_MODE)
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error}", returncode=2) from error
    return path
