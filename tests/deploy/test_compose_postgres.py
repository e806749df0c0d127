"""The Compose file with PostgreSQL: who reaches whom, which secrets each role gets, and what nginx does."""

import re
from ipaddress import ip_address, ip_network

import pytest
import yaml

from gatewall.install import demo
from gatewall.install.launcher import free_port
from tests.deploy import dockerfile
from tests.deploy.dockerfile import BASE
from tests.support.processes import control_plane, prepare, request, running, wait_until
from tests.support.upstream import Upstream

FOLDER = BASE / "deploy" / "compose"
FILE = FOLDER / "compose.postgres.yaml"
COMPOSE = yaml.safe_load(FILE.read_text())
SERVICES = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if service["image"].startswith("gatewall:")}
ROLES = {name: service for name, service in OURS.items() if "entrypoint" not in service}
HOME = dockerfile.settings()["GATEWALL_HOME"]


def test_what_may_be_written_to_outlives_no_container_but_the_two_volumes():
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


def test_only_nginx_is_reached_from_outside_and_it_is_the_trusted_proxy():
    assert [name for name in SERVICES if "ports" in SERVICES[name]] == ["nginx"]
    address = SERVICES["nginx"]["networks"]["gate"]["ipv4_address"]

    assert SERVICES["data-plane"]["environment"]["GATEWALL_TRUSTED_PROXIES"].split(",")[-1] == address


@pytest.mark.parametrize("network", ["gate", "sites"])
def test_whom_nginx_asks_keeps_its_address_and_nobody_else_is_ever_given_the_one_of_the_proxy(network):
    # nginx looks names up once, and an engine gives out addresses in the order in which containers start.
    members = {name: each["networks"] for name, each in SERVICES.items() if network in each["networks"]}
    fixed = {name: ip_address(each[network]["ipv4_address"]) for name, each in members.items()}
    (plan,) = COMPOSE["networks"][network]["ipam"]["config"]
    subnet, given_out = ip_network(plan["subnet"]), ip_network(plan["ip_range"])

    assert "nginx" in fixed
    assert len({*fixed.values(), ip_address(plan["gateway"])}) == len(fixed) + 1
    assert given_out.subnet_of(subnet)
    for address in (*fixed.values(), ip_address(plan["gateway"])):
        assert address in subnet
        assert address not in given_out


def test_a_site_reaches_nginx_and_nobody_else():
    (network,) = SERVICES["site"]["networks"]

    assert {name for name, each in SERVICES.items() if network in each["networks"]} == {"site", "nginx"}
    assert COMPOSE["networks"][network]["internal"] is True


def test_postgresql_is_healthy_only_when_it_listens_on_the_network():
    # The server that sets a new database up listens on its socket alone, and ends again.
    assert "--host=127.0.0.1" in SERVICES["postgres"]["healthcheck"]["test"]


def test_services_start_in_an_order_in_which_each_finds_what_it_needs():
    wanted = {name: SERVICES[name].get("depends_on", {}) for name in SERVICES}

    assert wanted["migrate"] == {"postgres": {"condition": "service_healthy"}}
    assert wanted["agent"] == wanted["control-plane"] == {"migrate": {"condition": "service_completed_successfully"}}
    assert set(wanted["nginx"]) == {"data-plane", "control-plane", "site"}


ADDRESSES = {"data-plane:9998": "127.0.0.1:9998", "control-plane:9999": "127.0.0.1:9999", "site:8000": "127.0.0.1:8000"}


def directives(text):
    return [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("#")]


def test_the_site_is_the_sample_with_other_addresses():
    ours = (FOLDER / "site.conf").read_text().replace("listen 8080", "listen 80")
    for here, there in ADDRESSES.items():
        assert here in ours
        ours = ours.replace(here, there)

    assert directives(ours) == directives((BASE / "deploy/nginx/site.conf.example").read_text())


@pytest.mark.parametrize("name", ["data-plane", "control-plane", "site"])
def test_nginx_asks_each_service_on_the_port_that_it_listens_on(name):
    (port,) = SERVICES[name]["expose"]

    assert f"{name}:{port}" in ADDRESSES
    if name != "site":
        assert port in dockerfile.last("EXPOSE").split()
    else:
        assert f"0.0.0.0:{port}" in SERVICES[name]["entrypoint"]


def test_nginx_runs_with_its_files_and_asks_the_gate(tmp_path):
    home, gate, port = tmp_path / "home", free_port(), free_port()
    home.mkdir()
    prepare(home)
    with control_plane(home, gate, GATEWALL_WORKERS="1"), Upstream() as site:
        command = as_nginx(tmp_path / "nginx", port=port, gate=gate, site=site.port)
        with running(command, log=tmp_path / "log") as process:
            wait_until(lambda: process.poll() is not None or answers_at(port), what="nginx")
            host = f"app.example.com:{port}"
            page = request(port, "/", {"Host": host, "Accept": "text/html"})
            assert (page.status, page.header("Location").partition("?")[0]) == (302, f"http://{host}/wall/")
            assert request(port, "/wall/auth", {"Host": host}).status == 404
            assert request(port, "/wall/", {"Host": host}).status == 200


def answers_at(port):
    try:
        return request(port).status
    except OSError:
        return 0


def as_nginx(folder, *, port, gate, site):
    """Lay out what nginx finds in the container, with other addresses; the command that starts it here."""
    replaced = {
        "/tmp/": f"{folder}/",  # noqa: S108 - the container's
        "data-plane:9998": f"127.0.0.1:{gate}",
        "control-plane:9999": f"127.0.0.1:{gate}",
        "site:8000": f"127.0.0.1:{site}",
        "listen 8080": f"listen 127.0.0.1:{port}",
    }
    for volume in SERVICES["nginx"]["volumes"]:
        source, target, _ = volume.split(":")
        source, target = (FOLDER / source).resolve(), folder / target.removeprefix("/etc/nginx/")
        for file in [source] if source.is_file() else sorted(source.iterdir()):
            place = target if source.is_file() else target / file.name
            place.parent.mkdir(parents=True, exist_ok=True)
            text = file.read_text()
            for there, here in replaced.items():
                text = text.replace(there, here)
            place.write_text(text)
    words = SERVICES["nginx"]["command"]
    configuration = folder / words[words.index("-c") + 1].removeprefix("/etc/nginx/")
    return [str(demo.find_nginx()), "-p", str(folder), "-e", "stderr", "-c", str(configuration), "-g", "daemon off;"]
