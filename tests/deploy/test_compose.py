"""Compose files: valid for a real parser, no unneeded privileges, and consistent with each other."""

import re
import subprocess

import pytest
import yaml
from compose_spec import PyCompose

from tests.deploy import dockerfile
from tests.deploy.compose import generated
from tests.deploy.compose.docker_run import document_of
from tests.deploy.dockerfile import BASE
from tests.deploy.jail import USER
from tests.deploy.test_install_page import commands
from tests.docs.test_tables import VARIABLES

FOLDER = BASE / "deploy" / "compose"
FILES = {path.name: yaml.safe_load(path.read_text()) for path in sorted(FOLDER.glob("compose*.yaml"))}
SERVICES = {f"{file}: {name}": each for file, found in FILES.items() for name, each in found["services"].items()}
OURS = {name: service for name, service in SERVICES.items() if service["image"].startswith("gatewall:")}
ONE = FILES["compose.yaml"]["services"]["gatewall"]
HOME = dockerfile.settings()["GATEWALL_HOME"]
ROOT = {"compose.caddy.yaml: caddy": ["NET_BIND_SERVICE"], "compose.traefik.yaml: traefik": []}
"""Capabilities that services keep because their image has a volume for root alone."""


@pytest.mark.parametrize("file", FILES)
def test_a_parser_of_the_compose_specification_accepts_the_file(file):
    resolved = {key: value for key, value in FILES[file].items() if not key.startswith("x-")}

    PyCompose.from_yaml(yaml.safe_dump(resolved)).validate()


@pytest.mark.parametrize("name", SERVICES)
def test_services_have_minimal_privileges(name):
    service = SERVICES[name]

    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service.get("cap_add", []) == ROOT.get(name, [])
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["user"] == "0:0" if name in ROOT else re.fullmatch(r"[1-9]\d*:[1-9]\d*", service["user"])
    assert not {"privileged", "pid", "network_mode", "ipc"} & set(service)
    assert not re.search(r":latest$|^[^:]+$", service["image"])
    assert service["restart"] in {"unless-stopped", "on-failure"}
    assert service["logging"]["options"] == {"max-size": "10m", "max-file": "5"}


@pytest.mark.parametrize("name", OURS)
def test_every_variable_is_one_that_the_program_reads(name):
    assert set(OURS[name]["environment"]) - {"DEMO_ROOT_PATH", "TMPDIR"} <= VARIABLES


@pytest.mark.parametrize("name", OURS)
def test_our_services_run_as_the_user_of_the_image(name):
    assert OURS[name]["user"] == dockerfile.last("USER") == f"{USER}:{USER}"
    if OURS[name].get("volumes"):
        assert OURS[name]["hostname"] == "gatewall"
        assert OURS[name]["volumes"] == [f"state:{HOME}"]


def test_docker_run_on_the_page_starts_the_container_of_the_file():
    (line,) = [line for line in commands("One container") if line.startswith("docker run")]
    (name,), (service,) = zip(*document_of(line)["services"].items(), strict=True)
    differing = {"volumes", "environment"}

    assert name == "gatewall"
    assert {key: value for key, value in service.items() if key not in differing} == {
        key: ONE[key] for key in service if key not in differing
    }
    assert service["volumes"] == [f"gatewall:{HOME}"]
    assert {key: value for key, value in ONE["environment"].items() if not value.startswith("${")} | {
        "GATEWALL_PUBLIC_URL": "https://wall.example.com"
    } == service["environment"]


@pytest.mark.parametrize("file", [file for file in FILES if "gatewall" in FILES[file]["services"]])
def test_every_compose_file_has_the_same_gatewall_service_except_for_its_network(file):
    service = dict(FILES[file]["services"]["gatewall"])
    differing = {"environment", "networks", "ports", "labels"}

    assert {key: value for key, value in service.items() if key not in differing} == {
        key: value for key, value in ONE.items() if key not in differing
    }
    assert set(service["environment"]) == set(ONE["environment"])


