"""With a locked or unreachable database every call gets 503 with ``Retry-After``, without database details."""

import json

import pytest
from django.db import InterfaceError, OperationalError, connection
from django.test import Client

from tests.api.resources import KINDS

pytestmark = pytest.mark.django_db
OUTAGES = [OperationalError("secret host"), InterfaceError("secret host")]


def failing(error):
    """Return a context in which every statement fails."""

    def fail(execute, sql, params, many, context):
        raise error

    return connection.execute_wrapper(fail)


def asked(verb, path, token, body=None):
    client = Client(raise_request_exception=False, headers={"Service-Authorization": token})
    return client.generic(verb, f"/wall{path}", json.dumps(body or {}), content_type="application/json")


@pytest.mark.parametrize("error", OUTAGES, ids=repr)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_database_outage_gets_503_without_details(wall, alice, kind, error):
    token = wall.a_token(alice)

    for verb, path in (
        ("GET", kind.path),
        ("POST", kind.path),
        ("GET", f"{kind.path}/1"),
        ("DELETE", f"{kind.path}/1"),
    ):
        with failing(error):
            response = asked(verb, path, token, kind.body(0))

        assert (response.status_code, response.json()["code"]) == (503, "unavailable")
        assert response.headers["Retry-After"] == "5"
        assert response.headers["Content-Type"] == "application/problem+json"
        assert "secret host" not in response.text


@pytest.mark.parametrize("path", ["/login", "/admin-login", "/logout"])
@pytest.mark.parametrize("error", OUTAGES, ids=repr)
def test_a_sign_in_during_an_outage_gets_503(wall, alice, path, error):
    token = wall.a_token(alice)

    with failing(error):
        response = asked("POST", path, token, {"username": "alice", "password": wall.PASSWORD})

    assert (response.status_code, response.headers.get("Retry-After")) == (503, "5")


def test_after_an_outage_it_answers_again(wall, alice, admin):
    token = wall.a_token(alice)

    with failing(OUTAGES[0]):
        assert asked("GET", "/users", token).status_code == 503

    assert admin.get("/users").status_code == 200
