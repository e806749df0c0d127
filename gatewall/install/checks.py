"""Deployment checks of ``gatewall check --deploy``. docs/operations.md explains each id."""

import os
import stat
import sys
import sysconfig
from collections.abc import Iterator
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Info, Tags, register
from django.core.checks import Warning as Advice
from django.db import Error as DatabaseError
from django.db import connection
from django.utils import timezone

from accounts import selectors as accounts
from gatewall.credentials.rotation import next_key
from gatewall.engine.snapshot import EnforcementMode, UnknownCountry
from gatewall.install import clock
from gatewall.install.backup import schema
from gatewall.kernel import env
from gatewall.kernel.clientip import TrustedProxies
from gatewall.kernel.cookie_domain import host_of, registrable_domain
from gatewall.kernel.env_mail import MailSecurity
from gatewall.models import Node
from gatewall.policy import system_settings
from policies import cookie_reach, selectors
from policies.models import GeoBlockRule

_MIN_PREFIX = 8
_ALIVE = timedelta(minutes=5)
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def register_all() -> None:
    """Register the checks for ``check --deploy``; a start on loopback needs none of them."""
    for check in (check_network, check_files, check_keys, check_rows, check_interpreter):
        register(check, Tags.security, deploy=True)


def check_network(**_: Any) -> list[CheckMessage]:
    """Check network settings for visitors and proxies."""
    return list(_network())


def check_files(**_: Any) -> list[CheckMessage]:
    """Check the permissions of state files."""
    return list(_files())


def check_keys(**_: Any) -> list[CheckMessage]:
    """Check that keys can be rotated without refusing valid tokens."""
    rings = {"GATEWALL_JWT_KEYS": settings.GATEWALL_JWT_KEYS, "GATEWALL_DATA_KEYS": settings.GATEWALL_DATA_KEYS}
    return [
        Advice(
            f"{name} has no next key, so that a leaked one can only be replaced with refusals.",
            hint="Run `gatewall rotate-keys`: the first run makes the next key and changes nothing else.",
            id="gatewall.W010",
        )
        for name, ring in rings.items()
        if next_key(ring) is None
    ]


def check_rows(**_: Any) -> list[CheckMessage]:
    """Check admins, hosts and countries in the database."""
    try:
        return list(_rows())
    except DatabaseError:
        hint = "Check DATABASE_URL, and run `gatewall migrate`."
        return [
            Error("The database cannot be read, so that not everything was checked.", hint=hint, id="gatewall.E004")
        ]


def check_interpreter(**_: Any) -> list[CheckMessage]:
    """Check that Python was compiled with profile-guided optimization (PGO)."""
    if sys.base_prefix == "/usr" or "--enable-optimizations" in (sysconfig.get_config_var("CONFIG_ARGS") or ""):
        return []  # distributions optimize by their own build rules, which the configuration does not show
    return [
        Info(
            f"The Python of {sys.base_prefix} was compiled without profile-guided optimization.",
            hint="Answers cost more CPU with it: use the Python of the distribution or of an official image.",
            id="gatewall.I001",
        )
    ]


def _network() -> Iterator[CheckMessage]:
    url, local = settings.GATEWALL_PUBLIC_URL or "", _is_loopback(settings.GATEWALL_BIND)
    if not url.startswith("https://") and not local:
        hint = "Set GATEWALL_PUBLIC_URL to the https:// address of the guard page, or GATEWALL_BIND to 127.0.0.1."
        yield Error("Visitors' passwords may travel in the clear.", hint=hint, id="gatewall.E001")
    if not url:
        hint = "Set GATEWALL_PUBLIC_URL, like https://wall.example.com."
        yield Advice("GATEWALL_PUBLIC_URL is not set.", hint=hint, id="gatewall.W001")
    if url and registrable_domain(host_of(url)) is None:
        hint = "Set GATEWALL_PUBLIC_URL to a host under the domain of your sites, like https://wall.example.com."
        yield Advice(f"Browsers send the session cookie of {url} to no other host.", hint=hint, id="gatewall.W013")
    if not (settings.SESSION_COOKIE_SECURE and settings.CSRF_COOKIE_SECURE):
        hint = "Serve Gatewall with TLS and set GATEWALL_PUBLIC_URL to its https:// address."
        yield Advice("Cookies are sent without Secure.", hint=hint, id="gatewall.W002")
    broad = [str(network) for network in settings.GATEWALL_TRUSTED_PROXIES.networks if network.prefixlen < _MIN_PREFIX]
    if broad:
        hint = "Name the addresses of your proxies in GATEWALL_TRUSTED_PROXIES."
        yield Advice(f"Very many may say who a visitor is: {', '.join(broad)}.", hint=hint, id="gatewall.W003")
    if not local and TrustedProxies.parse(env.LOOPBACK_PROXIES.split(",")) == settings.GATEWALL_TRUSTED_PROXIES:
        hint = "Add the addresses of your proxies to GATEWALL_TRUSTED_PROXIES."
        message = "No proxy of another host is trusted: every visitor would be known by the proxy's address."
        yield Advice(message, hint=hint, id="gatewall.W004")
    server = settings.GATEWALL_MAIL_SERVER
    if server is not None and server.user and server.security is MailSecurity.NONE and not _is_loopback(server.host):
        hint = "Use smtp+starttls:// or smtps:// in GATEWALL_SMTP_URL."
        yield Advice("The password of the mail server travels in the clear.", hint=hint, id="gatewall.W015")
    if settings.GATEWALL_DEMO:
        yield Advice("The demo site is on.", hint="Set GATEWALL_DEMO=0.", id="gatewall.W005")


