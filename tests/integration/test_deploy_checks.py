"""``gatewall check --deploy``: every check is reported when it applies, and only then."""

import re
import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.core import checks
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from accounts.models import User
from gatewall.credentials.keyring import KeyRing
from gatewall.credentials.rotation import new_ring
from gatewall.install.checks import check_files, check_interpreter, check_keys, check_network, check_rows
from gatewall.kernel.clientip import TrustedProxies
from gatewall.kernel.env_mail import mail_server
from gatewall.models import Node
from gatewall.policy import system_settings
from policies import services
from tests.support import processes
from tests.support.cast import KEYS

pytestmark = pytest.mark.django_db
LOOPBACK = ["127.0.0.0/8", "::1"]


@pytest.fixture
def production(settings, tmp_path, alice):
    """Return the settings of a complete installation, from which tests remove one part."""
    settings.GATEWALL_PUBLIC_URL = "https://wall.example.com"
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = True
    settings.GATEWALL_BIND, settings.GATEWALL_DEMO = "127.0.0.1", False
    settings.GATEWALL_TRUSTED_PROXIES = TrustedProxies.parse(LOOPBACK)
    settings.GATEWALL_JWT_KEYS = settings.GATEWALL_DATA_KEYS = new_ring(timezone.now())
    tmp_path.chmod(0o700)
    secrets = tmp_path / "secrets"
    secrets.mkdir(mode=0o700)
    (secrets / "jwt-keys").touch(0o600)
    return settings


def ids():
    messages = [message for check in (check_network, check_files, check_keys, check_rows) for message in check()]
    assert all(message.hint for message in messages)
    return {message.id.removeprefix("gatewall.") for message in messages}


def test_complete_installation_is_silent(production):
    assert ids() == set()


def test_the_checks_run_for_deployment_alone(production):
    production.GATEWALL_DEMO = True

    assert "gatewall.W005" in {message.id for message in checks.run_checks(include_deployment_checks=True)}
    assert not [message for message in checks.run_checks() if not message.is_silenced()]


NETWORK = [
    ({"GATEWALL_PUBLIC_URL": None}, {"W001"}),
    ({"GATEWALL_PUBLIC_URL": None, "GATEWALL_BIND": "192.0.2.1"}, {"E001", "W001", "W004"}),
    ({"GATEWALL_PUBLIC_URL": "http://wall.example.com", "GATEWALL_BIND": "localhost"}, set()),
    ({"GATEWALL_PUBLIC_URL": "http://wall.example.com", "GATEWALL_BIND": "::"}, {"E001", "W004"}),
    ({"GATEWALL_BIND": "::1"}, set()),
    ({"GATEWALL_BIND": "0.0.0.0"}, {"W004"}),
    ({"GATEWALL_BIND": "wall.internal"}, {"W004"}),
    ({"GATEWALL_BIND": "0.0.0.0", "GATEWALL_TRUSTED_PROXIES": TrustedProxies.parse(["10.0.0.9"])}, set()),
    ({"GATEWALL_BIND": "0.0.0.0", "GATEWALL_TRUSTED_PROXIES": TrustedProxies(())}, set()),
    ({"GATEWALL_TRUSTED_PROXIES": TrustedProxies.parse(["10.0.0.0/8", "fd00::/8"])}, set()),
    ({"GATEWALL_TRUSTED_PROXIES": TrustedProxies.parse(["10.0.0.0/7"])}, {"W003"}),
    ({"GATEWALL_TRUSTED_PROXIES": TrustedProxies.parse(["fc00::/7"])}, {"W003"}),
    ({"SESSION_COOKIE_SECURE": False}, {"W002"}),
    ({"CSRF_COOKIE_SECURE": False}, {"W002"}),
    ({"GATEWALL_DEMO": True}, {"W005"}),
]


def in_one_order(value):
    """Return the name of a case, equal in every process, unlike the order of a set."""
    return str(sorted(value) if isinstance(value, set) else value)


@pytest.mark.parametrize(("changes", "expected"), NETWORK, ids=in_one_order)
def test_network_settings_are_checked(production, changes, expected):
    for name, value in changes.items():
        setattr(production, name, value)

    assert ids() == expected


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o601])
def test_secret_that_others_may_read_or_change(production, tmp_path, mode):
    (tmp_path / "secrets" / "jwt-keys").chmod(mode)

    assert ids() == {"E002"}


def test_named_secret_that_others_may_read(production, tmp_path, monkeypatch):
    named = tmp_path / "named"
    named.touch(0o644)
    named.chmod(0o644)
    monkeypatch.setenv("GATEWALL_METRICS_TOKEN_FILE", str(named))

    assert ids() == {"E002"}


@pytest.mark.parametrize("folder", [".", "secrets"])
@pytest.mark.parametrize("mode", [0o750, 0o705])
def test_state_folder_that_is_open_to_others(production, tmp_path, folder, mode):
    (tmp_path / folder).chmod(mode)

    assert ids() == {"E003"}


