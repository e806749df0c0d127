"""Health checks: problems in words, and 503 only if serving is impossible. Geo database: tests/integration."""

import pytest
from django.db import InterfaceError, OperationalError, connection
from django.test import Client

from gatewall import __version__
from gatewall.snapshot import pattern_cache
from policies.rules.builtin import seed_waf_rules
from tests.support.mmdb import write_mmdb

pytestmark = pytest.mark.django_db
OUTSIDE = {"X-Forwarded-For": "203.0.113.9"}
TOKEN = "Mt4bN8qZ1xV6rC3kP9wJ2hF7dS5gL0yT"


def failing(error):
    def fail(execute, sql, params, many, context):
        raise error

    return connection.execute_wrapper(fail)


@pytest.mark.parametrize("path", ["/health", "/health/ready"])
def test_a_process_that_can_serve_is_ready(anonymous, path):
    response = anonymous.get(path)

    assert response.status_code == 200
    assert response.json()["status"] == "ok"
    assert response.json()["checks"]["database"] == "ok"


@pytest.mark.parametrize("path", ["/health", "/health/ready"])
@pytest.mark.parametrize("error", [OperationalError("secret host"), InterfaceError("secret host")], ids=repr)
def test_without_a_database_the_server_is_not_ready(anonymous, path, error):
    with failing(error):
        response = Client().get(f"/wall{path}")

    assert response.status_code == 503
    assert response.json()["status"] == "unavailable"
    assert response.json()["checks"]["database"] == "cannot be read"
    assert "secret host" not in response.content.decode()


def test_without_a_database_the_server_is_alive(anonymous):
    with failing(OperationalError("gone")):
        assert anonymous.get("/health/live").json() == {"status": "ok", "version": __version__, "checks": {}}


@pytest.mark.parametrize("path", ["/health", "/health/live", "/health/ready"])
def test_anonymous_callers_get_only_the_status(path):
    response = Client(headers=OUTSIDE).get(f"/wall{path}")

    assert (response.status_code, response.json()) == (200, {"status": "ok"})


def test_anonymous_callers_get_503_when_it_is_not_ready(settings):
    (settings.CONFIG.home / "spool").write_text("a file where the folder should be")

    response = Client(headers=OUTSIDE).get("/wall/health/ready")

    assert (response.status_code, response.json()) == (503, {"status": "unavailable"})


@pytest.mark.parametrize(
    ("authorization", "is_told"), [(f"Bearer {TOKEN}", True), (f"Bearer {TOKEN}x", False), (TOKEN, False)]
)
def test_the_metrics_token_shows_the_checks(settings, authorization, is_told):
    settings.GATEWALL_METRICS_TOKEN = TOKEN

    response = Client(headers=OUTSIDE | {"Authorization": authorization}).get("/wall/health")

    assert (response.status_code, "checks" in response.json()) == (200, is_told)


def test_a_malformed_address_chain_gets_only_the_status():
    response = Client(headers={"X-Forwarded-For": ",".join(["127.0.0.1"] * 33)}).get("/wall/health")

    assert response.json() == {"status": "ok"}


def test_only_admins_get_the_checks(wall, alice, bob):
    tokens = {"admin": wall.a_token(alice), "user": wall.a_token(bob), "bad": "no.good.token"}
    told = {name: set(wall.Api(each).get("/health", headers=OUTSIDE).json()) for name, each in tokens.items()}

    assert told == {"admin": {"status", "version", "checks"}, "user": {"status"}, "bad": {"status"}}


def test_without_a_database_even_admins_get_only_the_status(wall, alice):
    client = Client(headers=OUTSIDE | {"Service-Authorization": wall.a_token(alice)})
    with failing(OperationalError("gone")):
        response = client.get("/wall/health")

    assert (response.status_code, response.json()) == (503, {"status": "unavailable"})


def test_the_health_checks_report_the_geo_database(anonymous, settings, tmp_path):
    settings.GATEWALL_GEOIP_DATABASE = write_mmdb(tmp_path / "geo.mmdb", {"2001:db8::/32": {"country": "NZ"}})

    assert anonymous.get("/health").json()["checks"]["geo"] == "ok"


def test_an_invalid_token_does_not_change_the_health(wall):
    assert wall.Api("no.good.token").get("/health").status_code == 200


def test_with_a_damaged_published_policy_the_server_is_not_ready(settings):
    (settings.CONFIG.home / "policy").mkdir()
    (settings.CONFIG.home / "policy" / "current").write_bytes(b"no manifest")

    response = Client().get("/wall/health/ready")

    assert response.status_code == 503
    assert response.json()["checks"]["policy"] == "the published policy cannot be used: not signed with our key"


def test_with_an_unwritable_spool_the_server_is_not_ready(settings):
    (settings.CONFIG.home / "spool").write_text("a file where the folder should be")

    response = Client().get("/wall/health/ready")

    assert response.status_code == 503
    assert response.json()["checks"]["spool"] == "cannot be written"


@pytest.mark.parametrize("path", ["/health", "/health/ready"])
def test_a_missing_waf_engine_is_reported_and_does_not_change_readiness(anonymous, monkeypatch, path):
    assert anonymous.get(path).json()["checks"]["waf_engine"] == "none"

    monkeypatch.setattr(pattern_cache, "AVAILABLE", False)
    seed_waf_rules(actor="seed")
    response = anonymous.get(path)

    assert (response.status_code, response.json()["status"]) == (200, "ok")
    assert (
        response.json()["checks"] | {"waf": pattern_cache.NO_ENGINE, "waf_engine": "re2"} == response.json()["checks"]
    )
