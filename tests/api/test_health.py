"""Health: what is wrong in words, and 503 only where serving is impossible. The geo database: tests/integration."""

import pytest
from django.db import InterfaceError, OperationalError, connection
from django.test import Client

from gatewall.snapshot import pattern_cache
from policies.builtin_rules import seed_waf_rules
from tests.mmdb import write_mmdb

pytestmark = pytest.mark.django_db


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
def test_without_a_database_it_is_not_ready(anonymous, path, error):
    with failing(error):
        response = Client().get(f"/wall{path}")

    assert response.status_code == 503
    assert response.json()["status"] == "unavailable"
    assert response.json()["checks"]["database"] == "cannot be read"
    assert "secret host" not in response.content.decode()


def test_without_a_database_it_is_alive(anonymous):
    with failing(OperationalError("gone")):
        assert anonymous.get("/health/live").json() == {"status": "ok", "checks": {}}


def test_a_geo_database_is_said_to_be_there(anonymous, settings, tmp_path):
    settings.GATEWALL_GEOIP_DATABASE = write_mmdb(tmp_path / "geo.mmdb", {"2001:db8::/32": {"country": "NZ"}})

    assert anonymous.get("/health").json()["checks"]["geo"] == "ok"


def test_a_broken_token_does_not_make_it_ill(wall):
    assert wall.Api("no.good.token").get("/health").status_code == 200


def test_with_a_damaged_published_policy_it_is_not_ready(settings):
    (settings.CONFIG.home / "policy").mkdir()
    (settings.CONFIG.home / "policy" / "current").write_bytes(b"no manifest")

    response = Client().get("/wall/health/ready")

    assert response.status_code == 503
    assert response.json()["checks"]["policy"] == "the published policy cannot be used: not signed with our key"


def test_with_a_spool_that_cannot_be_written_it_is_not_ready(settings):
    (settings.CONFIG.home / "spool").write_text("a file where the folder should be")

    response = Client().get("/wall/health/ready")

    assert response.status_code == 503
    assert response.json()["checks"]["spool"] == "cannot be written"


@pytest.mark.parametrize("path", ["/health", "/health/ready"])
def test_what_the_waf_runs_on_is_said_and_makes_nobody_unready(anonymous, monkeypatch, path):
    assert anonymous.get(path).json()["checks"]["waf_engine"] == "none"

    monkeypatch.setattr(pattern_cache, "AVAILABLE", False)
    seed_waf_rules(actor="seed")
    response = anonymous.get(path)

    assert (response.status_code, response.json()["status"]) == (200, "ok")
    assert (
        response.json()["checks"] | {"waf": pattern_cache.NO_ENGINE, "waf_engine": "re2"} == response.json()["checks"]
    )
