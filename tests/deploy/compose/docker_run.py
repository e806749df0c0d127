"""Read a line `docker run ...` as the Compose file that starts the same container."""

import argparse
import shlex
from typing import Any

from tests.deploy import dockerfile


def document_of(line: str) -> dict[str, Any]:
    """Return the Compose file of a line `docker run --detach ... IMAGE [COMMAND...]`. Exits for an unknown option."""
    parser = argparse.ArgumentParser("docker run", allow_abbrev=False)
    for flag in ("--detach", "--read-only"):
        parser.add_argument(flag, action="store_true", required=flag == "--detach")
    for option in ("--volume", "--publish", "--env", "--cap-drop", "--security-opt"):
        parser.add_argument(option, action="append", default=[])
    parser.add_argument("--name", required=True)
    parser.add_argument("--stop-timeout", default="10")
    parser.add_argument("image")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    found = parser.parse_args(shlex.split(line.removeprefix("docker run ")))
    service = {
        "image": found.image,
        "user": f"{dockerfile.last('USER')}",
        "read_only": found.read_only,
        "cap_drop": found.cap_drop,
        "security_opt": [f"{each}:true" for each in found.security_opt],
        "stop_grace_period": f"{found.stop_timeout}s",
        "volumes": found.volume,
        "environment": dict(each.split("=", 1) for each in found.env),
        "ports": found.publish,
    }
    return {"services": {found.name: service | ({"command": found.command} if found.command else {})}}
