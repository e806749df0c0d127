"""``gatewall proxy-config``: it prints the files of deploy/; a bad value is one line and exit code 2."""

import io
import re
import subprocess

import pytest
import yaml
from django.core.management import CommandError, call_command

from gatewall.install import demo
from gatewall.install.ports import free_port
from gatewall.proxy_config.rendering import KINDS, Place, render
from tests.proxies.every.kinds import script
from tests.support.processes import BASE

OTHER = Place("10.0.0.1:1998", "10.0.0.1:1999", "/a.b/gate", "site.test", "10.0.0.2:80", "guard.test")
IPV6 = Place("[fd00::1]:1998", "[fd00::1]:1999", "/gate", "site.test", "[fd00::2]:80")


def printed(*arguments):
    out = io.StringIO()
    call_command("proxy_config", *arguments, stdout=out)
    return out.getvalue()


def files_of(folder):
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("kind", KINDS)
def test_the_files_of_deploy_equal_the_output_for_the_defaults(kind, tmp_path):
    printed(kind, "--site", "app.example.com", "--into", str(tmp_path / kind))

    told = f"gatewall proxy-config {kind} --site app.example.com --into deploy/{kind}"
    assert files_of(BASE / "deploy" / kind) == files_of(tmp_path / kind), told


@pytest.mark.parametrize("kind", KINDS)
def test_every_file_is_printed_below_its_name(kind):
    parts = re.split(r"^==> (.*) <==\n", printed(kind, "--site", "app.example.com"), flags=re.MULTILINE)

    found = {name: text.strip("\n") for name, text in zip(parts[1::2], parts[2::2], strict=True)}
    assert found == {name: text.strip("\n") for name, text in files_of(BASE / "deploy" / kind).items()}


