"""Run several processes in one terminal for `gatewall up`: pass on their output, and stop them together.

`gatewall up` replaces itself by this file, which imports the standard library only: a process that waits as long as
the others run must not keep Django in memory (docs/adr/0098-a-supervisor-of-our-own.md).

A plane's only worker has no master (docs/adr/0105-lone-workers.md): this process keeps its listening socket open, and
starts a new worker when one that was ready once ends or hangs. If any other process ends, all end.
"""

import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, NoReturn

_STOP_SECONDS = 45
"""Longer than the time to drain of deploy/gunicorn.conf.py and deploy/data_plane.conf.py; then a process is killed."""
_LONGEST_LINE = 65536
_CHECK_SECONDS = 1.0
_RESTART_SECONDS = 1.0
"""Pause between two starts of a worker."""
_START_TIMEOUTS = 6
"""A worker may take this many times ``hang_seconds`` to start (gatewall/server/answering.py)."""
_HALT_SECONDS = 3.0
"""If two checks were this far apart, the machine was suspended: workers get this time for their next heartbeat."""
_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_COLORS = (36, 33, 32, 35, 34, 31)
_SYSTEM = "system"


class Process(NamedTuple):
    """A row of the process table."""

    name: str
    command: list[str]
    env: Mapping[str, str]
    descriptors: Sequence[int] = ()
    """Listening socket and heartbeat file, for a plane's only worker."""
    hang_seconds: float = 0.0
    """The worker is killed after this time without a heartbeat."""
    socket_path: str = ""
    """The file of a listening Unix socket, removed at the end."""


def become(processes: Sequence[Process], urls: Sequence[str], lines: Sequence[str]) -> NoReturn:
    """Replace this process by the supervisor of `processes`, which prints `lines` once every address responds.

    It ends with 0 after a signal, and with 1 if a process ended or an address never responded.
    """
    readiness = os.path.join(os.path.dirname(__file__), "readiness.py")  # noqa: PTH118, PTH120 - without pathlib
    waiting = Process("readiness", [*_standalone_command(readiness), json.dumps(urls), json.dumps(lines)], {})
    sys.stdout.flush()
    # A signal that arrives before the supervisor has its handlers waits for them.
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    command = [*_standalone_command(__file__), json.dumps([waiting, *processes])]
    os.execv(command[0], command)  # noqa: S606 - our own interpreter


def _standalone_command(file: str) -> list[str]:
    """Return the command that runs a file which imports the standard library only. `-P`: its folder is not searched."""
    return [sys.executable, "-P", file]


class Child:
    """A running process and the unfinished line of its output."""

    def __init__(self, process: Process, color: int, *, is_read: bool) -> None:
        self.process = process
        self.started_at = time.monotonic()
        self.name = process.name
        self.color = color
        self.code: int | None = None
        self._rest = b""
        self._popen = subprocess.Popen(  # noqa: S603 - our own table
            process.command,
            env={"PYTHONUNBUFFERED": "1", **os.environ, **process.env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if is_read else None,
            stderr=subprocess.STDOUT if is_read else subprocess.PIPE,
            pass_fds=process.descriptors,
            start_new_session=True,  # Ctrl-C in the terminal is for the supervisor
        )
        pipe = self._popen.stdout or self._popen.stderr
        assert pipe is not None  # noqa: S101 - one of them is a pipe
        self.pipe = pipe.fileno()
        self.pid = self._popen.pid
        os.set_blocking(self.pipe, False)

    def read(self) -> list[str] | None:
        """Return the lines that have arrived; None at the end of the output."""
        try:
            data = os.read(self.pipe, _LONGEST_LINE)
        except BlockingIOError:
            return []
        *lines, self._rest = (self._rest + data).split(b"\n")
        if self._rest and (not data or len(self._rest) >= _LONGEST_LINE):
            lines.append(self._rest)
            self._rest = b""
        if not data and not lines:
            return None
        return [line.decode("utf-8", "replace") for line in lines]

    def expect_life(self) -> None:
        """Give the worker time to start."""
        heartbeat = self.process.descriptors[1]
        os.ftruncate(heartbeat, 0)
        allowed = time.monotonic() + (_START_TIMEOUTS - 1) * self.process.hang_seconds
        os.utime(heartbeat, (allowed, allowed))

    @property
    def is_ready(self) -> bool:
        """True if the worker has accepted connections."""
        return os.fstat(self.process.descriptors[1]).st_size > 0

    def hangs(self, now: float) -> bool:
        """Return whether the worker's last heartbeat is too old."""
        return now - os.fstat(self.process.descriptors[1]).st_mtime > self.process.hang_seconds

    def send(self, number: int) -> None:
        """Send a signal to the process and its children."""
        if self.code is None:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, number)

    def has_ended(self) -> bool:
        """Return whether the process ended just now; kill its children, because orphans keep ports and pipes open."""
        if self.code is not None:
            return False
        # WNOWAIT keeps the dead process in the table, so that the id of its group cannot be reused.
        if os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            return False
        self.send(signal.SIGKILL)
        self.code = self._popen.wait()
        return True


