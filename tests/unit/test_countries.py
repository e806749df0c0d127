"""Country look-up in a file that is replaced while a process reads it."""

import os
import shutil
import subprocess
import sys
from ipaddress import ip_address

import pytest

from gatewall.gate import countries as countries_module
from gatewall.gate.countries import LOOK_SECONDS, Countries
from tests.support.mmdb import write_mmdb
from tests.unit.clocks import Clock

CLIENT = ip_address("198.51.100.7")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "country.mmdb"


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def countries(path, clock):
    return Countries(path, folder=path.parent / "copies", clock=clock)


def install(path, country):
    """Replace the database atomically."""
    write_mmdb(path.with_name("new"), {"198.51.100.0/24": {"country": country}}).replace(path)


def test_the_first_database_and_the_next_are_in_use_within_the_bound(path, clock, countries):
    seen = [countries.country_of(CLIENT)]
    for country in ("NZ", "DE"):
        install(path, country)
        clock.now += LOOK_SECONDS
        seen.append(countries.country_of(CLIENT))

    assert seen == [None, "NZ", "DE"]


def test_the_file_is_checked_no_more_often_than_necessary(path, clock, countries):
    install(path, "NZ")
    clock.now += LOOK_SECONDS - 0.01

    assert countries.country_of(CLIENT) is None


def test_a_reload_does_not_wait_for_the_next_look(path, countries):
    install(path, "NZ")

    countries.reload()

    assert countries.country_of(CLIENT) == "NZ"


def test_addresses_are_remembered_within_bounds_until_another_database_is_in_use(path, countries, monkeypatch):
    install(path, "NZ")
    countries.reload()
    monkeypatch.setattr(countries_module, "_MOST_REMEMBERED", 3)
    read = []
    code_in = countries_module.code_in
    monkeypatch.setattr(countries._codes, "_value_in", lambda record: read.append(record) or code_in(record))
    addresses = [ip_address(each) for each in ("198.51.100.7", "2001:db8::1", "198.51.100.8")]

    assert [countries.country_of(each) for each in addresses * 2] == ["NZ", None, "NZ"] * 2
    assert len(read) == 3
    countries.country_of(ip_address("198.51.100.9"))
    assert len(countries._codes._known[1]) == 1
    install(path, "DE")
    countries.reload()
    assert countries.country_of(addresses[0]) == "DE"


def test_an_unchanged_file_is_opened_once(path, clock, countries, monkeypatch):
    install(path, "NZ")
    countries.reload()
    monkeypatch.setattr("maxminddb.open_database", None)
    clock.now += LOOK_SECONDS

    assert countries.country_of(CLIENT) == "NZ"


def test_an_invalid_database_is_logged_once_and_the_old_one_stays_in_use(path, clock, countries, caplog):
    install(path, "NZ")
    countries.reload()
    path.with_name("bad").write_bytes(b"nothing")
    path.with_name("bad").replace(path)

    for _ in range(3):
        clock.now += LOOK_SECONDS
        assert countries.country_of(CLIENT) == "NZ"
    assert [record.message[:26] for record in caplog.records] == ["geo database not opened: E"]

    install(path, "DE")
    clock.now += LOOK_SECONDS
    assert countries.country_of(CLIENT) == "DE"


def test_a_removed_database_stays_in_use(path, clock, countries):
    install(path, "NZ")
    countries.reload()
    path.unlink()
    clock.now += LOOK_SECONDS

    assert countries.country_of(CLIENT) == "NZ"


_TRUNCATED = """
import os, sys
from ipaddress import ip_address
from pathlib import Path
from gatewall.gate.countries import Countries
path, folder = map(Path, sys.argv[1:])
countries = Countries(path, folder=folder)
before = countries.country_of(ip_address("198.51.100.7"))
os.truncate(path, 0)
print(before, countries.country_of(ip_address("198.51.100.7")))
"""


def test_a_process_survives_a_file_that_is_cut_short_in_place(path):
    install(path, "NZ")

    done = subprocess.run(
        [sys.executable, "-c", _TRUNCATED, str(path), str(path.parent / "copies")],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, "NZ NZ\n"), done.stderr


