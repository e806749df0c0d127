"""Countries of a file that is replaced while a process looks into it."""

from ipaddress import ip_address

import pytest

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
    return Countries(path, clock)


def install(path, country):
    """Put a database in the place of the one before, as a whole."""
    write_mmdb(path.with_name("new"), {"198.51.100.0/24": {"country": country}}).replace(path)


def test_the_first_database_and_the_next_are_in_use_within_the_bound(path, clock, countries):
    seen = [countries.country_of(CLIENT)]
    for country in ("NZ", "DE"):
        install(path, country)
        clock.now += LOOK_SECONDS
        seen.append(countries.country_of(CLIENT))

    assert seen == [None, "NZ", "DE"]


def test_the_file_is_looked_at_no_more_often_than_the_bound_asks_for(path, clock, countries):
    install(path, "NZ")
    clock.now += LOOK_SECONDS - 0.01

    assert countries.country_of(CLIENT) is None


def test_a_reload_does_not_wait_for_the_next_look(path, countries):
    install(path, "NZ")

    countries.reload()

    assert countries.country_of(CLIENT) == "NZ"


def test_an_unchanged_file_is_opened_once(path, clock, countries, monkeypatch):
    install(path, "NZ")
    countries.reload()
    monkeypatch.setattr("maxminddb.open_database", None)
    clock.now += LOOK_SECONDS

    assert countries.country_of(CLIENT) == "NZ"


def test_a_file_that_is_no_database_leaves_the_one_in_use_and_is_said_once(path, clock, countries, caplog):
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


def test_a_database_that_is_gone_stays_in_use(path, clock, countries):
    install(path, "NZ")
    countries.reload()
    path.unlink()
    clock.now += LOOK_SECONDS

    assert countries.country_of(CLIENT) == "NZ"
