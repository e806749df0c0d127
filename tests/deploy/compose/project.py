"""A Compose project without a container engine: ``up``, ``exec``, ``logs`` and ``restart`` of its services."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Self

import psutil

from tests.deploy.compose.container import environment_of, script_of
from tests.deploy.compose.images import ContainerImage, image_of
from tests.deploy.compose.machine import HERE, Machine
from tests.deploy.compose.reader import Mount, Service, read
from tests.deploy.image import HEALTH_SECONDS
from tests.support.container_engine import Container, container_engine
from tests.support.processes import PATIENCE, Process, running, wait_until

_IS_ROOT = os.geteuid() == 0
PROJECT = "gatewall"
"""The project name in every file; the engine prefixes the names of networks with it."""
ENGINE = Path("/var/run/docker.sock").resolve()


class Project:
    """The services of one Compose file on a machine of their own."""

    def __init__(self, file: Path, variables: Mapping[str, str], folder: Path, images: Path) -> None:
        self.services, self._networks = read(file, variables)
        self.folder, self._images = folder, images
        self.machine = Machine(folder)
        self.addresses: dict[str, dict[str, str]] = {name: {} for name in self.services}
        self.processes: dict[str, Process] = {}
        self._ends = ExitStack()
        for each in ("volumes", "texts", "names", "logs"):
            (folder / each).mkdir()

    def __enter__(self) -> Self:
        self._ends.enter_context(self.machine)
        for name in self._networks:
            self.machine.add_network(name)
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()

    def volume(self, name: str) -> Path:
        """Return the folder of a named volume."""
        return self.folder / "volumes" / name

    def log(self, name: str) -> str:
        """Return the output of a service."""
        return (self.folder / "logs" / name).read_text(errors="replace")

    def up(self, *names: str) -> None:
        """Start these services, or every one, each after those that it needs."""
        wanted = {name: service for name, service in self.services.items() if not names or name in names}
        for name, service in wanted.items():
            for other, condition in service.depends_on.items():
                self._wait_for(other, condition)
            if name not in self.processes:
                self._start(service)
        for name in wanted:
            if self._health(name):
                self._wait_for(name, "service_healthy")

    def address(self, name: str, network: str = "") -> str:
        """Return the address of a service, by default in its first network."""
        return self.addresses[name][network or self.services[name].networks[0]]

    def restart(self, name: str) -> None:
        """Replace the container of a service: it gets other addresses."""
        self.stop(name)
        self.machine.delete_namespace(name)
        self._start(self.services[name])
        self._wait_for(name, "service_healthy" if self._health(name) else "service_started")

    def stop(self, name: str) -> int:
        """End a service with SIGTERM; return its exit code."""
        process = self.processes.pop(name)
        process.terminate()
        return process.wait(PATIENCE)

    def run(self, name: str, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the container of a service (``docker compose exec``), as its user with its environment."""
        return subprocess.run(
            self.inside(name, *command), capture_output=True, text=True, timeout=PATIENCE, check=False
        )

    def inside(self, name: str, *command: str) -> list[str]:
        """Return a command line that runs a command in the container of a service."""
        service, process = self.services[name], self.processes[name]
        uid, _, gid = service.user.partition(":")
        own = [f"--setuid={uid}", f"--setgid={gid}"] if _IS_ROOT else ["--user", "--preserve-credentials"]
        enter = ["nsenter", f"--target={process.pid}", *own, "--net", "--mount", "--root", "--wd", "--uts", "--"]
        environment = [f"{key}={value}" for key, value in environment_of(service, self._image(service)).items()]
        return self.machine.inside(*enter, "env", "-i", *environment, *command)

    def _image(self, service: Service) -> ContainerImage:
        return image_of(service.image, self._images)

    def _health(self, name: str) -> list[str]:
        service = self.services[name]
        return self._image(service).health if service.health is None else service.health

    def _wait_for(self, name: str, condition: str) -> None:
        process, health = self.processes[name], self._health(name)
        if condition == "service_completed_successfully":
            assert process.wait(PATIENCE) == 0, self.log(name)
        elif condition == "service_healthy":
            assert health, f"{name} has no health check"
            wait_until(
                lambda: process.poll() is not None or self.run(name, *health).returncode == 0,
                what=f"{name} to be well",
                pause=HEALTH_SECONDS,
            )
            assert process.poll() is None, self.log(name)

    def _start(self, service: Service) -> None:
        image = self._image(service)
        for mount in service.mounts:
            if mount.name:
                self._make_volume(mount, image)
        if any(mount.source == ENGINE for mount in service.mounts):
            service = self._with_engine(service)
        self._connect(service)
        script = script_of(service, image, self.folder / "volumes", self.folder / "texts", is_root=_IS_ROOT)
        command = self.machine.inside("unshare", "--mount", "--uts", "--ipc", "sh", "-c", script, net=service.name)
        self._ends.callback(self._end_all_in, service.name)
        self.processes[service.name] = self._ends.enter_context(
            running(command, log=self.folder / "logs" / service.name)
        )

    def _with_engine(self, service: Service) -> Service:
        """Return a service with the socket of an engine that shows the containers of this project."""
        socket = self.folder / "engine.sock"
        self._ends.enter_context(container_engine(socket, self._containers))
        mounts = [replace(each, source=socket) if each.source == ENGINE else each for each in service.mounts]
        return replace(service, mounts=mounts)

    def _containers(self) -> list[Container]:
        return [
            Container(
                name,
                self.services[name].labels,
                self._image(self.services[name]).ports,
                {f"{PROJECT}_{network}": address for network, address in addresses.items()},
            )
            for name, addresses in self.addresses.items()
            if addresses
        ]

    def _make_volume(self, mount: Mount, image: ContainerImage) -> None:
        """Create an empty volume with the owner of the image's folder that it is mounted on."""
        folder = self.volume(mount.name)
        if not folder.exists():
            folder.mkdir(mode=0o700)
            if _IS_ROOT:
                os.chown(folder, *image.owners.get(mount.target, (0, 0)))

    def _connect(self, service: Service) -> None:
        name, file = service.name, self.folder / "names" / f"{service.name}.json"
        self.machine.add_namespace(name)
        for key, value in service.sysctls.items():
            self.machine.run("sh", "-c", f"echo {value} > /proc/sys/{key.replace('.', '/')}", net=name)
        has_gateway = False
        for network in service.networks:
            is_gateway = not has_gateway and not (self._networks[network] or {}).get("internal", False)
            has_gateway = has_gateway or is_gateway
            self.addresses[name][network] = self.machine.connect(name, network, is_gateway=is_gateway)
        self._write_names()
        self.machine.start(sys.executable, str(HERE / "dns.py"), str(file), net=name)
        for port in service.ports:
            if port.startswith("127.0.0.1:"):
                self.machine.publish(port, self.address(name))

    def _write_names(self) -> None:
        """Tell every container the addresses of the others in its networks."""
        for name, service in self.services.items():
            names = {
                other: address
                for other, found in self.addresses.items()
                for network, address in found.items()
                if network in service.networks
            }
            file = self.folder / "names" / f"{name}.json"
            file.with_suffix(".new").write_text(json.dumps(names))
            shutil.move(file.with_suffix(".new"), file)

    def _end_all_in(self, name: str) -> None:
        """End processes that left the session of the process that started them."""
        namespace = self.machine.run("stat", "--dereference", "--format=%i", f"/run/netns/{name}").strip()
        for process in psutil.process_iter():
            try:
                if Path(f"/proc/{process.pid}/ns/net").readlink().name == f"net:[{namespace}]":
                    process.kill()
            except (OSError, psutil.NoSuchProcess):
                continue
