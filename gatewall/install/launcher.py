"""Run several processes in one terminal for `gatewall up`: start them, wait until they respond, stop them together."""

import errno
import http.client
import json
import os
import random
import shlex
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import honcho.manager
from honcho.manager import Manager
from honcho.process import Popen

READY_SECONDS = 60.0
_MOST_READ = 65536
_CURES = {"policy": "`gatewall publish-policy` publishes it, or says why it cannot be published"}
"""Commands that fix a failed health check, by its name."""
STOPPED_BY_SIGNAL = {128 + signal.SIGINT, 128 + signal.SIGTERM}


class PortTakenError(Exception):
    """A port is taken; the message names the port and its variable."""


class Process(NamedTuple):
    """A row of the process table."""

    name: str
    command: list[str]
    env: dict[str, str]


class Port(NamedTuple):
    """A TCP port and the variable that changes it."""

    address: str
    number: int
    variable: str


def require_free(port: Port) -> None:
    """Raise PortTakenError unless the port is free.

    Binds without SO_REUSEPORT, which would silently share a taken port, and with SO_REUSEADDR, to ignore closing
    connections of the last run.
    """
    family = socket.AF_INET6 if ":" in port.address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((port.address, port.number))
            probe.listen(1)
        except (OSError, OverflowError) as error:
            taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
            why = "is taken" if taken else f"cannot be used ({error})"
            raise PortTakenError(
                f"Port {port.number} on {port.address} {why}: stop what listens there, or set {port.variable}."
            ) from error


def require_free_socket(path: Path, variable: str) -> None:
    """Raise PortTakenError unless the Unix socket is free; remove the stale socket of a killed server."""
    why = ""
    if not os.access(path.parent, os.W_OK | os.X_OK):
        why = f"{path.parent} is no folder that we may write to"
    elif path.exists() and not path.is_socket():
        why = "it is another file"
    if why:
        raise PortTakenError(f"The socket {path} cannot be used ({why}): set {variable}.")
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except FileNotFoundError:
            return
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
            return
        except OSError as error:
            raise PortTakenError(f"The socket {path} cannot be used ({error}): set {variable}.") from error
    raise PortTakenError(f"The socket {path} is taken: stop what listens there, or set {variable}.")


def _lowest_ephemeral_port() -> int:
    """Return the lowest ephemeral port of the kernel."""
    try:
        return int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return 32768


def non_ephemeral_ports(lowest: int) -> range:
    """Return ports outside of the ephemeral range, which begins at `lowest`.

    If hardly any are below it, return those of the parity that Linux uses last.
    """
    return range(10_000, lowest) if lowest > 12_000 else range(10_001 - lowest % 2, 65_536, 2)


# Ports reserved by a caller that does not listen on them yet.
_told: set[int] = set()


def _is_ours(number: int) -> bool:
    """Reserve a port among all processes of this host until this process ends; return False if it is reserved.

    Uses a name in Linux's abstract socket namespace, which is released with its process and needs no file.
    """
    if sys.platform != "linux":
        return True
    sign = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        sign.bind(f"\0gatewall-port-{number}")
    except OSError:
        sign.close()
        return False
    sign.detach()  # stays open as long as the process
    return True


def free_port() -> int:
    """Return a free loopback port outside of the ephemeral range.

    No two calls return the same port while their processes run. Raises PortTakenError when there is none.
    """
    left = [number for number in non_ephemeral_ports(_lowest_ephemeral_port()) if number not in _told]
    for number in random.sample(left, min(len(left), 1_000)):
        with suppress(PortTakenError):
            require_free(Port("127.0.0.1", number, ""))
            if _is_ours(number):
                _told.add(number)
                return number
    raise PortTakenError("No loopback port is free.")


def answers(url: str) -> bool:
    """Return whether `url` responds with content or with the gate's own decision."""
    return _get(url)[0] in {200, 302, 401, 403}