def _files() -> Iterator[CheckMessage]:
    folder = settings.GATEWALL_HOME / "secrets"
    in_folder = sorted(folder.iterdir()) if folder.is_dir() else []
    named = env.secret_files(os.environ, settings.GATEWALL_HOME)
    for path in sorted({*in_folder, *named}):
        if _open_to_others(path):
            hint = f"Run `chmod 600 {path}`, and make a new secret if others have accounts on this host."
            yield Error(f"{path} can be read or changed by other users.", hint=hint, id="gatewall.E002")
    for path in (settings.GATEWALL_HOME, folder):
        if _open_to_others(path):
            yield Error(f"{path} is open to other users.", hint=f"Run `chmod 700 {path}`.", id="gatewall.E003")
    for path in in_folder:
        if path.name.endswith("-password"):
            hint = f"Sign in, change the password, and delete {path}."
            yield Advice("A generated password of an administrator is still in a file.", hint, id="gatewall.W006")


def _rows() -> Iterator[CheckMessage]:
    if later := schema.unknown_migrations(schema.applied_migrations()):
        hint = "Install the newer release again, or restore a backup of this one."
        names = ", ".join(".".join(node) for node in later)
        yield Advice(f"The database is of a newer release ({names}).", hint=hint, id="gatewall.W014")
    if wrong := clock.problem():
        yield Error(f"{wrong[0].upper()}{wrong[1:]}.", hint=clock.FIX, id="gatewall.E006")
    if not accounts.has_admin():
        hint = "Run `gatewall create-admin`."
        yield Advice("Nobody may administer: there is no admin.", hint=hint, id="gatewall.W007")
    hosts = Node.objects.filter(seen_at__gt=timezone.now() - _ALIVE).count()
    if hosts > 1 and connection.vendor == "sqlite":
        hint = "Set DATABASE_URL to a PostgreSQL database."
        yield Advice(f"{hosts} hosts share one SQLite database.", hint=hint, id="gatewall.W008")
    yield from _unreached()
    if warning := selectors.domains_warning():
        yield _about_domains(warning)
    if settings.GATEWALL_GEOIP_DATABASE is None and _needs_countries():
        hint = "Run `gatewall geo install`, or set GEOIP_DATABASE to an MMDB file with countries."
        yield Advice("Rules about countries, and no geo database.", hint=hint, id="gatewall.W009")


def _unreached() -> Iterator[CheckMessage]:
    for domain, reason in cookie_reach.unreached_domains():
        words = f"Visitors of {domain.name} cannot stay signed in, because {reason.why}."
        yield Error(words, hint=f"{reason.fix[0].upper()}{reason.fix[1:]}", id="gatewall.E005")


def _about_domains(warning: str) -> CheckMessage:
    words = f"{warning[0].upper()}{warning[1:]}."
    if warning == selectors.NONE_REGISTERED:
        return Advice(words, hint="Register the hosts that visitors ask for.", id="gatewall.W011")
    return Advice(words, hint="Set authorized_domains_mode to registered.", id="gatewall.W012")


def _needs_countries() -> bool:
    row = system_settings.current()
    if row.geo_mode == EnforcementMode.OFF:
        return False
    return row.unknown_country == UnknownCountry.BLOCK or GeoBlockRule.objects.exists()


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _open_to_others(path: Path) -> bool:
    try:
        return bool(path.stat().st_mode & _OTHERS)
    except OSError:
        return False  # missing or inaccessible files are not readable by others