class Supervisor:
    """The running processes. The first one waits for the addresses, and may end with 0."""

    def __init__(self, processes: Sequence[Process]) -> None:
        self.trouble = ""
        self._words: list[str] = []
        self._stopped_at: float | None = None
        self._width = max(len(name) for name in (_SYSTEM, *(process.name for process in processes[1:])))
        self._is_colored = sys.stdout.isatty()
        self._selector = selectors.DefaultSelector()
        self._signals = self._heard_signals()
        self._restarts: dict[int, float] = {}
        """Time of the next start of a worker, by index of its process."""
        self._were_ready: set[int] = set()
        self._checked_at = self._lenient_until = time.monotonic()
        self._children: list[Child] = []
        for index, process in enumerate(processes):
            self._children.append(self._start(process, index))

    def _heard_signals(self) -> socket.socket:
        """Return a socket from which the numbers of arriving signals are read.

        SIGHUP also stops, except under nohup: the processes have their own sessions and would outlive the terminal.
        """
        reading, writing = socket.socketpair()
        for each in (reading, writing):
            each.setblocking(False)
        signal.set_wakeup_fd(writing.detach())
        for number in (signal.SIGCHLD, *_ENDING):
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, lambda *_: None)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
        self._selector.register(reading, selectors.EVENT_READ)
        return reading

    def _start(self, process: Process, index: int) -> Child:
        child = Child(process, _COLORS[index % len(_COLORS)], is_read=index > 0)
        if process.descriptors:
            child.expect_life()
        self._selector.register(child.pipe, selectors.EVENT_READ, child)
        if index:
            self._say(f"{child.name} started (pid={child.pid})")
        return child

    def run(self) -> int:
        """Pass on output until all processes have ended; return the exit code."""
        while self._wait():
            self._reap()
            if self._stopped_at is None:
                self._start_or_kill_workers(time.monotonic())
        for child in self._children:
            if path := child.process.socket_path:
                with suppress(OSError):
                    os.unlink(path)  # noqa: PTH108 - without pathlib
        if self.trouble:
            print(f"Stopped everything: {self.trouble}.", file=sys.stderr, flush=True)  # noqa: T201 - a person reads it
        return 1 if self.trouble else 0

    def _wait(self) -> bool:
        """Handle the next events. Return False when all processes have ended and their output was passed on."""
        is_over = not self._restarts and all(child.code is not None for child in self._children)
        left = None if self._stopped_at is None else max(0.0, self._stopped_at + _STOP_SECONDS - time.monotonic())
        pause = _CHECK_SECONDS if any(child.process.descriptors for child in self._children) else None
        ready = self._selector.select(0 if is_over else pause if left is None else left)
        for key, _ in ready:
            if isinstance(key.data, Child):
                self._pass_on(key.data)
            else:
                self._read_signals()
        if left == 0.0:
            for child in self._children:
                child.send(signal.SIGKILL)
        return bool(ready) or not is_over

    def _read_signals(self) -> None:
        for number in self._signals.recv(4096):
            if number != signal.SIGCHLD:
                self._say(f"{signal.Signals(number).name} received")
                self._stop()

    def _pass_on(self, child: Child) -> None:
        lines = child.read()
        if lines is None:
            self._selector.unregister(child.pipe)
        elif child is self._children[0]:
            self._words += lines
        else:
            for line in lines:
                self._print(child.name, line, child.color)

    def _start_or_kill_workers(self, now: float) -> None:
        """Start workers that are due, and kill those that hang."""
        if now - self._checked_at > _HALT_SECONDS:
            self._lenient_until = now + _HALT_SECONDS
        self._checked_at = now
        for index, at in list(self._restarts.items()):
            if now >= at:
                del self._restarts[index]
                self._children[index] = self._start(self._children[index].process, index)
        for index, child in enumerate(self._children):
            if not child.process.descriptors or child.code is not None:
                continue
            if child.is_ready:
                self._were_ready.add(index)
            if now >= self._lenient_until and child.hangs(now):
                self._say(f"{child.name} does not respond: killing it (pid {child.pid})")
                child.send(signal.SIGKILL)

    def _reap(self) -> None:
        """Reap ended processes. The first unexpected end stops all; the process that waits may end with 0."""
        for index, child in enumerate(self._children):
            if not child.has_ended():
                continue
            trouble = f"{child.name} ended (code {child.code})"
            if child is self._children[0]:
                if child.code == 0:
                    continue
                trouble = " ".join(self._words + (child.read() or [])) or trouble
            else:
                self._say(f"{child.name} stopped (rc={child.code})")
            if self._stopped_at is None and child.process.descriptors and (index in self._were_ready or child.is_ready):
                self._were_ready.add(index)
                self._restarts[index] = child.started_at + _RESTART_SECONDS
                continue
            if self._stopped_at is None:
                self.trouble = trouble
                self._stop()

    def _stop(self) -> None:
        if self._stopped_at is not None:
            return
        self._stopped_at = time.monotonic()
        self._restarts.clear()
        for child in self._children:
            if child.code is None and child is not self._children[0]:
                self._say(f"sending SIGTERM to {child.name} (pid {child.pid})")
            child.send(signal.SIGTERM)

    def _say(self, text: str) -> None:
        self._print(_SYSTEM, text, 0)

    def _print(self, name: str, line: str, color: int) -> None:
        prefix = f"{time.strftime('%H:%M:%S')} {name.ljust(self._width)} | "
        if self._is_colored:
            prefix = f"\033[{color}m{prefix}\033[0m"
        with suppress(OSError):  # a closed terminal: SIGHUP comes
            sys.stdout.write(f"{prefix}{line}\n")  # in one write, also where Python does not buffer
            sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(Supervisor([Process(*row) for row in json.loads(sys.argv[1])]).run())
