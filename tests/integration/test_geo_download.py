"""``gatewall geo install URL``: permitted URLs, and errors of one line without secrets."""

import urllib.request
from contextlib import ExitStack

import pytest
from django.core.management import call_command

from gatewall.gate import countries
from gatewall.kernel import downloads
from tests.support.geo_install import COUNTRIES, refused
from tests.support.mmdb import write_mmdb
from tests.support.publisher import publishing

pytestmark = pytest.mark.django_db


@pytest.fixture
def target(tmp_path, monkeypatch):
    monkeypatch.setattr(countries, "LOOK_SECONDS", 0)
    return tmp_path / "geo" / "country.mmdb"


@pytest.fixture
def database(tmp_path):
    return write_mmdb(tmp_path / "new.mmdb", COUNTRIES)


@pytest.fixture
def serve():
    """Return a function that serves answers by path from a loopback port and returns the URL of its root."""
    with ExitStack() as stack:
        yield lambda answers: stack.enter_context(publishing(answers)).url


def test_a_database_is_fetched(database, target, serve):
    root = serve({"/geo.mmdb": (200, {}, database.read_bytes())})

    call_command("geo", "install", f"{root}/geo.mmdb?license_key=hunter2")

    assert target.read_bytes() == database.read_bytes()


def test_a_redirect_on_this_machine_is_followed(database, target, serve):
    root = serve({"/old": (302, {"Location": "/geo.mmdb"}, b""), "/geo.mmdb": (200, {}, database.read_bytes())})

    call_command("geo", "install", f"{root}/old")

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


def test_an_unreachable_server_is_exit_code_2(serve):
    from gatewall.install.ports import free_port  # noqa: PLC0415

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
