"""Health check of a container: ``health.py ROLE``, by default `all`; exits with 0 if the role works."""

import http.client
import os
import socket
import sys
from pathlib import Path

BASE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(BASE))

from gatewall.kernel import env  # noqa: E402 - found by the path above
from gatewall.snapshot.host_paths import run_folder  # noqa: E402 - found by the path above
from gatewall.snapshot.notification import AgentLock  # noqa: E402 - found by the path above

_SECONDS = 4.0
_ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - a server's wildcard address is not a destination


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=_SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(_SECONDS)
        self.sock.connect(str(self._path))


def _is_ready(connection: http.client.HTTPConnection, root_path: str) -> bool:
    try:
        connection.request("GET", f"{root_path}/health/ready")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def control_plane(config: env.Config) -> bool:
    """Return whether the control plane is ready."""
    return _is_ready(_over_tcp(config, config.port), config.root_path)


def data_plane(config: env.Config) -> bool:
    """Return whether the data plane is ready."""
    connection = _UnixConnection(config.auth_socket) if config.auth_socket else _over_tcp(config, config.auth_port)
    return _is_ready(connection, config.root_path)


def agent(config: env.Config) -> bool:
    """Return whether an agent leads this host and makes progress."""
    return AgentLock(run_folder(config.home)).is_led()


def _over_tcp(config: env.Config, port: int) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(_ANY_ADDRESS.get(config.bind, config.bind), port, timeout=_SECONDS)


ROLES = {"control-plane": control_plane, "data-plane": data_plane, "agent": agent}


def main(arguments: list[str]) -> int:
    """Return 0 if the role works, 1 if not, 2 for an unknown role or an invalid environment."""
    role = arguments[0] if arguments else "all"
    if len(arguments) > 1 or role not in {"all", *ROLES}:
        print(f"health.py: no such role; there are all, {', '.join(ROLES)}", file=sys.stderr)  # noqa: T201 - a command
        return 2
    try:
        config = env.read(os.environ, BASE)
    except env.ConfigError as error:
        print(f"gatewall: {error}", file=sys.stderr)  # noqa: T201 - a command
        return 2
    sick = [name for name, works in ROLES.items() if role in {"all", name} and not works(config)]
    if sick:
        print(f"not ready: {', '.join(sick)}", file=sys.stderr)  # noqa: T201 - a command
    return 1 if sick else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