@pytest.mark.parametrize("place", [OTHER, IPV6], ids=["names", "ipv6"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_default_and_placeholder_is_replaced(kind, place):
    text = "".join(file.text for file in render(kind, place))

    for old in ("/wall", "app.example.com", "127.0.0.1:9998", "127.0.0.1:9999", ":8000", "{{", "}}:"):
        assert old not in text, old
    assert ("guard.test" in text.replace("[.]", ".")) is bool(place.guard_host)


@pytest.mark.parametrize("place", [OTHER, IPV6], ids=["names", "ipv6"])
@pytest.mark.parametrize("kind", ["traefik", "envoy", "envoy-gateway", "ingress-nginx"])
def test_every_rendered_file_is_valid_yaml(kind, place):
    for file in render(kind, place):
        assert list(yaml.safe_load_all(file.text))


NAMES = Place("gatewall:9998", "gatewall:9999", upstream="site:8000", guard_host="guard.test", resolver="127.0.0.11")


@pytest.mark.parametrize("place", [OTHER, IPV6, NAMES, Place()], ids=["names", "ipv6", "resolver", "defaults"])
def test_nginx_accepts_the_files_without_a_warning(place, tmp_path):
    nobody = "127.0.0.1:1"
    demo.write_configuration(
        tmp_path, listen=nobody, auth=nobody, control=nobody, site=nobody, root_path=place.root_path
    )
    (site,) = [file.text for file in render("nginx", place) if file.name == "site.conf.example"]
    (tmp_path / "site.conf").write_text(site.replace("listen 80;", f"listen 127.0.0.1:{free_port()};"))

    run = subprocess.run(
        demo.nginx_command(demo.find_nginx(), tmp_path, "-t"), capture_output=True, text=True, check=False
    )

    assert "syntax is ok" in run.stderr
    assert "[warn]" not in run.stderr


def test_caddy_asks_over_a_unix_socket(tmp_path):
    for file in render("caddy", Place(auth="unix:/run/gatewall/auth.sock", guard_host="guard.test")):
        (tmp_path / file.name.removesuffix(".example")).write_text(file.text)

    adapted = subprocess.run(
        [script("caddy"), "adapt", "--config", tmp_path / "Caddyfile", "--adapter", "caddyfile"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert '"dial":"unix//run/gatewall/auth.sock"' in adapted.stdout


def test_the_labels_of_traefik_equal_the_configuration_file():
    files = {file.name: yaml.safe_load(file.text) for file in render("traefik", OTHER)}
    router = files["dynamic/site.yml"]["http"]["routers"]["site"]
    labels = files["labels.yaml"]["services"]["site"]["labels"]

    assert labels == {
        "traefik.enable": "true",
        "traefik.http.routers.site.entrypoints": ",".join(router["entryPoints"]),
        "traefik.http.routers.site.rule": router["rule"],
        "traefik.http.routers.site.middlewares": ",".join(f"{name}@file" for name in router["middlewares"]),
        "traefik.http.services.site.loadbalancer.server.port": "80",
    }


BAD = {
    "url as site": (["--site", "https://app.example.com"], "--site"),
    "site with port": (["--site", "app.example.com:443"], "--site"),
    "site that ends the line": (["--site", "app.example.com;"], "--site"),
    "empty site": (["--site", ""], "--site"),
    "prefix without slash": (["--root-path", "gate"], "--root-path"),
    "prefix that is code": (["--root-path", "/x { return 200; }"], "--root-path"),
    "prefix with dots": (["--root-path", "/a/../b"], "--root-path"),
    "no prefix": (["--root-path", "/"], "--root-path"),
    "prefix of the sample": (["--root-path", "/_gatewall"], "--root-path"),
    "public url without scheme": (["--public-url", "wall.example.com"], "--public-url"),
    "public url with path": (["--public-url", "https://wall.example.com/x"], "--public-url"),
    "upstream without port": (["--upstream", "127.0.0.1"], "--upstream"),
    "control that is code": (["--control", "127.0.0.1:1; x"], "--control"),
    "resolver that is a name": (["--resolver", "dns.test"], "--resolver"),
    "limit that is negative": (["--max-connection-seconds", "-1"], "--max-connection-seconds"),
    "limit that nginx does not have": (["--max-connection-seconds", "60"], "--max-connection-seconds"),
    "socket that is code": (["--auth", "unix:/x;y"], "--auth"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_value_is_one_line_that_names_the_option_and_exit_code_2(name):
    arguments, option = BAD[name]

    with pytest.raises(CommandError) as caught:
        printed("nginx", "--site", "app.example.com", *arguments)

    assert caught.value.returncode == 2
    assert str(caught.value).startswith(f"{option} must")
    assert len(str(caught.value).splitlines()) == 1


def test_a_proxy_without_unix_sockets_is_refused_with_the_option_to_pass():
    with pytest.raises(CommandError, match="HAProxy cannot ask over a Unix socket: pass --auth") as caught:
        printed("haproxy", "--site", "app.example.com", "--auth", "unix:/run/auth.sock")

    assert caught.value.returncode == 2


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").touch()

    with pytest.raises(CommandError, match="cannot be written") as caught:
        printed("nginx", "--site", "app.example.com", "--into", str(tmp_path / "file"))

    assert caught.value.returncode == 2


@pytest.mark.parametrize(
    ("urls", "site", "guard"),
    [
        ("", "app.example.com", ""),
        ("https://app.example.com", "app.example.com", ""),
        ("https://wall.example.com", "app.example.com", "wall.example.com"),
        ("https://wall.example.com,https://wall.example.org", "app.example.org", "wall.example.org"),
        ("https://wall.example.com", "192.0.2.1", "wall.example.com"),
    ],
)
def test_the_guard_page_is_where_the_cookie_reaches_the_site(urls, site, guard):
    text = printed("nginx", "--site", site, "--public-url", urls)

    assert re.findall(r"server_name (.*);", text) == [name for name in (site, guard) if name]


WITH_PORT = {
    "nginx": (["listen 8443;", "listen 8443;"], r"\blisten .*;"),
    "caddy": (["app.example.com:8443 {", "wall.example.com:8443 {"], r"^\w+\.example\.com.* \{"),
    "traefik": (['address: ":8443"'], r'address: ":\d+"'),
    "haproxy": (["bind :8443"], r"^ +bind .*"),
    "envoy": (["0.0.0.0, port_value: 8443"], r"0\.0\.0\.0, port_value: \d+"),
    "envoy-gateway": (["      port: 8443"], r"^      port: \d+"),
    "ingress-nginx": (["auth-signin: $scheme://wall.example.com:8443/wall/"], r"auth-signin: [^?]*"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_proxy_listens_on_the_port_of_the_public_url(kind):
    wanted, pattern = WITH_PORT[kind]

    text = printed(kind, "--site", "app.example.com", "--public-url", "https://wall.example.com:8443")

    assert [each.strip() for each in re.findall(pattern, text, re.MULTILINE)] == [each.strip() for each in wanted]


def test_of_several_public_urls_the_proxy_uses_the_port_of_the_one_for_the_site():
    urls = "https://wall.example.com:8443,https://app.example.org:9443"

    own = printed("nginx", "--site", "app.example.org", "--public-url", urls)
    other = printed("nginx", "--site", "app.example.com", "--public-url", urls)

    assert re.findall(r"(?:listen|server_name) (.*);", own) == ["9443", "app.example.org"]
    assert re.findall(r"listen (.*);", other) == ["8443", "8443"]


def test_omitted_options_come_from_this_installation(settings):
    settings.ROOT_PATH, settings.GATEWALL_AUTH_PORT = "/gate", 1998

    text = printed("caddy", "--site", "app.example.com")

    assert "127.0.0.1:1998 {" in text
    assert "/gate/auth/forward" in text
    assert "/wall" not in text


def test_a_resolver_is_for_nginx_and_an_ipv6_one_gets_brackets():
    text = printed("nginx", "--site", "app.example.com", "--resolver", "fd00::53")

    assert "resolver [fd00::53] valid=5s;" in text
    with pytest.raises(CommandError, match="--resolver must be left out: it is for nginx alone") as caught:
        printed("caddy", "--site", "app.example.com", "--resolver", "127.0.0.11")
    assert caught.value.returncode == 2
