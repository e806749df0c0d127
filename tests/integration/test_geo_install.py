"""``gatewall geo install``: a usable geo database replaces the previous one atomically."""

import dataclasses
import hashlib
import json
import os
import stat
from ipaddress import ip_address
from unittest.mock import Mock

import maxminddb
import pytest
from django.core.management import call_command
from django.db import OperationalError

from audit.models import SecurityEvent
from gatewall.gate import countries
from gatewall.install import geo_database
from gatewall.install.geo_verification import KNOWN_ADDRESSES
from gatewall.kernel import env
from gatewall.policy import revisions
from gatewall.publication.control_plane import sources_of
from policies import geo, services
from tests.support.geo_install import COUNTRIES, refused
from tests.support.mmdb import write_mmdb

pytestmark = pytest.mark.django_db
KEYS = ("GATEWALL_SECRET_KEY", "GATEWALL_JWT_KEYS", "GATEWALL_DATA_KEYS")


@pytest.fixture(autouse=True)
def _soon(monkeypatch):
    """Make every process check the file twenty times a second."""
    monkeypatch.setattr(countries, "LOOK_SECONDS", 0.05)


@pytest.fixture
def target(tmp_path):
    return tmp_path / "geo" / "country.mmdb"


@pytest.fixture
def database(tmp_path):
    """Return a good database as a file."""
    return write_mmdb(tmp_path / "new.mmdb", COUNTRIES)


def test_a_database_is_put_in_place_for_the_owner_alone(database, target, capsys):
    before = revisions.current()

    call_command("geo", "install", str(database))

    assert target.read_bytes() == database.read_bytes()
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert stat.S_IMODE(target.parent.stat().st_mode) == 0o700
    assert revisions.current() == before
    assert hashlib.sha256(target.read_bytes()).hexdigest() in capsys.readouterr().out
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.django_db(transaction=True)  # a reload counts once it is published, which follows the commit
def test_a_running_gate_takes_the_first_database_and_the_next(auth, tmp_path):
    services.block_country(actor="alice", country_code="NZ")
    assert auth().reason == "credential-missing"

    call_command("geo", "install", str(write_mmdb(tmp_path / "a.mmdb", COUNTRIES)))
    assert auth().reason == "country-blocked"

    call_command("geo", "install", str(write_mmdb(tmp_path / "b.mmdb", {"198.51.100.0/24": {"country": "AU"}})))
    assert auth().reason == "credential-missing"


def test_the_dashboard_uses_a_new_database_in_a_process_without_decisions(settings, tmp_path):
    _, known = sources_of(dataclasses.replace(settings.CONFIG, geoip_database=None))
    client = ip_address("198.51.100.7")
    assert known.country_of(client) is None

    call_command("geo", "install", str(write_mmdb(tmp_path / "a.mmdb", COUNTRIES)))

    assert known.country_of(client) == "NZ"


def test_health_and_geo_rules_use_a_new_database_without_a_restart(admin, database):
    assert admin.post("/geo-block-rules", {"country_code": "nz"}).json()["warnings"]

    call_command("geo", "install", str(database))

    assert "warnings" not in admin.post("/geo-block-rules", {"country_code": "au"}).json()
    assert geo.describe(geo.in_use()).kind == "Test-Country"


def test_the_installed_database_is_the_default_unless_the_environment_names_one(database, target, settings, tmp_path):
    call_command("geo", "install", str(database))
    keys = {name: os.environ[name] for name in KEYS}

    config = env.read({**keys, "GATEWALL_HOME": str(tmp_path)}, tmp_path)
    named = env.read({**keys, "GATEWALL_HOME": str(tmp_path), "GEOIP_DATABASE": "new.mmdb"}, tmp_path)

    assert (config.geoip_database, config.geo_database) == (target, target)
    assert named.geo_database == database


def test_a_default_that_is_no_database_stops_the_start(target, tmp_path):
    target.parent.mkdir()
    target.write_bytes(b"nothing")
    keys = {name: os.environ[name] for name in KEYS}

    with pytest.raises(env.ConfigError, match=r"^GEOIP_DATABASE names .* not an MMDB file$"):
        env.read({**keys, "GATEWALL_HOME": str(tmp_path)}, tmp_path)


