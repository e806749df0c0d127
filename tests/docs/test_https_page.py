"""docs/how-to/https.md: its lines change the files of `gatewall proxy-config`, and each proxy accepts the result."""

import os
import re
import subprocess

import pytest

from gatewall.install.ports import free_port
from tests.docs.how_to import OUTLINE, blocks, text_of, write_configuration
from tests.docs.test_how_to_pages import check_envoy, check_haproxy, check_nginx
from tests.proxies.every.kinds import listening, script

TRAEFIK, CERTIFICATE = blocks("https", "sh", OUTLINE[1])
ROWS = dict(re.findall(r"^\| (nginx|HAProxy|Envoy) \| `(.*)` \|$", text_of("https"), re.MULTILINE))


def typed(lines, folder, **renamed):
    for name, path in {"/etc/ssl": folder, **renamed}.items():
        lines = lines.replace(name, str(path))
    subprocess.run(["bash", "-euo", "pipefail", "-c", lines], cwd=folder, capture_output=True, check=True)


@pytest.mark.parametrize(
    ("row", "kind", "file", "check"),
    [
        ("nginx", "nginx", "site.conf", check_nginx),
        ("HAProxy", "haproxy", "haproxy.cfg", check_haproxy),
        ("Envoy", "envoy", "envoy.yaml", check_envoy),
    ],
)
def test_the_documented_line_makes_a_proxy_use_the_certificate(row, kind, file, check, tmp_path):
    write_configuration("grafana", tmp_path, kind)
    typed(CERTIFICATE, tmp_path)
    example = tmp_path / file if kind == "envoy" else tmp_path / f"{file}.example"
    places = {"/etc/nginx/conf.d/site.conf": example, "/etc/haproxy/haproxy.cfg": example, "/etc/haproxy": tmp_path}

    typed(ROWS[row], tmp_path, **places, **{"/etc/envoy": tmp_path})
    command, environment = check(tmp_path)
    run = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )

    assert run.returncode == 0, run.stdout + run.stderr
    assert "443" in example.read_text()
    assert str(tmp_path / "site.") in example.read_text()


def test_traefik_takes_the_lines_of_the_page(tmp_path):
    write_configuration("grafana", tmp_path, "traefik")
    typed(TRAEFIK, tmp_path, **{"/etc/traefik": tmp_path})
    static = tmp_path / "traefik.yml"
    text = static.read_text()
    assert text.count("tls: {certResolver: public}") == 1
    port = free_port()
    for usual, ours in {":443": port, ":80": free_port(), "127.0.0.1:9997": free_port()}.items():
        assert text.count(f'"{usual}"') == 1
        text = text.replace(f'"{usual}"', f'"127.0.0.1:{ours}"')
    static.write_text(text)

    with listening([script("traefik"), f"--configFile={static}"], tmp_path, port):
        pass
