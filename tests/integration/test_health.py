"""The health checks, as used by load balancers."""

import pytest
from django.conf import settings
from django.test import Client

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("accept", ["*/*", "text/html", "application/json", "image/png"])
@pytest.mark.parametrize("path", ["/health", "/health/live", "/health/ready"])
def test_health_is_json_for_every_caller(path, accept):
    response = Client().get(f"{settings.ROOT_PATH}{path}", HTTP_ACCEPT=accept)

    assert response.status_code == 200
    assert response.json()["status"] == "ok"


def test_health_reports_a_missing_geo_database():
    response = Client().get(f"{settings.ROOT_PATH}/health")

    assert response.json()["checks"]["geo"] == "no geo database: no country is known"


def test_health_reports_a_broken_geo_database(settings, tmp_path):
    settings.GATEWALL_GEOIP_DATABASE = tmp_path / "countries.mmdb"
    settings.GATEWALL_GEOIP_DATABASE.write_bytes(b"no database")

    response = Client().get(f"{settings.ROOT_PATH}/health")

    assert response.json()["checks"]["geo"] == "cannot be read"
