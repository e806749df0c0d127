"""Each Compose file from a clone to a guarded site: its services in namespaces, a visitor in another one."""

import os
import re
import shlex
import shutil
import sys

import pytest
import yaml

from gatewall.install import demo
from tests.deploy.compose.docker_run import document_of
from tests.deploy.compose.project import Project
from tests.deploy.compose.visit import (
    GUARD,
    SITE,
    VISITOR,
    Visit,
    reach_the_site,
    recorded_clients,
)
from tests.deploy.dockerfile import BASE
from tests.deploy.image import patterns_after_keys
from tests.deploy.test_install_page import PAGE, commands, run
from tests.support.processes import wait_until

SITE_COMMAND = [
    *(sys.executable, "-m", "gunicorn", "--chdir", str(BASE)),
    *("--bind", "127.0.0.1:8000", "--no-control-socket", "deploy.demo.site:application"),
]
MACHINE = "203.0.113.1"
PASSWORD = "docker compose exec gatewall cat /var/lib/gatewall/secrets/admin-password"
PROXY_CONFIG = "docker compose exec gatewall gatewall proxy-config nginx --site app.example.com"


@pytest.fixture(scope="session")
def images(tmp_path_factory):
    return tmp_path_factory.mktemp("images")


@pytest.fixture
def clone(tmp_path):
    """Return a folder with the files of a clone that the Compose files use, where secrets can be written."""
    for name in ("compose", "nginx"):
        shutil.copytree(BASE / "deploy" / name, tmp_path / "clone" / "deploy" / name)
    return tmp_path / "clone"


@pytest.fixture
def compose(tmp_path, clone, images):
    """Return a function that makes the project of a file, on a machine that a visitor reaches."""

    def project(name, **variables):
        return Project(clone / "deploy" / "compose" / name, variables, tmp_path, images)

    return project


def with_visitor(project):
    project.machine.add_visitor("visitor", VISITOR)
    with patterns_after_keys(project.volume("state")):
        project.up()
    return project


def forged(visit):
    """Load the site with forged headers of another client behind another proxy; return the status."""
    return visit.page("/", **{"X-Forwarded-For": "198.51.100.1", "X-Real-IP": "198.51.100.1"}).status


@pytest.mark.full
def test_one_container_with_a_proxy_on_its_machine(compose):
    assert f"`{PROXY_CONFIG}`" in PAGE
    with compose("compose.yaml", GATEWALL_PUBLIC_URL=f"http://{GUARD}") as project:
        with_visitor(project)
        reach_the_site_by_nginx(project, lambda: executed(project, PASSWORD))


@pytest.mark.full
def test_docker_run_works_as_documented(compose, clone):
    build, run_line, logs = commands("One container")
    assert build.startswith(f"docker build -f deploy/docker/Dockerfile -t {shlex.split(run_line)[-1]} ")
    assert logs.startswith("docker logs gatewall ")
    file = clone / "deploy/compose/docker-run.yaml"
    file.write_text(yaml.safe_dump(document_of(run_line.replace("https://", "http://"))))
    with compose(file.name) as project:
        with_visitor(project)
        reach_the_site_by_nginx(
            project, lambda: re.search(r"made the admin 'admin', password (\S+)", project.log("gatewall"))[1]
        )


def reach_the_site_by_nginx(project, password):
    start_nginx(project, executed(project, PROXY_CONFIG))
    visit = Visit(project, MACHINE, "http")
    wait_until(lambda: visit.page("/wall/", GUARD).status == 200, what="nginx")
    assert forged(visit) == 302

    token = reach_the_site(visit, password())

    assert recorded_clients(visit, token) == {VISITOR}
    assert project.stop("gatewall") == 0


def start_nginx(project, printed):
    """Install the printed files on the machine, with a site where they expect one, and start nginx."""
    folder = project.folder / "nginx"
    demo.write_configuration(
        folder, listen="127.0.0.1:1", auth="127.0.0.1:1", control="127.0.0.1:1", site="127.0.0.1:1"
    )
    parts = re.split(r"^==> (.*) <==\n", printed, flags=re.MULTILINE)
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        place = folder / ("site.conf" if name == "site.conf.example" else f"gatewall/{name}")
        place.write_text(text)
    as_root_of_the_namespace = [] if os.geteuid() == 0 else ["-g", "user root root;"]
    project.machine.start(*demo.nginx_command(demo.find_nginx(), folder), *as_root_of_the_namespace)
    project.machine.start("env", "DEMO_ROOT_PATH=/wall", f"PYTHONPATH={BASE}", *SITE_COMMAND)


