"""Run commands and servers without starting an interpreter for each: fork a process that has imported their modules.

A Django process takes 0.9 s of CPU to start, mostly for imports that depend on no environment. The forked
process reads the settings from the environment of its command, and ends as an interpreter does. Data planes, which use
no Django, are forked from a second process, without it.
"""

import atexit
import ctypes
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any, NoReturn

BASE = Path(__file__).resolve().parents[2]
_LIBRARIES = (
    *("cryptography.x509", "django.contrib.admin", "django.contrib.postgres.fields", "django.contrib.postgres.forms"),
    *("django.core.management", "django.db.backends.sqlite3.base", "django.db.migrations", "django.test", "jwt"),
    *("psycopg", "qrcode.image.svg", "requests", "yaml", "prometheus_client", "pygments.formatters"),
    *("gunicorn.app.wsgiapp", "gunicorn.arbiter", "gatewall.data_plane", "gatewall.gate.worker"),
    *("gatewall.install.plane_start", "gatewall.server.threads"),
)
"""Libraries that do not read the settings or the environment of an installation on import."""
_MOST = 2**20
_M_MMAP_THRESHOLD = -3
"""The parameter of ``mallopt`` that glibc sets from an environment variable at program start."""
_one_at_a_time = threading.Lock()


class Forked:
    """A process forked for a command, with the methods of ``subprocess.Popen``."""

    def __init__(self, asked: Mapping[str, Any], files: Sequence[int]) -> None:
        """``files``: output and errors, or input, output and errors."""
        self.args: Sequence[str] = asked["arguments"]
        with _one_at_a_time:
            self._server = _server("without Django" if self.args[:1] == ["data_plane"] else "with Django")
        self.pid = int(_ask(self._server, asked, files))
        self.returncode: int | None = None
        self._ends = os.pidfd_open(self.pid)
        self._once = threading.Lock()
        weakref.finalize(self, os.close, self._ends)

    def poll(self) -> int | None:
        """Return the exit code, or None while the process runs."""
        return self._code_within(0)

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code. Raises ``subprocess.TimeoutExpired``."""
        code = self._code_within(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(list(self.args), timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _code_within(self, seconds: float | None) -> int | None:
        if self.returncode is None:
            ends = select.poll()
            ends.register(self._ends, select.POLLIN)
            if ends.poll(None if seconds is None else 1000 * seconds):
                with self._once:  # the process is a zombie until its exit code is read
                    if self.returncode is None:
                        self.returncode = int(_ask(self._server, {"wait": self.pid}, []))
        return self.returncode


def start(arguments: Sequence[str], *, env: Mapping[str, str], output: IO[bytes]) -> Forked:
    """Start ``manage.py`` with these arguments in a session of its own; it writes to ``output``."""
    asked = {"arguments": list(arguments), "env": dict(env), "code": "", "own_session": True}
    return Forked(asked, [output.fileno(), output.fileno()])


def run(
    arguments: Sequence[str], *, env: Mapping[str, str], code: str = "", timeout: float
) -> subprocess.CompletedProcess[str]:
    """Run ``manage.py`` with these arguments, or this code; return the completed process with its output."""
    asked = {"arguments": list(arguments), "env": dict(env), "code": code, "own_session": False}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        process = Forked(asked, [out.fileno(), errors.fileno()])
        try:
            process.wait(timeout)
        except BaseException:
            process.kill()
            process.wait()
            raise
        out.seek(0)
        errors.seek(0)
        said = out.read().decode(), errors.read().decode()
    return subprocess.CompletedProcess(list(arguments), process.wait(), *said)


def _ask(server: socket.socket, asked: Mapping[str, Any], files: Sequence[int]) -> str:
    with _one_at_a_time:
        socket.send_fds(server, [json.dumps(asked).encode()], files)
        answer = server.recv(_MOST)
    assert answer, "the process that is forked for commands has ended"
    return answer.decode()


@cache
def _server(kind: str) -> socket.socket:
    """Return the connection to the server process of a kind; each test process has its own."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _MOST)
    command = [sys.executable, "-m", "tests.support.command_server", str(its.fileno()), kind]
    process = subprocess.Popen(command, cwd=BASE, pass_fds=[its.fileno()], stdin=subprocess.DEVNULL)
    its.close()

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def _serve(connection: socket.socket) -> dict[str, Any] | None:
    """Fork for each command; return the command in the forked process, and None when the connection ends."""
    while True:
        asked, files, _, _ = socket.recv_fds(connection, _MOST, 3)
        if not asked:
            return None
        found: dict[str, Any] = json.loads(asked)
        if "wait" in found:
            _, status = os.waitpid(found["wait"], 0)
            connection.send(str(os.waitstatus_to_exitcode(status)).encode())
            continue
        child = os.fork()
        if not child:
            for number, file in enumerate(files, start=3 - len(files)):
                os.dup2(file, number)
            for file in files:
                os.close(file)
            connection.close()
            return found
        for file in files:
            os.close(file)
        connection.send(str(child).encode())


def _become(asked: Mapping[str, Any]) -> None:
    """Set up this process like a new interpreter for the command."""
    if asked["own_session"]:
        os.setsid()
    if "folder" in asked:
        os.chdir(asked["folder"])
        os.umask(asked["umask"])
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ``nohup`` would leave it ignored
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(write_through="PYTHONUNBUFFERED" in asked["env"])  # type: ignore[union-attr]  # text streams
    _take_environment(asked["env"])
    os.execve = _execute  # type: ignore[assignment] # a plane becomes its master
    sys.argv = ["manage.py", *asked["arguments"]]


def _take_environment(given: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(given)
    if threshold := given.get("MALLOC_MMAP_THRESHOLD_"):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, int(threshold))


def _execute(_path: str, command: Sequence[str], given: Mapping[str, str]) -> None:
    """Run ``python -m MODULE ARGUMENTS`` in this process, which has imported the module's dependencies."""
    interpreter, option, module, *arguments = command
    assert (interpreter, option) == (sys.executable, "-m"), command
    _take_environment(given)
    sys.argv = [interpreter, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
    sys.exit(0)


def main() -> None:
    """Import the libraries and wait for commands; in a forked process, run one."""
    for name in _LIBRARIES:
        importlib.import_module(name)
    if sys.argv[2] == "with Django":
        importlib.import_module("tests.support.preloaded_django").load()
    gc.freeze()
    asked = _serve(socket.socket(fileno=int(sys.argv[1])))
    if asked is None:
        return
    _become(asked)
    try:
        if asked["code"]:
            exec(compile(asked["code"], "<code>", "exec"), {"__name__": "__main__"})  # noqa: S102 - the code of a test
        else:
            importlib.import_module("gatewall.management.command_line").main()
    except SystemExit as ended:
        if not isinstance(ended.code, int | None):
            raise
        _end(ended.code or 0)
    _end(0)


def _end(code: int) -> NoReturn:
    """End this process like an interpreter, but without module teardown, which costs 0.08 s of CPU.

    The modules are in memory shared with the parent process; teardown would copy it page by page.
    """
    threading._shutdown()  # type: ignore[attr-defined] # waits for other threads
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        sys.exit(code)  # like the interpreter
    os._exit(code)


if __name__ == "__main__":
    main()