@pytest.mark.parametrize("file", FILES)
def test_gatewall_trusts_only_its_gateway_or_the_proxy_on_its_own_network(file):
    services = FILES[file]["services"]
    for service in (each for each in services.values() if "GATEWALL_TRUSTED_PROXIES" in each.get("environment", {})):
        if "ports" in service:
            assert service["environment"]["GATEWALL_TRUSTED_PROXIES"] == "127.0.0.0/8,container-gateway"
            assert all(port.startswith("127.0.0.1:") for port in service["ports"])
            continue
    if "gatewall" in services and "ports" not in services["gatewall"]:
        members = {name for name, each in services.items() if "gate" in each["networks"]}
        assert services["gatewall"]["networks"] == ["gate"]
        assert services["gatewall"]["environment"]["GATEWALL_TRUSTED_PROXIES"] == "127.0.0.0/8,container-networks"
        assert members == {"gatewall", file.split(".")[1]}


@pytest.mark.parametrize("file", [file for file in FILES if "site" in FILES[file]["services"]])
def test_a_site_shares_a_network_with_the_proxy_alone(file):
    services = FILES[file]["services"]

    assert FILES[file]["networks"]["sites"]["internal"] is True
    assert list(services["site"]["networks"]) == ["sites"]
    assert [name for name, each in services.items() if "sites" in each["networks"]] == [
        name for name in services if name in {"caddy", "traefik", "nginx", "site"}
    ]


@pytest.mark.parametrize("path", generated.files())
def test_the_files_of_a_proxy_are_what_the_command_writes(path):
    assert (FOLDER / path).read_text() == generated.files()[path], "python -m tests.deploy.compose.generated"


def test_the_caddyfile_is_the_sample_with_the_names_of_the_file():
    ours = FILES["compose.caddy.yaml"]["configs"]["caddyfile"]["content"].partition("}\n\n")[2]
    ours = re.sub(r"\$\{SITE_HOST:\?[^}]*\}", "app.example.com", ours).replace("${GUARD_HOST}", "wall.example.com")

    sample = generated.rendered("caddy", generated.ONE_SERVICE)["Caddyfile.example"]
    assert directives(ours) == directives(sample)


def test_traefik_has_the_entry_points_of_the_sample_with_tls():
    sample = yaml.safe_load(generated.rendered("traefik", generated.ONE_SERVICE)["traefik.yml"])
    given = options(FILES["compose.traefik.yaml"]["services"]["traefik"]["command"])

    web, tls = given["entryPoints"]["web"], {"address": ":443", "http": {"tls": {"certResolver": "public"}}}
    assert given["entryPoints"]["gatewall"] == lowered(sample["entryPoints"]["gatewall"])
    assert web == lowered(
        sample["entryPoints"]["web"] | tls | {"http": sample["entryPoints"]["web"]["http"] | tls["http"]}
    )
    assert given["entryPoints"]["plain"] == {"address": ":80", "http": {"redirections": {"entryPoint": {"to": "web"}}}}
    assert set(given["certificatesResolvers"]) == {"public"}


def options(command):
    """Return Traefik's arguments as the mapping of a configuration file."""
    found = {}
    for words in command:
        name, _, value = words.removeprefix("--").partition("=")
        *path, last = name.split(".")
        place = found
        for part in path:
            place = place.setdefault(part, {})
        place[last] = value
    return found


def lowered(value):
    """Return a mapping with its values spelled as in command-line arguments."""
    if isinstance(value, dict):
        return {key: lowered(each) for key, each in value.items()}
    return ",".join(value) if isinstance(value, list) else str(value).lower() if isinstance(value, bool) else value


def test_the_site_of_traefik_has_the_labels_of_the_sample_and_the_guard_page_its_route():
    file = FILES["compose.traefik.yaml"]
    sample = generated.rendered("traefik", generated.ONE_SERVICE)
    labels = {
        name: re.sub(r"\$\{SITE_HOST:\?[^}]*\}", "app.example.com", value)
        for name, value in file["services"]["site"]["labels"].items()
    }
    home = yaml.safe_load(
        file["configs"]["guard"]["content"].replace("${GUARD_HOST}", "wall.example.com").replace("$$", "$")
    )["http"]
    whole = yaml.safe_load(sample["dynamic/gatewall.yml"])["http"]

    assert labels == yaml.safe_load(sample["labels.yaml"])["services"]["site"]["labels"]
    for kind in ("middlewares", "routers"):
        assert home[kind] == {"gatewall-home": whole[kind]["gatewall-home"]}


def directives(text):
    return [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("#")]


def test_secret_files_and_env_are_ignored_by_git():
    secrets = {each["file"] for found in FILES.values() for each in found.get("secrets", {}).values()}
    for path in (*secrets, ".env"):
        assert subprocess.run(["git", "check-ignore", "-q", FOLDER / path], cwd=BASE, check=False).returncode == 0
