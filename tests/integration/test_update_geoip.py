"""``gatewall update-geoip``: a geo database that can be used replaces the one before, whole or not at all."""

import dataclasses
import hashlib
import os
import stat
import urllib.request
from contextlib import ExitStack
from ipaddress import ip_address

import maxminddb
import pytest
from django.core.management import CommandError, call_command

from gatewall.gate import countries
from gatewall.install import geo_database
from gatewall.kernel import downloads, env
from gatewall.policy import revisions
from gatewall.publication.control_plane import sources_of
from policies import geo, services
from tests.support.mmdb import write_mmdb
from tests.support.publisher import publishing

pytestmark = pytest.mark.django_db
KEYS = ("GATEWALL_SECRET_KEY", "GATEWALL_JWT_KEYS", "GATEWALL_DATA_KEYS")
COUNTRIES = {"198.51.100.0/24": {"country": {"iso_code": "NZ"}}, "2001:db8::/32": {"country": {"iso_code": "DE"}}}


@pytest.fixture(autouse=True)
def _soon(monkeypatch):
    """Every process looks at the file twenty times a second."""
    monkeypatch.setattr(countries, "LOOK_SECONDS", 0.05)


@pytest.fixture
def target(tmp_path):
    return tmp_path / "geo" / "country.mmdb"


@pytest.fixture
def database(tmp_path):
    """Return a good database as a file."""
    return write_mmdb(tmp_path / "new.mmdb", COUNTRIES)


@pytest.fixture
def serve():
    """Return a function that serves answers by path from a loopback port and returns the URL of its root."""
    with ExitStack() as stack:
        yield lambda answers: stack.enter_context(publishing(answers)).url


def refused(*arguments):
    with pytest.raises(CommandError) as caught:
        call_command("update_geoip", *map(str, arguments))
    assert len(str(caught.value).splitlines()) == 1
    return caught.value


def test_a_database_is_put_in_place_for_the_owner_alone(database, target, capsys):
    before = revisions.current()

    call_command("update_geoip", str(database))

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

    call_command("update_geoip", str(write_mmdb(tmp_path / "a.mmdb", COUNTRIES)))
    assert auth().reason == "country-blocked"

    call_command("update_geoip", str(write_mmdb(tmp_path / "b.mmdb", {"198.51.100.0/24": {"country": "AU"}})))
    assert auth().reason == "credential-missing"


def test_the_dashboard_knows_it_in_a_process_that_has_decided_nothing(settings, tmp_path):
    _, known = sources_of(dataclasses.replace(settings.CONFIG, geoip_database=None))
    client = ip_address("198.51.100.7")
    assert known.country_of(client) is None

    call_command("update_geoip", str(write_mmdb(tmp_path / "a.mmdb", COUNTRIES)))

    assert known.country_of(client) == "NZ"


def test_health_and_geo_rules_know_it_without_a_restart(admin, database):
    assert admin.post("/geo-block-rules", {"country_code": "nz"}).json()["warnings"]

    call_command("update_geoip", str(database))

    assert "warnings" not in admin.post("/geo-block-rules", {"country_code": "au"}).json()
    assert geo.describe(geo.in_use()).kind == "Test-Country"


def test_it_is_the_default_where_the_environment_names_none(database, target, settings, tmp_path):
    call_command("update_geoip", str(database))
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


def test_the_file_that_the_environment_names_is_not_replaced(database, settings, target):
    settings.GATEWALL_GEOIP_DATABASE = database

    error = refused(database)

    assert (error.returncode, "GEOIP_DATABASE names" in str(error), target.exists()) == (1, True, False)


def test_a_digest_is_held_against_the_file(database, target):
    digest = hashlib.sha256(database.read_bytes()).hexdigest()

    assert refused(database, "--sha256", "0" * 64).returncode == 1
    assert refused(database, "--sha256", "abc").returncode == 2
    assert not target.exists()

    call_command("update_geoip", str(database), "--sha256", digest.upper())
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
def test_what_is_no_geo_database_leaves_the_one_in_use(database, target, tmp_path, damage):
    call_command("update_geoip", str(database))
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


def test_a_database_is_fetched(database, target, serve):
    root = serve({"/geo.mmdb": (200, {}, database.read_bytes())})

    call_command("update_geoip", f"{root}/geo.mmdb?license_key=hunter2")

    assert target.read_bytes() == database.read_bytes()


def test_a_redirect_on_this_machine_is_followed(database, target, serve):
    root = serve({"/old": (302, {"Location": "/geo.mmdb"}, b""), "/geo.mmdb": (200, {}, database.read_bytes())})

    call_command("update_geoip", f"{root}/old")

    assert target.exists()


@pytest.mark.parametrize(
    "location",
    ["http://192.0.2.1/geo.mmdb", "file:///etc/passwd", "ftp://192.0.2.1/geo", "https://user:hunter2@192.0.2.1/"],
)
def test_a_redirect_to_where_nothing_may_be_fetched_is_refused(serve, target, location):
    root = serve({"/old": (302, {"Location": location}, b"")})

    error = refused(f"{root}/old")

    assert (error.returncode in {1, 2}, "hunter2" in str(error), target.exists()) == (True, False, False)


@pytest.mark.parametrize(
    "url",
    [
        "http://192.0.2.1/geo.mmdb",
        "http://localhost.example/geo.mmdb",
        "file:///etc/passwd",
        "ftp://127.0.0.1/geo.mmdb",
        "https://",
        "https://[::1/geo",
        "https://user:hunter2@geo.example/geo.mmdb",
        "http://127.0.0.1:99999/geo.mmdb",
    ],
)
def test_a_url_that_may_not_be_fetched_is_refused(url):
    error = refused(url)

    assert (error.returncode, "hunter2" in str(error)) == (1, False)


ANSWERS = {
    "not found": (404, {}, b"no"),
    "cut off": (200, {"Content-Length": "99999"}, b"short"),
    "going in circles": (302, {"Location": "/geo.mmdb"}, b""),
    "a length that is none": (200, {"Content-Length": "many"}, b"short"),
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_an_answer_without_a_database_is_one_line_without_the_query(serve, target, answer):
    root = serve({"/geo.mmdb": answer})

    error = refused(f"{root}/geo.mmdb?license_key=hunter2")

    assert (error.returncode in {1, 2}, "hunter2" in str(error)) == (True, False)
    assert not target.exists()


def test_a_server_that_is_not_there_is_exit_code_2(serve):
    from gatewall.install.launcher import free_port  # noqa: PLC0415

    assert refused(f"http://127.0.0.1:{free_port()}/geo.mmdb").returncode == 2


def test_a_redirect_away_from_https_is_refused_even_to_this_machine():
    class Body:
        closed = False

        def close(self):
            self.closed = True

    asked, body = urllib.request.Request("https://geo.example/a"), Body()
    redirects = downloads._Redirects(downloads.BY_HAND)

    with pytest.raises(downloads.DownloadRefused):
        redirects.redirect_request(asked, body, 302, "", {}, "http://127.0.0.1/a")
    assert body.closed
    assert (
        redirects.redirect_request(asked, body, 302, "", {}, "https://cdn.example/a").full_url
        == "https://cdn.example/a"
    )