def test_the_file_that_the_environment_names_is_replaced_with_its_mode(database, settings, target, tmp_path):
    named = settings.GATEWALL_GEOIP_DATABASE = write_mmdb(tmp_path / "named.mmdb", {"192.0.2.0/24": {"country": "US"}})
    named.chmod(0o644)

    call_command("geo", "install", str(database))

    assert named.read_bytes() == database.read_bytes()
    assert (stat.S_IMODE(named.stat().st_mode), target.exists()) == (0o644, False)


def test_an_installation_is_an_event_without_the_name_of_the_source(database, capsys):
    call_command("geo", "install", str(database))

    (event,) = SecurityEvent.objects.filter(kind="settings.changed")
    assert (event.detail["geo_database"], event.detail["networks"]) == ("Test-Country", 2)
    assert event.detail["sha256"] in capsys.readouterr().out
    assert str(database) not in json.dumps(event.detail)


def test_a_database_server_that_is_down_does_not_stop_it(database, target, monkeypatch, capsys):
    monkeypatch.setattr("gatewall.management.commands.geo.record_event", Mock(side_effect=OperationalError))

    call_command("geo", "install", str(database))

    assert target.exists()
    assert "not recorded as an event" in capsys.readouterr().err


def test_a_database_with_known_addresses_elsewhere_is_refused(tmp_path, target):
    right = {f"{address}/128" if ":" in address else f"{address}/32": code for address, code in KNOWN_ADDRESSES.items()}
    records = {network: {"country": {"iso_code": code}} for network, code in right.items()}
    call_command("geo", "install", str(write_mmdb(tmp_path / "right.mmdb", records)))
    before = target.read_bytes()

    error = refused(write_mmdb(tmp_path / "shifted.mmdb", {each: {"country": {"iso_code": "KP"}} for each in records}))

    assert "12 of 12 known addresses are in the wrong country: 18.7.22.69 in KP, not US" in str(error)
    assert target.read_bytes() == before


def test_the_old_name_of_the_command_installs_too(database, target):
    call_command("update_geoip", str(database))

    assert target.exists()


def test_the_digest_of_the_file_is_verified(database, target):
    digest = hashlib.sha256(database.read_bytes()).hexdigest()

    assert refused(database, "--sha256", "0" * 64).returncode == 1
    assert refused(database, "--sha256", "abc").returncode == 2
    assert not target.exists()

    call_command("geo", "install", str(database), "--sha256", digest.upper())
    assert target.exists()


def _cut(path):
    data = path.read_bytes()
    path.write_bytes(data[:40] + data[60:])


def _from_tomorrow(path):
    data = path.read_bytes()
    with maxminddb.open_database(path) as reader:
        built = reader.metadata().build_epoch
    path.write_bytes(data.replace(built.to_bytes(4, "big"), (built + 30 * 86400).to_bytes(4, "big")))


def _without_a_date(path):
    data = path.read_bytes()
    with maxminddb.open_database(path) as reader:
        built = reader.metadata().build_epoch
    path.write_bytes(data.replace(built.to_bytes(4, "big"), bytes(4)))


DAMAGE = {
    "text": lambda path: path.write_text("<html>not found</html>"),
    "empty": lambda path: path.write_bytes(b""),
    "compressed": lambda path: path.write_bytes(b"\x1f\x8b" + path.read_bytes()),
    "cut": _cut,
    "half": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "from the future": _from_tomorrow,
    "without a date": _without_a_date,
    "no countries": lambda path: write_mmdb(path, {"1.2.3.0/24": {"autonomous_system_number": "5"}}),
    "no networks": lambda path: write_mmdb(path, {}),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_an_invalid_geo_database_leaves_the_one_in_use(database, target, tmp_path, damage):
    call_command("geo", "install", str(database))
    before = target.read_bytes()
    bad = write_mmdb(tmp_path / "bad.mmdb", COUNTRIES)
    damage(bad)

    error = refused(bad)

    assert error.returncode == 1
    assert target.read_bytes() == before
    assert list(target.parent.iterdir()) == [target]


def test_a_file_that_is_too_large_is_refused(database, target, monkeypatch):
    monkeypatch.setattr(geo_database, "MAX_BYTES", 100)

    assert "has more than" in str(refused(database))
    assert list(target.parent.iterdir()) == []


@pytest.mark.parametrize("path", ["/nowhere/geo.mmdb", "/"])
def test_a_file_that_cannot_be_read_is_exit_code_2(path):
    assert refused(path).returncode == 2