def test_a_file_overwritten_in_place_is_in_use_within_the_bound(path, clock, countries):
    install(path, "NZ")
    countries.reload()
    shutil.copyfile(write_mmdb(path.with_name("new"), {"198.51.100.0/24": {"country": "DE"}}), path)
    clock.now += LOOK_SECONDS

    assert countries.country_of(CLIENT) == "DE"


def test_processes_share_one_copy_and_old_copies_are_removed_after_a_minute(path, clock, countries):
    install(path, "NZ")
    countries.reload()
    (old,) = (path.parent / "copies").iterdir()
    inode = old.stat().st_ino
    Countries(path, folder=path.parent / "copies", clock=clock)
    assert [each.stat().st_ino for each in (path.parent / "copies").iterdir()] == [inode]

    os.utime(old, (0, 0))
    install(path, "DE")
    countries.reload()

    (copy,) = (path.parent / "copies").iterdir()
    assert copy != old
    assert copy.stat().st_mode & 0o777 == 0o600


def test_without_a_folder_for_copies_the_file_is_read_into_memory(path, clock, caplog):
    install(path, "NZ")
    (path.parent / "copies").write_bytes(b"not a folder")

    countries = Countries(path, folder=path.parent / "copies", clock=clock)
    path.write_bytes(b"")

    assert countries.country_of(CLIENT) == "NZ"
    assert [record.message[:35] for record in caplog.records] == ["geo database read into memory, not "]


def test_a_copy_of_a_file_that_changes_meanwhile_is_not_kept(path, monkeypatch):
    install(path, "NZ")
    stamp = countries_module.stamp_of(path)
    install(path, "DE")

    with pytest.raises(OSError, match="was changed while it was copied"):
        countries_module.private_copy(path, path.parent / "copies", stamp)
    assert list((path.parent / "copies").iterdir()) == []


def test_a_file_that_is_too_large_leaves_the_one_in_use(path, clock, countries, monkeypatch):
    install(path, "NZ")
    countries.reload()
    install(path, "DE")
    monkeypatch.setattr(countries_module, "MAX_BYTES", 10)
    clock.now += LOOK_SECONDS

    assert countries.country_of(CLIENT) == "NZ"


@pytest.mark.parametrize(
    ("record", "asn"),
    [
        ({"autonomous_system_number": 64500, "autonomous_system_organization": "X"}, 64500),  # GeoLite2, DB-IP
        ({"asn": "AS64500", "as_name": "X", "country_code": "NZ"}, 64500),  # IPinfo
        ({"asn": "64500"}, 64500),
        ({"asn": "AS"}, None),
        ({"asn": 0}, None),
        ({"asn": 2**32}, None),
        ({"asn": "\u0663"}, None),
        ({"country": "NZ"}, None),
    ],
)
def test_number_of_the_autonomous_system_is_read_from_any_layout(path, clock, record, asn):
    write_mmdb(path, {"198.51.100.0/24": record})

    assert Countries(path, folder=path.parent / "copies", clock=clock).asn_of(CLIENT) == asn
    assert Countries(path, folder=path.parent / "copies", clock=clock).asn_of(ip_address("192.0.2.1")) is None


def test_numbers_of_autonomous_systems_are_read_from_a_file_of_their_own_that_may_be_replaced(path, clock):
    write_mmdb(path, {"198.51.100.0/24": {"country": "NZ", "asn": 64511}})
    own = path.with_name("asn.mmdb")
    countries = Countries(path, folder=path.parent / "copies", asns=own, clock=clock)

    assert countries.asn_of(CLIENT) is None
    write_mmdb(own, {"198.51.100.0/24": {"autonomous_system_number": 64500}})
    clock.now += LOOK_SECONDS
    assert (countries.asn_of(CLIENT), countries.country_of(CLIENT)) == (64500, "NZ")
    write_mmdb(path.with_name("new"), {"198.51.100.0/24": {"autonomous_system_number": 64501}}).replace(own)
    countries.reload()
    assert (countries.asn_of(CLIENT), countries.country_of(CLIENT)) == (64501, "NZ")
