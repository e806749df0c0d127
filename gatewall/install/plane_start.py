"""Start a plane without loading Django, which takes a second and needs secrets that a data plane does not have."""

import errno
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple, NoReturn

from gatewall.install import ports, supervisor
from gatewall.kernel import env


class Plane(NamedTuple):
    """Configuration of a plane for gunicorn: a file in deploy/, an application, and default environment variables."""

    configuration: str
    application: str
    read: Callable[[Mapping[str, str], Path], env.Config]
    require_free_address: Callable[[env.Config], None]
    listen: Callable[[env.Config], ports.Listening]
    hang_seconds: float
    """``timeout`` of the configuration file."""
    environment: Mapping[str, str]


def require_free_port(config: env.Config) -> None:
    """Raise PortTakenError unless the control plane can use its port: gunicorn would retry for five seconds."""
    ports.require_free(ports.Port(config.bind, config.port, "GATEWALL_PORT"))


def require_free_auth_address(config: env.Config) -> None:
    """Raise PortTakenError unless the data plane can use its port or socket."""
    # gunicorn would remove a socket that another process is using.
    if config.auth_socket is not None:
        ports.require_free_socket(config.auth_socket, "GATEWALL_AUTH_SOCKET")
    else:
        ports.require_free(ports.Port(config.bind, config.auth_port, "GATEWALL_AUTH_PORT"))


_RELEASE_SECONDS = 1.0
_MALLOC = {"MALLOC_MMAP_THRESHOLD_": str(1024 * 1024), "MALLOC_ARENA_MAX": "2"}
"""glibc would raise its mmap threshold with the first large piece of memory that is freed, and keep the next ones in
the heap: 19 MiB for each check of a password in each thread of the control plane, and 14 MiB in the data plane, which
reads compiled patterns. With a fixed threshold, freed pieces return to the system. Two arenas suffice for threads that
mostly wait.
"""
PLANES = {
    "control_plane": Plane(
        "gunicorn.conf.py",
        "gatewall.wsgi:application",
        env.read_all_secrets,
        require_free_port,
        lambda config: ports.listen(config.bind, config.port),
        60.0,
        _MALLOC,
    ),
    "data_plane": Plane(
        "data_plane.conf.py",
        "gatewall.data_plane:application()",
        env.read,
        require_free_auth_address,
        lambda config: (
            ports.listen_at(config.auth_socket) if config.auth_socket else ports.listen(config.bind, config.auth_port)
        ),
        10.0,
        _MALLOC,
    ),
}
"""Planes by the name of their management command."""


def become_plane(name: str, base: Path) -> NoReturn:
    """Replace this process by gunicorn with our master (``gatewall/server/master.py``) and a plane.

    Exit with 2 and one line if its address is taken. Raises ConfigError for an invalid environment, and OSError if the
    state folder cannot be written.
    """
    plane = PLANES[name]
    config = plane.read(os.environ, base)
    os.umask(0o077)
    config.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not os.access(config.home, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "no write access", str(config.home))
    try:
        _wait_for_address(plane, config)
    except ports.PortTakenError as taken:
        print(taken, file=sys.stderr)  # noqa: T201 - the one line
        sys.exit(2)
    os.chdir(base)
    configuration = f"deploy/{plane.configuration}"
    command = [sys.executable, "-m", "gatewall.server.master", "-c", configuration, plane.application]
    os.execve(command[0], command, {**plane.environment, **os.environ})  # noqa: S606 - our own interpreter


def lone_worker(
    name: str, command: str, config: env.Config, environment: Mapping[str, str] | None = None
) -> supervisor.Process:
    """Return the process of a plane's only worker for the supervisor, which inherits its socket and heartbeat file."""
    plane = PLANES[command]
    listening = plane.listen(config)
    descriptors = (listening.descriptor, _heartbeat())
    arguments = [*map(str, descriptors), "-c", f"deploy/{plane.configuration}", plane.application]
    return supervisor.Process(
        name,
        [sys.executable, "-m", "gatewall.server.lone", *arguments],
        {**plane.environment, **(environment or {})},
        descriptors,
        plane.hang_seconds,
        listening.path,
    )


def _heartbeat() -> int:
    """Return an inheritable descriptor of a file without a name, in memory if possible."""
    in_memory = "/dev/shm" if os.access("/dev/shm", os.W_OK | os.X_OK) else None  # noqa: S108 - no name to guess
    with tempfile.TemporaryFile(dir=in_memory) as file:
        descriptor = os.dup(file.fileno())
    os.set_inheritable(descriptor, True)
    return descriptor


def _wait_for_address(plane: Plane, config: env.Config) -> None:
    """Wait for a second until the address is free: dying workers of a killed master may still listen on it.

    Raises ports.PortTakenError.
    """
    until = time.monotonic() + _RELEASE_SECONDS
    while True:
        try:
            plane.require_free_address(config)
        except ports.PortTakenError:
            if time.monotonic() > until:
                raise
            time.sleep(_RELEASE_SECONDS / 50)
        else:
            return
