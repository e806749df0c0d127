"""The Compose file with PostgreSQL: networks between services, secrets of each role, and the nginx configuration."""

import re

import pytest
import yaml

from tests.deploy import dockerfile
from tests.deploy.dockerfile import BASE

FOLDER = BASE / "deploy" / "compose"
FILE = FOLDER / "compose.postgres.yaml"
COMPOSE = yaml.safe_load(FILE.read_text())
SERVICES = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if service["image"].startswith("gatewall:")}
ROLES = {name: service for name, service in OURS.items() if "entrypoint" not in service}
HOME = dockerfile.settings()["GATEWALL_HOME"]


def test_only_the_two_volumes_outlive_a_container():
    named = {
        volume for service in SERVICES.values() for volume in service.get("volumes", []) if not volume.endswith(":ro")
    }

    assert {volume.partition(":")[0] for volume in named} == set(COMPOSE["volumes"])
    assert {volume for volume in named if volume.startswith("state:")} == {f"state:{HOME}"}


@pytest.mark.parametrize("name", ROLES)
def test_a_service_is_a_role_of_the_entrypoint_and_is_asked_for_its_own_health(name):
    script = (BASE / "deploy/docker/entrypoint").read_text()
    check = ROLES[name]["healthcheck"]

    assert ROLES[name]["command"] == [name]
    assert re.search(rf"^    {name}( \| \w+)?\)", script, re.MULTILINE)
    if "test" in check:
        assert check["test"][2:] == ["health", name]
        assert check["test"][1] in dockerfile.last("ENTRYPOINT")
    else:
        assert (name, check) == ("migrate", {"disable": True})


@pytest.mark.parametrize("name", SERVICES)
def test_every_secret_is_a_file_that_is_declared_and_used_where_it_is_given(name):
    service = SERVICES[name]
    given = set(service.get("secrets", []))
    environment = service.get("environment", {})
    read = {value.removeprefix("/run/secrets/") for key, value in environment.items() if key.endswith("_FILE")}

    assert read == given <= set(COMPOSE["secrets"])
    assert not {key for key in environment if re.search("PASSWORD|KEY|TOKEN|DATABASE_URL", key) and "_FILE" not in key}


def test_the_data_plane_gets_the_keys_of_sessions_and_of_the_published_policy_alone():
    plane = SERVICES["data-plane"]

    assert set(plane["secrets"]) == {"jwt-keys", "manifest-key"}
    assert {name for name in plane["environment"] if "KEY" in name or "URL" in name} == {
        "GATEWALL_PUBLIC_URL",
        "GATEWALL_JWT_KEYS_FILE",
        "GATEWALL_MANIFEST_KEY_FILE",
    }


def test_the_data_plane_gets_no_password_of_the_database_and_no_way_to_it():
    assert "database-url" not in SERVICES["data-plane"]["secrets"]
    assert not set(SERVICES["data-plane"]["networks"]) & set(SERVICES["postgres"]["networks"])


def test_only_nginx_has_a_port_and_the_data_plane_is_on_the_gate_network_alone():
    assert [name for name in SERVICES if "ports" in SERVICES[name]] == ["nginx"]
    assert SERVICES["data-plane"]["networks"] == ["gate"]
    assert {name for name in SERVICES if "gate" in SERVICES[name]["networks"]} == {
        "nginx",
        "data-plane",
        "control-plane",
    }


def test_postgresql_is_healthy_only_when_it_listens_on_the_network():
    # The server that initializes a new database listens on its socket alone, and is temporary.
    assert "--host=127.0.0.1" in SERVICES["postgres"]["healthcheck"]["test"]


def test_services_start_after_those_that_they_need():
    wanted = {name: SERVICES[name].get("depends_on", {}) for name in SERVICES}

    assert wanted["migrate"] == {"postgres": {"condition": "service_healthy"}}
    assert wanted["agent"] == wanted["control-plane"] == {"migrate": {"condition": "service_completed_successfully"}}
    assert set(wanted["nginx"]) == {"data-plane", "control-plane", "site"}


@pytest.mark.parametrize("name", ["data-plane", "control-plane", "site"])
def test_nginx_asks_each_service_on_the_port_that_it_listens_on(name):
    (port,) = SERVICES[name]["expose"]

    site = (FOLDER / "nginx" / "site.postgres.conf").read_text()
    assert f"server {name}:{port} resolve;" in site
    if name != "site":
        assert port in dockerfile.last("EXPOSE").split()
    else:
        assert f"0.0.0.0:{port}" in SERVICES[name]["entrypoint"]
