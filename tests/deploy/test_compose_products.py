"""The lines of the pages of Nginx Proxy Manager and SWAG, from the clone to a guarded site, beside their nginx."""

import re
import shlex
import shutil

import pytest
import yaml

from tests.deploy.compose.project import Project
from tests.deploy.compose.visit import GUARD, SITE, VISITOR, Visit, reach_the_site, recorded_clients
from tests.deploy.dockerfile import BASE
from tests.deploy.test_install_page import run
from tests.proxies.test_nginx_products import NPM, SWAG, configuration, page
from tests.support.processes import wait_until

UP = "docker compose up --detach --build gatewall"
EXEC = "docker compose exec -T gatewall "
IN_CONTAINERS = {
    "LISTEN": "80",
    "SITE_PORT": "8000",
    'set $server "127.0.0.1"': 'set $server "site"',
    "$upstream_app app;": "$upstream_app site;",
    "/config/nginx/resolver.conf": "resolver.conf",
    "access_log off;": "access_log off; resolver 127.0.0.11;",
}


def typed(name):
    """Return the commands of a page, and the folder of Gatewall's files in the container of the product."""
    text = page(name)
    mount = re.search(r"`volumes: \[\./gatewall:(\S+):ro\]` and `networks: \[default, gate\]`", text)
    return re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)[0].splitlines(), mount[1]


def file_of(folder, product, mount):
    """Write a Compose file with Gatewall's service and those of the product; return its name."""
    document = yaml.safe_load((folder / "compose.nginx.yaml").read_text())
    services = document["services"]
    proxy = services.pop("nginx")
    files = [f"{product}/{name}:{mount.rpartition('/')[0]}/{name}:ro" for name in ("nginx.conf", "resolver.conf")]
    services["product"] = proxy | {
        "command": ["nginx", "-e", "stderr", "-p", "/tmp/", "-c", "/etc/nginx/nginx.conf", "-g", "daemon off;"],  # noqa: S108
        "volumes": [f"{product}/gatewall:{mount}:ro", *files],
        "ports": [],
        "depends_on": {},
    }
    (folder / "product.yaml").write_text(yaml.safe_dump(document))
    return "product.yaml"


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "variable", "frame"), [("nginx-proxy-manager", "NPM", NPM), ("swag", "SWAG", SWAG)], ids=["npm", "swag"]
)
def test_the_commands_of_the_page_result_in_a_guarded_site(name, variable, frame, tmp_path):
    folder, product = tmp_path / "clone/deploy/compose", tmp_path / "product"
    shutil.copytree(BASE / "deploy/compose", folder)
    lines, mount = typed(name)
    at = lines.index(UP)
    run(lines[:at], folder)
    variables = dict(line.split("=", 1) for line in (folder / ".env").read_text().splitlines())
    assert variables == {"COMPOSE_FILE": "compose.nginx.yaml", "GATEWALL_PUBLIC_URL": f"https://{GUARD}"}
    variables["GATEWALL_PUBLIC_URL"] = f"http://{GUARD}"
    product.mkdir()
    (product / "nginx.conf").write_text(configuration(name, frame, IN_CONTAINERS))
    (product / "resolver.conf").write_text("resolver 127.0.0.11;\n")
    for path in (product, *product.iterdir()):  # their nginx starts as root, ours reads the files as another user
        path.chmod(0o755)

    with Project(folder / file_of(folder, product, mount), variables, tmp_path, tmp_path / "images") as project:
        project.machine.add_visitor("visitor", VISITOR)
        project.up("gatewall")
        inside = shlex.join(project.inside("gatewall"))
        run(
            ["umask 022", f"{variable}={product}", *(line.replace(EXEC, f"{inside} ") for line in lines[at + 1 :])],
            folder,
        )
        project.up()
        visit = Visit(project, project.address("product", "gate"), "http")
        nginx = project.processes["product"]
        wait_until(lambda: nginx.poll() is not None or visit.page("/wall/", GUARD).status == 200, what=name)
        assert nginx.poll() is None, project.log("product")
        password = project.run("gatewall", "cat", "/var/lib/gatewall/secrets/admin-password").stdout.strip()

        assert recorded_clients(visit, reach_the_site(visit, password)) == {VISITOR}


@pytest.mark.parametrize("name", ["nginx-proxy-manager", "swag"])
def test_the_pages_name_services_and_networks_of_the_file(name):
    document = yaml.safe_load((BASE / "deploy/compose/compose.nginx.yaml").read_text())
    lines, mount = typed(name)

    assert UP in lines
    assert f"name: {document['name']}_gate" in page(name)
    assert "gate" in document["networks"]
    assert "gate" in document["services"]["gatewall"]["networks"]
    assert mount == "/etc/nginx/gatewall"
    assert all(f"--site {SITE} " in line for line in lines if line.startswith(EXEC))
