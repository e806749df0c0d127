"""Fixtures of the tests of the API: sign-in with a frozen clock, and records in the access log."""

from datetime import timedelta
from importlib import import_module

import pytest

from tests.api.own import OLD
from tests.support.cast import MOMENT
from tests.support.second_factor import an_app


@pytest.fixture
def app(clock, alice):
    """Give Alice a second factor; return her authenticator app."""
    return an_app(alice)


@pytest.fixture
def passkey_home(settings):
    """Give the guard page an address at which browsers support passkeys."""
    settings.GATEWALL_PUBLIC_URL = "https://wall.example.com"


@pytest.fixture
def key(passkey_home, bob, wall):
    """Return an authenticator with a passkey of Bob."""
    passkeys, authenticator = import_module("tests.api.passkeys"), import_module("tests.support.authenticator")
    made = authenticator.Authenticator(passkeys.ORIGIN)
    assert passkeys.register(wall.Api(wall.a_token(bob)), bob, made).status_code == 201
    return made


@pytest.fixture
def other(wall):
    """Return a second admin, so that the first may be changed."""
    return wall.a_user("zoe", is_admin=True)


@pytest.fixture
def fresh(clock, wall, bob):
    """Return a client of Bob that signed in with a code, one second before the session is stale."""
    return wall.Api(wall.a_token(bob, amr=("pwd", "otp"), at=MOMENT - OLD + timedelta(seconds=1)))


@pytest.fixture
def log(tmp_path):
    """Return a function that ships records to the database through a spool."""

    def write(*records):
        import_module("tests.support.spool_shipping").shipped(tmp_path / "log", records)

    return write


@pytest.fixture
def visits(auth, settings):
    """Return a function that asks the gate, ships its records to the log and returns the decision id."""

    def visit(**headers):
        answer = auth(**headers)
        import_module("audit.storage.ingest").ship(settings.GATEWALL_HOME / "spool")
        return answer.headers["X-Gatewall-Decision-Id"]

    return visit


@pytest.fixture
def scrape(anonymous):
    """Return a function that reads the values of all samples, by name and labels."""

    parse = import_module("prometheus_client.parser").text_string_to_metric_families

    def read():
        answer = anonymous.get("/metrics")
        assert answer.status_code == 200, answer.content
        families = parse(answer.content.decode())
        return {
            (each.name, *sorted(each.labels.values())): each.value for family in families for each in family.samples
        }

    return read


@pytest.fixture
def tried(admin):
    """Return a function that tries the rules on a request and returns the answer."""

    def ask(uri="/", **parts):
        response = admin.post("/waf-rules/test", {"uri": uri, **parts})
        assert response.status_code == 200, response.json()
        return response.json()

    return ask


@pytest.fixture
def rules(admin):
    """Return a function that creates rules of these names and returns their ids."""

    def make(*names, **values):
        bodies = [admin.post("/access-rules", {"access": "two_factor", **values, "name": name}) for name in names]
        assert [each.status_code for each in bodies] == [201] * len(names)
        return [each.json()["id"] for each in bodies]

    return make
