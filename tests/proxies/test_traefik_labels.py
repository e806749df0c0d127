"""Traefik with the labels that `gatewall proxy-config traefik` writes for the container of a site."""

import pytest
import yaml

from gatewall.install.ports import free_port
from gatewall.proxy_config.rendering import Place, render
from tests.proxies.every.kinds import listening, script
from tests.support.container_engine import Container, container_engine
from tests.support.processes import request, wait_until
from tests.support.upstream import Upstream

IDENTITY = {"Remote-User": "admin", "X-Gatewall-Decision-Id": "the-id"}


@pytest.fixture
def gate():
    with Upstream() as stub:
        stub.headers = IDENTITY
        yield stub


@pytest.fixture
def site():
    with Upstream() as stub:
        yield stub


@pytest.fixture
def proxy(gate, site, tmp_path):
    """Return the port of Traefik, configured for the site by the labels of its container alone."""
    port, questions, engine = free_port(), free_port(), tmp_path / "engine.sock"
    place = Place(f"127.0.0.1:{gate.port}", f"127.0.0.1:{gate.port}", "/gate", upstream=f"127.0.0.1:{site.port}")
    texts = {
        file.name: file.text.replace("127.0.0.1:9997", f"127.0.0.1:{questions}") for file in render("traefik", place)
    }
    (tmp_path / "dynamic").mkdir()
    (tmp_path / "dynamic" / "gatewall.yml").write_text(texts["dynamic/gatewall.yml"])
    static = yaml.safe_load(texts["traefik.yml"])
    static["entryPoints"]["web"]["address"] = f"127.0.0.1:{port}"
    static["providers"]["file"]["directory"] = str(tmp_path / "dynamic")
    static["providers"]["docker"] = {"endpoint": f"unix://{engine}", "exposedByDefault": False}
    (tmp_path / "traefik.yml").write_text(yaml.safe_dump(static))
    labels = yaml.safe_load(texts["labels.yaml"])["services"]["site"]["labels"]
    command = [script("traefik"), f"--configFile={tmp_path / 'traefik.yml'}"]
    with container_engine(engine, lambda: [Container("site", labels, [site.port])]), listening(command, tmp_path, port):
        wait_until(lambda: asked(port).status != 404, what="Traefik's routes")
        yield port


def asked(port, host="app.example.com"):
    return request(port, "/welcome", {"Host": host, "Remote-User": "forged"})


def test_the_site_of_the_labels_is_guarded(proxy, gate, site):
    let_in = asked(proxy)
    line, seen = site.requests[-1]
    gate.status = 403
    before = len(site.requests)
    refused = asked(proxy)

    assert (let_in.status, refused.status) == (200, 403)
    assert (line.split()[1], seen.get_all("Remote-User")) == ("/welcome", ["admin"])
    assert len(site.requests) == before
    assert gate.requests[-1][0].split()[1] == "/gate/auth/forward"


def test_another_host_is_not_the_site(proxy, site):
    before = len(site.requests)

    assert asked(proxy, "other.example.com").status == 404
    assert len(site.requests) == before
