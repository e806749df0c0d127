"""``gatewall geo install`` of text ranges in the format of Debian's tor-geoipdb: they are converted to an MMDB."""

import stat

import maxminddb
import pytest
from django.core.management import call_command

from gatewall.gate import countries
from gatewall.management.commands import geo as geo_command
from policies import geo, services
from tests.support.geo_install import refused
from tests.support.mmdb import write_mmdb

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _frequent_looks(monkeypatch):
    """Make every process use a new database at once, so that no command waits for it."""
    monkeypatch.setattr(countries, "LOOK_SECONDS", 0)


@pytest.fixture
def target(tmp_path):
    return tmp_path / "geo" / "country.mmdb"


@pytest.fixture
def database(tmp_path):
    """Return a good database as a file."""
    return write_mmdb(tmp_path / "new.mmdb", {"203.0.113.0/24": {"country": {"iso_code": "NZ"}}})


TOR = b"# of Tor\n16777216,16777471,AU\n16777472,16778239,CN\n3405803776,3405804031,DE\n"
TOR6 = b"2001:db8::,2001:db8:ffff:ffff:ffff:ffff:ffff:ffff,FR\n"


@pytest.fixture
def tor(tmp_path):
    """Return both files of tor-geoipdb."""
    (tmp_path / "geoip").write_bytes(TOR)
    (tmp_path / "geoip6").write_bytes(TOR6)
    return tmp_path / "geoip", tmp_path / "geoip6"


def test_a_gate_decides_by_text_ranges(auth, tor, target):
    tor[0].write_bytes(TOR + b"198.51.100.0,198.51.100.255,NZ\n")
    services.block_country(actor="alice", country_code="NZ")
    assert auth().reason == "credential-missing"

    call_command("geo", "install", *map(str, tor))

    assert auth().reason == "country-blocked"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert list(target.parent.iterdir()) == [target]
    with maxminddb.open_database(target) as reader:
        assert reader.get("2001:db8::7") == {"country": {"iso_code": "FR"}}


def test_without_a_name_the_files_of_debian_are_used(tor, target, monkeypatch):
    monkeypatch.setattr(geo_command, "_TOR", tor)
    call_command("geo", "install")

    assert geo.describe(target).kind == "Gatewall-Country-Ranges"

    monkeypatch.setattr(geo_command, "_TOR", (target.parent / "none", target.parent / "none6"))
    assert refused().returncode == 2


HEADER = b"# Location Database Export\n# Generated: Thu, 25 Jun 2026 04:33:59 GMT\n# Vendor:    IPFire Project\n"


def test_build_date_and_license_are_those_of_the_text(tor, capsys):
    tor[0].write_bytes(HEADER + b"# License:   CC BY-SA 4.0\n#\n" + TOR)

    call_command("geo", "install", *map(str, tor))

    words = capsys.readouterr().out
    assert "Built        2026-06-25" in words
    assert "Attribution  IPFire Project, CC BY-SA 4.0" in words
    assert "5 networks in 4 countries" in words


@pytest.mark.parametrize("date", [b"yesterday", b"Thu, 99 Jun 2026 04:33:59 GMT", b"\xff", b"x" * 150])
def test_an_invalid_date_is_not_used(tor, date, capsys):
    tor[0].write_bytes(b"# Generated: " + date + b"\n" + TOR)

    call_command("geo", "install", *map(str, tor))

    assert ", 0 days ago" in capsys.readouterr().out


def test_text_and_a_database_do_not_mix(tor, database, target):
    assert "MMDB file is one" in str(refused(database, tor[0]))
    assert "more of them" in str(refused(tor[0], database))
    assert not target.exists()


def test_bad_ranges_leave_the_database_that_is_there(tor, database, target):
    call_command("geo", "install", str(database))
    tor[1].write_bytes(TOR6 + TOR6)

    assert "line 2: overlaps" in str(refused(*tor))
    assert target.read_bytes() == database.read_bytes()
    assert list(target.parent.iterdir()) == [target]