def test_caddy_works_as_documented(compose, clone):
    in_files, for_docker = typed("Compose")
    variables = environment_of(in_files, clone) | {"CERT_ISSUER": "internal"}
    with compose(variables.pop("COMPOSE_FILE"), **variables) as project:
        assert next(for_docker) == "docker compose up --detach --build"
        with_visitor(project)
        root = project.volume("certificates") / "caddy/pki/authorities/local/root.crt"
        wait_until(root.exists, what="certificates")
        visit = Visit(project, project.address("caddy", "gate"), ca=root.read_text())
        wait_until(lambda: visit.page("/wall/", GUARD).status == 200, what="Caddy")
        assert f"Gatewall   https://{GUARD}/wall/  (admin: https://{GUARD}/wall/admin/)" in project.log("gatewall")
        assert "http://127.0.0.1" not in project.log("gatewall")
        assert forged(visit) == 302

        assert executed(project, next(for_docker)).startswith(f"{SITE} is registered with the access authenticated")
        token = reach_the_site(visit, executed(project, next(for_docker)), is_registered=True)

        assert recorded_clients(visit, token) == {VISITOR}
        assert list(for_docker) == []
        project.restart("gatewall")
        assert visit.page("/").status == 302


@pytest.mark.full
def test_traefik_reads_the_labels_of_the_site(compose):
    with compose("compose.traefik.yaml", GUARD_HOST=GUARD, SITE_HOST=SITE) as project:
        with_visitor(project)
        visit = Visit(project, project.address("traefik", "gate"))
        wait_until(lambda: visit.page("/wall/", GUARD).status == 200, what="Traefik")
        wait_until(lambda: visit.page("/").status != 404, what="the labels")
        home = visit.page("/", GUARD)
        assert forged(visit) == 302
        assert (home.status, home.header("Location")) == (302, f"https://{GUARD}/wall/")

        token = reach_the_site(visit, executed(project, PASSWORD))

        assert recorded_clients(visit, token) == {VISITOR}


@pytest.mark.full
def test_nginx_finds_gatewall_again_at_another_address(compose, clone):
    with compose("compose.nginx.yaml", GATEWALL_PUBLIC_URL=f"http://{GUARD}") as project:
        with_visitor(project)
        visit = Visit(project, project.address("nginx", "gate"), "http")
        wait_until(lambda: visit.page("/wall/", GUARD).status == 200, what="nginx")
        assert forged(visit) == 302

        token = reach_the_site(visit, executed(project, PASSWORD))

        assert recorded_clients(visit, token) == {VISITOR}
        assert (clone / "deploy/compose/nginx/site.conf").read_text() in executed(
            project, commands("Compose", 1)[0]
        ) + "\n"
        before = project.address("gatewall")
        project.restart("gatewall")
        assert project.address("gatewall") != before
        wait_until(lambda: visit.page("/").status == 302, what="nginx to find it")


@pytest.mark.full
def test_postgresql_works_as_documented(compose, clone):
    in_files, for_docker = typed("Compose with PostgreSQL")
    variables = environment_of(in_files, clone) | {"GATEWALL_PUBLIC_URL": f"http://{GUARD}"}
    with compose(variables.pop("COMPOSE_FILE"), **variables) as project:
        assert list(for_docker) == ["docker compose up --detach --build"]
        with_visitor(project)
        visit = Visit(project, project.address("nginx", "gate"), "http")
        wait_until(lambda: visit.page("/wall/", GUARD).status == 200, what="nginx")
        assert forged(visit) == 302

        token = reach_the_site(visit, (clone / "deploy/compose/secrets/admin-password").read_text().strip())

        assert recorded_clients(visit, token) == {VISITOR}
        project.restart("data-plane")
        wait_until(lambda: visit.page("/").status == 302, what="nginx to find it")


def typed(heading):
    """Return the commands of a section of the page, before and from the first for Docker."""
    lines = commands(heading)
    first = next(number for number, line in enumerate(lines) if line.startswith("docker "))
    return lines[:first], iter(lines[first:])


def environment_of(lines, clone):
    """Run the commands that write `.env`, without chown unless root; return its variables."""
    run([line for line in lines if os.geteuid() == 0 or not line.startswith("chown")], clone)
    text = (clone / "deploy/compose/.env").read_text()
    return dict(line.split("=", 1) for line in text.splitlines())


def executed(project, line):
    """Run a line `docker compose exec SERVICE COMMAND`; return its output."""
    service, *command = shlex.split(line.removeprefix("docker compose exec "))
    done = project.run(service, *command)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