def reported_problem(url: str) -> str:
    """Return the problem that a health page reports, with its fix; empty if it reports none or is unreachable."""
    with suppress(ValueError, KeyError, TypeError, AttributeError):
        failing = {name: problem for name, problem in json.loads(_get(url)[1])["checks"].items() if problem != "ok"}
        cures = [_CURES[name] for name in failing if name in _CURES]
        return "; ".join([f"{name}: {problem}" for name, problem in failing.items()] + cures)
    return ""


def _get(url: str) -> tuple[int, bytes]:
    """Return status and body of a page; 0 and nothing on failure."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=5)
    try:
        connection.request("GET", parts.path, headers={"Accept": "text/html, */*;q=0.8"})
        response = connection.getresponse()
        return response.status, response.read(_MOST_READ)
    except (OSError, http.client.HTTPException):
        return 0, b""
    finally:
        connection.close()


class Child(Popen):  # type: ignore[misc]  # honcho has no types
    """A child whose process group is killed with it, because orphaned workers would keep ports and pipes open."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        threading.Thread(target=self._sweep, daemon=True).start()

    def _sweep(self) -> None:
        # WNOWAIT keeps the dead child in the table, so that its group id cannot be reused.
        with suppress(ChildProcessError, ProcessLookupError):
            os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
            os.killpg(self.pid, signal.SIGKILL)


_STOP_SECONDS = 45
"""Longer than any process takes to drain (deploy/gunicorn.conf.py, deploy/data_plane.conf.py); then it is killed."""


class Supervisor(Manager):  # type: ignore[misc]  # honcho has no types
    """honcho's manager, extended by readiness and by which child failed."""

    def __init__(self, processes: Sequence[Process], urls: Sequence[str], announce: Callable[[], None]) -> None:
        super().__init__()
        honcho.manager.KILL_WAIT = _STOP_SECONDS
        self.urls = urls
        self.announce = announce
        self.trouble = ""
        for process in processes:
            # exec: replaces the shell that honcho starts
            command = f"exec {shlex.join(process.command)}"
            child = self.add_process(process.name, command, env={**os.environ, **process.env})
            child._child_ctor = Child  # noqa: SLF001 (honcho's own place for it)

    def _start(self) -> None:
        super()._start()
        # after the forks, which do not copy threads
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        """Announce once every address responds; stop all processes if one does not."""
        deadline = time.monotonic() + READY_SECONDS
        for url in self.urls:
            while not answers(url):
                if self._terminating:
                    return
                if time.monotonic() > deadline:
                    problem = f" ({text})" if (text := reported_problem(url)) else ""
                    self.trouble = f"{url} did not answer within {READY_SECONDS:.0f} s{problem}"
                    os.kill(os.getpid(), signal.SIGTERM)
                    return
                time.sleep(0.1)
        if not self._terminating:
            self.announce()

    def terminate(self) -> None:
        """Stop all children, and record which one ended by itself."""
        if not self._all_started():
            # Right after the start, a child may not have reported its process id. Retry.
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM)).start()
            return
        ended = [name for name, state in self._processes.items() if "returncode" in state]
        if ended and self.returncode not in STOPPED_BY_SIGNAL and not self.trouble:
            self.trouble = f"{ended[0]} ended (code {self._processes[ended[0]]['returncode']})"
        super().terminate()


def run(processes: Sequence[Process], urls: Sequence[str], announce: Callable[[], None]) -> int:
    """Run the processes in the foreground; call `announce` once every address in `urls` responds.

    Return 0 after a signal, 1 if a child ended or an address never responded.
    """
    stop_when_terminal_closes()
    supervisor = Supervisor(processes, urls, announce)
    supervisor.loop()
    if supervisor.trouble or supervisor.returncode not in STOPPED_BY_SIGNAL:
        sys.stdout.flush()
        sys.stderr.write(f"Stopped everything: {supervisor.trouble or 'a process ended'}.\n")
        return 1
    return 0


def stop_when_terminal_closes() -> None:
    """Treat SIGHUP like SIGTERM, except under nohup: children have their own sessions and would keep running."""

    def stop(_number: int, _frame: Any) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        signal.signal(signal.SIGHUP, stop)
