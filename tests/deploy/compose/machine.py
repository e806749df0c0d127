"""A machine in namespaces: networks of containers as bridges, containers and visitors each in a network namespace."""

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from tests.support.not_run import not_run
from tests.support.processes import PATIENCE, Answer, running

HERE = Path(__file__).parent
_START = """
set -e
mount -t tmpfs tmpfs /run
mkdir /run/netns /run/root
ip link set lo up
echo 1 > /proc/sys/net/ipv4/ip_forward
echo ready
exec cat
"""


class Machine:
    """A machine that initially has only a loopback interface."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._bridges: dict[str, int] = {}
        self._given: dict[str, int] = {}
        self._links = 0
        self._ends = ExitStack()
        self._as_user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]

    def __enter__(self) -> Self:
        # It ends with this process, which closes its standard input by ending.
        command = ["unshare", *self._as_user, "--net", "--mount", "sh", "-c", _START]
        self._holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert self._holder.stdout is not None
        if self._holder.stdout.readline() != b"ready\n":
            assert self._holder.stderr is not None
            not_run(f"no namespaces for containers ({self._holder.stderr.read().decode().strip()})")
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()
        assert self._holder.stdin is not None
        self._holder.stdin.close()
        self._holder.wait()
        for pipe in (self._holder.stdout, self._holder.stderr):
            if pipe:
                pipe.close()

    def inside(self, *command: str, net: str = "") -> list[str]:
        """Return a command line that runs a command on the machine, or in the network namespace of a container."""
        users = ["--user", "--preserve-credentials"] if self._as_user else []
        enter = ["nsenter", f"--target={self._holder.pid}", *users, "--net", "--mount", "--"]
        return [*enter, *(["nsenter", f"--net=/run/netns/{net}", "--"] if net else []), *command]

    def run(self, *command: str, net: str = "", given: str | None = None) -> str:
        """Run a command to its end; return its output."""
        done = subprocess.run(
            self.inside(*command, net=net), input=given, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    def start(self, *command: str, net: str = "") -> None:
        """Run a command until the machine ends."""
        log = self.folder / "machine.log"
        self._ends.enter_context(running(self.inside(*command, net=net), log=log))

    def add_network(self, name: str) -> None:
        """Add a bridge, in a subnet of its own; networks cannot reach each other."""
        number = self._bridges[name] = len(self._bridges)
        self._given[name] = 1
        self.run("ip", "link", "add", f"br{number}", "type", "bridge")
        self.run("ip", "address", "add", f"{_subnet(number)}.1/24", "dev", f"br{number}")
        self.run("ip", "link", "set", f"br{number}", "up")
        for other in range(number):
            for one, two in ((number, other), (other, number)):
                self.run("ip", "rule", "add", "iif", f"br{one}", "to", f"{_subnet(two)}.0/24", "unreachable")

    def add_namespace(self, name: str) -> None:
        """Add the network namespace of a container, with loopback; every port is free to every user, as in Docker."""
        self.run("ip", "netns", "add", name)
        self.run("sh", "-c", "echo 0 > /proc/sys/net/ipv4/ip_unprivileged_port_start", net=name)
        self.run("ip", "link", "set", "lo", "up", net=name)

    def delete_namespace(self, name: str) -> None:
        """Delete a network namespace with its links; the kernel keeps it while a process is in it."""
        self.run("ip", "netns", "delete", name)

    def connect(self, namespace: str, network: str, *, is_gateway: bool) -> str:
        """Connect a container to a network, with its next free address, which is returned."""
        self._links += 1
        self._given[network] += 1
        bridge, link, inner = f"br{self._bridges[network]}", f"v{self._links}", f"eth{self._links}"
        prefix = _subnet(self._bridges[network])
        address = f"{prefix}.{self._given[network]}"
        self.run("ip", "link", "add", link, "type", "veth", "peer", "name", inner, "netns", namespace)
        self.run("ip", "link", "set", link, "master", bridge, "up")
        self.run("ip", "address", "add", f"{address}/24", "dev", inner, net=namespace)
        self.run("ip", "link", "set", inner, "up", net=namespace)
        if is_gateway:
            self.run("ip", "route", "add", "default", "via", f"{prefix}.1", net=namespace)
        return address

    def add_visitor(self, name: str, address: str) -> None:
        """Add the network namespace of a visitor, routed to the containers through this machine."""
        self.add_namespace(name)
        gateway = f"{address.rpartition('.')[0]}.1"
        self.run("ip", "link", "add", f"h-{name}", "type", "veth", "peer", "name", "eth0", "netns", name)
        self.run("ip", "address", "add", f"{gateway}/24", "dev", f"h-{name}")
        self.run("ip", "link", "set", f"h-{name}", "up")
        self.run("ip", "address", "add", f"{address}/24", "dev", "eth0", net=name)
        self.run("ip", "link", "set", "eth0", "up", net=name)
        self.run("ip", "route", "add", "default", "via", gateway, net=name)

    def publish(self, where: str, address: str) -> None:
        """Publish a port of a container, written ``HOST:PORT:PORT``, on the machine."""
        host, port, target = where.split(":")
        self.start(sys.executable, str(HERE / "publish.py"), host, port, address, target)

    def ask(
        self,
        address: str,
        path: str = "/",
        *,
        host: str,
        port: int = 443,
        tls: bool = True,
        ca: str = "",
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: str = "",
        net: str = "visitor",
    ) -> Answer:
        """Return the answer to a request of a visitor."""
        asked = {"address": address, "path": path, "host": host, "port": port, "tls": tls, "ca": ca, "method": method}
        text = json.dumps({**asked, "headers": dict(headers or {}), "body": body})
        answer = json.loads(self.run(sys.executable, str(HERE / "ask.py"), net=net, given=text))
        found = http.client.HTTPMessage()
        for name, value in answer["headers"]:
            found[name] = value
        return Answer(answer["status"], found, answer["body"].encode())


def _subnet(number: int) -> str:
    return f"172.18.{number}"
