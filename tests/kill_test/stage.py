"""Both planes and the agent on one state folder; each can be killed and restarted."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Self

import psutil

from gatewall.install.ports import free_port
from tests.support.children import is_alive
from tests.support.locks import leads
from tests.support.processes import (
    Process,
    environment,
    is_listening,
    manager,
    running,
    wait_for,
    wait_until,
)

WORKERS = 2
_ORPHANS_SECONDS = 15
_COMMANDS = {"control": "control_plane", "auth": "data_plane"}
# The points where an agent dies, patched by name: the product has no hooks for this.
_DYING_AGENT = """
import os, signal, sys, threading
from pathlib import Path
from django.db.backends.base.base import BaseDatabaseWrapper

def dying(owner, name, when, concerns):
    before = getattr(owner, name)
    def call(self, *arguments, **options):
        if threading.current_thread().name != "log-shipper" or not concerns(self):
            return before(self, *arguments, **options)
        if when == "after":
            before(self, *arguments, **options)
        os.kill(os.getpid(), signal.SIGKILL)
    setattr(owner, name, call)

def inserts_a_batch(_connection):
    frame = sys._getframe()
    while frame is not None and frame.f_code.co_name != "_insert_batches":
        frame = frame.f_back
    return frame is not None

def is_a(suffix):
    return lambda path: path.suffix == suffix

owner, name, when, concerns = {
    "before-commit": (BaseDatabaseWrapper, "commit", "before", inserts_a_batch),
    "after-commit": (BaseDatabaseWrapper, "commit", "after", inserts_a_batch),
    "before-unlink": (Path, "unlink", "before", is_a(".spool")),
    "after-unlink": (Path, "unlink", "after", is_a(".spool")),
    "after-aside": (Path, "write_bytes", "after", is_a(".aside")),
}[sys.argv.pop(1)]
dying(owner, name, when, concerns)
import manage
manage.main()
"""
AGENT_STEPS = ("before-commit", "after-commit", "before-unlink", "after-unlink", "after-aside")


class Stage:
    """The processes of one host. ``inside`` prefixes each command, e.g. with ``nsenter``."""

    def __init__(self, home: Path, *, inside: Sequence[str] = (), address: str = "127.0.0.1", **changes: str) -> None:
        self.home = home
        self.address = address
        self.auth, self.control = free_port(), free_port()
        self.kills = 0
        self.slow_exits = 0
        self.ended: list[str] = []
        """Processes that ended by themselves and were restarted."""
        self._inside = list(inside)
        where = {"GATEWALL_BIND": address, "GATEWALL_AUTH_PORT": str(self.auth), "GATEWALL_PORT": str(self.control)}
        self._environment = environment(home, **{"GATEWALL_WORKERS": str(WORKERS), **where, **changes})
        self._processes: dict[str, Process] = {}
        self._ends = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()

    def start(self, *names: str) -> None:
        """Start those of ``auth``, ``control`` and ``agent`` that do not run; return when they are ready."""
        missing = [name for name in names if name not in self._processes]
        for name in missing:
            self._start(name, manager(_COMMANDS.get(name, name)))
        for name in missing:
            self._wait_for(name)

    def kill(self, name: str) -> None:
        """Send SIGKILL to a master or the agent; return when its workers have ended, too."""
        process = self._processes.pop(name)
        family = self._family(process)
        process.kill()
        process.wait()
        self.kills += 1
        end = time.monotonic() + _ORPHANS_SECONDS
        while any(is_alive(child) for child in family):
            if time.monotonic() > end:  # a worker of the control plane that waits for the database notices later
                self.slow_exits += 1
                for child in family:
                    self.kill_process(child.pid)
            time.sleep(0.05)

    def kill_worker(self, name: str, choice: random.Random) -> bool:
        """Send SIGKILL to one worker of a plane; return False if there is none."""
        if not (workers := self.workers(name)):
            return False
        self.kill_process(choice.choice(workers))
        return True

    def kill_process(self, process: int) -> None:
        """Send SIGKILL to a process if it is running."""
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
            self.kills += 1

    def wait_for_workers(self, name: str) -> None:
        """Wait until a plane has all its workers; restart it if it has ended, like a service manager."""
        process = self._processes[name]
        try:
            wait_until(lambda: process.poll() is not None or len(self.workers(name)) >= WORKERS)
        except AssertionError as waited:
            raise AssertionError(f"{waited}: workers of {name}\n{self.log(name)}") from waited
        if process.poll() is not None:
            self.ended.append(f"{name}: {self.log(name)[-400:]}")
            del self._processes[name]
            self.start(name)

    def restart_workers(self, name: str) -> None:
        """Send SIGHUP to a master; return when all its workers are new."""
        process, before = self._processes[name], set(self.workers(name))
        process.send_signal(signal.SIGHUP)
        wait_until(
            lambda: process.poll() is not None or (not before & set(now := self.workers(name)) and len(now) >= WORKERS),
            what=f"other workers of {name}",
        )

    def stop(self, *names: str) -> None:
        """Terminate processes and wait for their end."""
        for name in names:
            self._processes[name].send_signal(signal.SIGTERM)
        for name in names:
            self._processes.pop(name).wait(30)

    def agent_dies(self, step: str, seconds: float = 90) -> None:
        """Run an agent that dies at this step of shipping; return when it has ended."""
        self._start("dying agent", [sys.executable, "-c", _DYING_AGENT, step, "agent"])
        process = self._processes.pop("dying agent")
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
        assert process.poll() == -signal.SIGKILL, (step, self.log("dying agent"))
        self.kills += 1

    def workers(self, name: str) -> list[int]:
        """Return the ids of a master's running workers."""
        return sorted(child.pid for child in self._family(self._processes[name]) if is_alive(child))

    def process(self, name: str) -> int:
        """Return the id of the master or the agent."""
        return self._processes[name].pid

    def log(self, name: str) -> str:
        """Return the end of the log of a process."""
        return (self.home / f"{name}.log").read_text(errors="replace")[-4000:]

    def _start(self, name: str, command: Sequence[str]) -> None:
        log = self.home / f"{name}.log"
        self._processes[name] = self._ends.enter_context(
            running([*self._inside, *command], log=log, env={**self._environment, "TESTS_PROCESS": name})
        )

    def _wait_for(self, name: str) -> None:
        process = self._processes[name]
        if name == "agent":
            wait_until(lambda: process.poll() is not None or leads(self.home, process.pid), what="an agent that leads")
            assert process.poll() is None, self.log(name)
            return
        port = self.auth if name == "auth" else self.control
        wait_for(f"http://{self.address}:{port}/wall/health/live", process, self.home / f"{name}.log")
        self.wait_for_workers(name)

    def _family(self, process: Process) -> list[psutil.Process]:
        with suppress(psutil.NoSuchProcess):
            return list(psutil.Process(process.pid).children())
        return []


def nobody_listens(port: int) -> bool:
    """Return whether nothing listens on the port."""
    return not is_listening(port)
