"""nginx lets no request in when the gate fails; the sample is a valid configuration."""

import shutil
import subprocess

import pytest

from gatewall.install import demo
from gatewall.install.ports import free_port
from tests.support.processes import BASE, BROWSER, nginx, request
from tests.support.upstream import Upstream

# An operator's own error pages: none of them may turn a failure of the gate into access.
ERROR_PAGES = """
    proxy_intercept_errors on;
    recursive_error_pages on;
    error_page 400 403 414 431 500 502 503 504 =200 /sorry;
    location = /sorry { return 200 "sorry"; }
"""


@pytest.fixture(scope="module")
def site():
    with Upstream() as upstream:
        yield upstream


def test_gate_that_is_down_lets_nobody_in(site, tmp_path):
    with nginx(tmp_path, gate=free_port(), site=site.port, extra=ERROR_PAGES) as port:
        before = len(site.requests)

        answer = request(port, "/", BROWSER)

    assert (answer.status, len(site.requests)) == (503, before)
    assert b"Try again" in answer.body
    assert b"<code>" not in answer.body


@pytest.mark.parametrize("status", [302, 404, 500, 503])
def test_strange_answer_of_the_gate_lets_nobody_in(site, tmp_path, status):
    with Upstream() as strange_gate:
        strange_gate.status = status
        with nginx(tmp_path, gate=strange_gate.port, site=site.port, extra=ERROR_PAGES) as port:
            before = len(site.requests)

            answer = request(port, "/", BROWSER)

    assert (answer.status, len(site.requests)) == (503, before)
    assert b"Try again" in answer.body
    assert b"<code>" not in answer.body


def test_error_of_the_site_stays_an_error_of_the_site(tmp_path):
    with Upstream() as gate, Upstream() as broken:
        broken.status = 500
        with nginx(tmp_path, gate=gate.port, site=broken.port) as port:
            answer = request(port, "/", BROWSER)

    assert (answer.status, answer.body) == (500, b"site")


def test_error_of_the_site_that_nginx_intercepts_is_no_503(tmp_path):
    with Upstream() as gate, Upstream() as broken:
        broken.status = 500
        with nginx(tmp_path, gate=gate.port, site=broken.port, extra="proxy_intercept_errors on;") as port:
            answer = request(port, "/", BROWSER)

    assert (answer.status, b"Try again" in answer.body) == (500, False)


@pytest.mark.parametrize("status", [400, 414, 431])
def test_request_that_the_gates_server_does_not_read_is_refused(site, tmp_path, status):
    with Upstream() as strange_gate:
        strange_gate.status = status
        with nginx(tmp_path, gate=strange_gate.port, site=site.port, extra=ERROR_PAGES) as port:
            before = len(site.requests)

            answer = request(port, "/", BROWSER)

    assert (answer.status, len(site.requests)) == (403, before)


def test_sample_site_is_a_configuration_that_nginx_accepts(tmp_path):
    demo.write_configuration(
        tmp_path, listen="127.0.0.1:1", auth="127.0.0.1:2", control="127.0.0.1:2", site="127.0.0.1:3"
    )
    shutil.copy(BASE / "deploy" / "nginx" / "site.conf.example", tmp_path / "site.conf")

    run = subprocess.run(
        demo.nginx_command(demo.find_nginx(), tmp_path, "-t"), capture_output=True, text=True, check=False
    )

    # Without root, the test of the configuration passes the syntax and fails at port 80.
    assert "syntax is ok" in run.stderr