def test_installation_with_its_secrets_in_the_environment_has_no_folder(production, tmp_path):
    shutil.rmtree(tmp_path / "secrets")

    assert ids() == set()


def test_password_file_of_the_first_admin(production, tmp_path):
    (tmp_path / "secrets" / "admin-password").touch(0o600)

    assert ids() == {"W006"}


@pytest.mark.parametrize("name", ["GATEWALL_JWT_KEYS", "GATEWALL_DATA_KEYS"])
@pytest.mark.parametrize("ring", [KEYS, KeyRing(KEYS.keys[:1])], ids=["two keys by hand", "one key"])
def test_ring_without_a_next_key(production, name, ring):
    setattr(production, name, ring)

    assert ids() == {"W010"}


@pytest.mark.parametrize(
    ("url", "found"),
    [("smtp://u:p@relay.example", {"W015"}), ("smtp://u:p@localhost", set()), ("smtps://u:p@relay.example", set())],
)
def test_password_of_the_mail_server_in_the_clear(production, url, found):
    production.GATEWALL_MAIL_SERVER = mail_server(url)

    assert ids() == found


@pytest.mark.parametrize(
    ("prefix", "arguments", "is_found"),
    [
        ("/opt/python", "'--enable-optimizations' '--with-lto'", False),
        ("/opt/python", "'--enable-shared'", True),
        ("/opt/python", None, True),
        ("/usr", "'--enable-shared'", False),
    ],
)
def test_a_python_without_profile_guided_optimization(monkeypatch, prefix, arguments, is_found):
    monkeypatch.setattr("sys.base_prefix", prefix)
    monkeypatch.setattr("sysconfig.get_config_var", lambda _: arguments)

    assert [message.id for message in check_interpreter()] == ["gatewall.I001"] * is_found


def test_a_database_of_a_newer_release(production):
    MigrationRecorder.Migration.objects.create(app="audit", name="9999_later")

    assert ids() == {"W014"}


def test_an_installation_without_an_admin_is_a_warning(production):
    User.objects.all().delete()

    assert ids() == {"W007"}


@pytest.mark.parametrize(
    ("vendor", "minutes", "expected"),
    [
        ("sqlite", [0, 1], {"W008"}),
        ("sqlite", [0, 60], set()),
        ("sqlite", [0], set()),
        ("postgresql", [0, 1], set()),
    ],
)
def test_several_hosts_on_sqlite(production, monkeypatch, vendor, minutes, expected):
    monkeypatch.setattr("gatewall.install.checks.connection", SimpleNamespace(vendor=vendor))
    for number, ago in enumerate(minutes):
        seen = timezone.now() - timedelta(minutes=ago)
        Node.objects.create(name=f"host{number}", seen_at=seen, revision=1)

    assert ids() == expected


@pytest.mark.parametrize("database", [None, "/some/where.mmdb"])
@pytest.mark.parametrize(
    ("country", "values", "needed"),
    [
        ("NZ", {}, True),
        ("NZ", {"geo_mode": "monitor"}, True),
        ("NZ", {"geo_mode": "off"}, False),
        (None, {"unknown_country": "block"}, True),
        (None, {}, False),
    ],
)
def test_rules_about_countries_without_a_geo_database(production, database, country, values, needed):
    production.GATEWALL_GEOIP_DATABASE = database and Path(database)
    system_settings.change(**values, actor="alice")
    if country:
        services.block_country(actor="cast", country_code=country)

    assert ids() == ({"W009"} if needed and not database else set())


def test_database_that_cannot_be_read_is_no_traceback(production, monkeypatch):
    def gone():
        from django.db import OperationalError  # noqa: PLC0415 - what a database says

        raise OperationalError("no such table")

    monkeypatch.setattr("gatewall.install.checks.accounts.has_admin", gone)

    assert ids() == {"E004"}


def deploy_check(home, **variables):
    """Run the command for an installation; return its exit code and the reported ids."""
    command = [sys.executable, "manage.py", "check", "--deploy", "--fail-level=WARNING"]
    environment = processes.environment(home, **variables)
    ended = subprocess.run(
        command, cwd=processes.BASE, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    return ended.returncode, set(re.findall(r"\((\w+\.\w\d+)\)", ended.stderr))


def test_a_new_installation_on_loopback_fails_the_production_checks(tmp_path):
    processes.prepare(tmp_path)
    tmp_path.chmod(0o700)

    assert "no issues" in processes.manage(tmp_path, "check")
    own = {message.id for message in check_interpreter()}  # about the Python that runs the tests
    assert deploy_check(tmp_path) == (1, {"gatewall.W001", "gatewall.W002", "gatewall.W005", *own})
    assert deploy_check(tmp_path, GATEWALL_PUBLIC_URL="https://wall.example.com", GATEWALL_DEMO="0") == (0, own)
