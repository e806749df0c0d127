"""Nginx Proxy Manager and SWAG: the documented lines in a real nginx, where these products insert them."""

import grp
import os
import re
from contextlib import contextmanager

import pytest

from gatewall.install import demo
from gatewall.install.ports import free_port
from gatewall.proxy_config.rendering import DEFAULT, render
from tests.proxies.every.kinds import listening
from tests.support.processes import BASE, BROWSER, request
from tests.support.upstream import Upstream

SITE, GUARD = "app.example.com", "wall.example.com"
SIGN_IN = f"http://{GUARD}/wall/?rd=x"
LONGEST_PAGE = 44
MAIN = """\
pid nginx.pid;
error_log stderr warn;
events {}
http {
    access_log off;
    client_body_temp_path body; proxy_temp_path proxy;
    fastcgi_temp_path fast; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
HTTP
}
"""
NPM = """\
    # What it sets for all hosts: it believes private addresses.
    proxy_http_version 1.1;
    proxy_set_header X-Forwarded-Scheme $scheme;
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    proxy_cache off;
    map $host $forward_scheme { default http; }
    set_real_ip_from 127.0.0.0/8;
    real_ip_header X-Real-IP;
    real_ip_recursive on;
TOP
    server {
        listen LISTEN;
        server_name app.example.com;
        set $forward_scheme http;
        set $server "127.0.0.1";
        set $port SITE_PORT;
        # "Cache Assets"
        location ~* [.]css$ { proxy_set_header Host $host; proxy_pass $forward_scheme://$server:$port$request_uri; }
SERVER
    }
    server {
        listen LISTEN;
        server_name wall.example.com;
GUARD
    }
"""
SWAG = """\
TOP
    server {
        listen LISTEN;
        server_name app.*;
        client_max_body_size 0;
        location /files.css { proxy_pass http://127.0.0.1:SITE_PORT; }
SERVER
    }
    server {
        listen LISTEN;
        server_name wall.*;
GUARD
    }
"""


def page(name):
    return (BASE / "docs" / "proxies" / f"{name}.md").read_text()


def lines_of(name):
    """Return the lines of the page for `http`, for the site, and for the host of the guard page."""
    top, site = re.findall(r"^```nginx\n(.*?)^```", page(name), re.DOTALL | re.MULTILINE)
    shared = [line for line in site.splitlines() if "gatewall-locations.conf" in line or "set_real_ip_from" in line]
    guard = re.search(r"`(location / \{ return 302 /wall/; \})`", page(name))[1]
    return top, site, "\n".join([*shared, guard])


def as_root():
    """Return the directives that let the workers of a root nginx read the folder of a test."""
    return f"user root {grp.getgrgid(0).gr_name};" if os.geteuid() == 0 else ""


def configuration(name, frame, changes):
    """Return nginx's configuration: the lines of a page in the frame of its product, with these words replaced."""
    text = MAIN.replace("HTTP\n", frame)
    for old, new in {**dict(zip(("TOP", "SERVER", "GUARD"), lines_of(name), strict=True)), **changes}.items():
        text = text.replace(old, new)
    return text


@contextmanager
def product(name, frame, folder, gate, site):
    """Run nginx with the lines of a page in the frame that a product gives them; addresses and files are ours."""
    port, binary = free_port(), demo.find_nginx()
    snippets = folder / "gatewall"
    snippets.mkdir()
    for file in render("nginx", DEFAULT):
        (snippets / file.name).write_text(file.text)
    (folder / "resolver.conf").write_text("resolver 127.0.0.1:1;\n")
    changes = {
        "LISTEN": f"127.0.0.1:{port}",
        "SITE_PORT": str(site),
        "gatewall:9998": f"127.0.0.1:{gate}",
        "gatewall:9999": f"127.0.0.1:{gate}",
        "/config/nginx/resolver.conf": "resolver.conf",
        "$upstream_app app;": "$upstream_app 127.0.0.1;",
        "$upstream_app:8000": f"$upstream_app:{site}",
    }
    (folder / "nginx.conf").write_text(configuration(name, frame, changes))
    with listening(
        [str(binary), "-p", f"{folder}/", "-c", "nginx.conf", "-e", "stderr", "-g", f"daemon off; {as_root()}"],
        folder,
        port,
    ):
        assert "[warn]" not in (folder / "proxy.log").read_text()
        yield port


@pytest.fixture(params=[("nginx-proxy-manager", NPM), ("swag", SWAG)], ids=["Nginx Proxy Manager", "SWAG"])
def guarded(request, tmp_path):
    """Return the port of each product in turn, with a stub of the gate and a site."""
    with Upstream() as gate, Upstream() as site:
        gate.headers = {"Remote-User": "admin"}
        with product(*request.param, tmp_path, gate.port, site.port) as port:
            yield port, gate, site


def test_the_site_gets_the_identity_and_the_gate_gets_the_connection_address(guarded):
    port, gate, site = guarded
    forged = {"Remote-User": "mallory", "X-Real-IP": "198.51.100.1", "X-Forwarded-For": "198.51.100.1"}

    answer = request(port, "/welcome?a=b", {"Host": SITE, "Cookie": "service.token=x; a=b", **forged})

    assert (answer.status, answer.body) == (200, b"site")
    line, seen = site.requests[-1]
    told = gate.requests[-1][1]
    assert line.split()[1] == "/welcome?a=b"
    assert (seen["Host"], seen["Remote-User"], seen["Cookie"]) == (SITE, "admin", "a=b")
    assert seen.get_all("X-Forwarded-For") == told.get_all("X-Forwarded-For") == ["127.0.0.1"]
    assert (told["X-Forwarded-Host"], told["X-Forwarded-Uri"]) == (SITE, "/welcome?a=b")


def test_a_browser_without_a_session_is_redirected_to_the_guard_page(guarded):
    port, gate, site = guarded
    gate.status, gate.headers = 401, {"Location": SIGN_IN}

    assert request(port, "/", {"Host": SITE, **BROWSER}).header("Location") == SIGN_IN
    assert request(port, "/", {"Host": SITE}).status == 401
    assert site.requests == []


def test_a_location_added_by_the_product_is_guarded_too(guarded):
    port, gate, site = guarded
    gate.status = 403

    assert request(port, "/files.css", {"Host": SITE}).status == 403
    assert site.requests == []


@pytest.mark.parametrize("path", ["/wall/auth", "/wall/auth/forward", "/wall/metrics", "/_gatewall/auth"])
def test_internal_paths_are_404(guarded, path):
    port, gate, _ = guarded

    for host in (SITE, GUARD):
        assert request(port, path, {"Host": host}).status == 404
    assert gate.requests == []


def test_the_host_of_the_guard_page_shows_it_without_a_subrequest(guarded):
    port, gate, _ = guarded
    home = request(port, "/", {"Host": GUARD})
    shown = request(port, "/wall/", {"Host": GUARD})

    assert (home.status, home.header("Location").endswith("/wall/"), shown.status) == (302, True, 200)
    assert [line for line, _ in gate.requests] == ["GET /wall/ HTTP/1.1"]


@pytest.mark.parametrize("name", ["nginx-proxy-manager", "swag"])
def test_the_page_is_short_and_its_commands_name_what_the_compose_file_has(name):
    text = page(name)
    compose = (BASE / "deploy/compose/compose.nginx.yaml").read_text()

    assert len(text.splitlines()) <= LONGEST_PAGE
    assert "name: gatewall\n" in compose
    assert "\n  gate: {}" in compose
    assert "gatewall_gate" in text
