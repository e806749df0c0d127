"""Run management commands without starting an interpreter for each: fork a process that has imported the libraries.

A Django process takes 0.9 s of CPU to start; half of it are imports that depend on no environment. The forked process
imports the rest, with the environment and the arguments of its command, and ends as an interpreter does.
"""

import atexit
import gc
import importlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

BASE = Path(__file__).resolve().parents[2]
_LIBRARIES = (
    *("cryptography.x509", "django.contrib.admin", "django.contrib.postgres.fields", "django.contrib.postgres.forms"),
    *("django.core.management", "django.db.backends.sqlite3.base", "django.db.migrations", "django.test", "jwt"),
    *("psycopg", "qrcode", "requests", "gatewall.engine.waf.matcher", "gatewall.kernel.env"),
)
"""None of them reads the settings or the environment of an installation when it is imported."""
_MOST = 2**20
_one_at_a_time = threading.Lock()


def run(
    arguments: Sequence[str], *, env: Mapping[str, str], code: str = "", timeout: float
) -> subprocess.CompletedProcess[str]:
    """Run ``manage.py`` with these arguments, or else this code; return how it ended and what it wrote."""
    if not _one_at_a_time.acquire(blocking=False):  # by another thread, which this command may have to let go on
        typed = ["-c", code] if code else ["manage.py", *arguments]
        return subprocess.run(
            [sys.executable, *typed],
            cwd=BASE,
            env=env,
            timeout=timeout,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    try:
        return _run({"arguments": list(arguments), "env": dict(env), "code": code}, timeout)
    finally:
        _one_at_a_time.release()


def _run(asked: Mapping[str, Any], timeout: float) -> subprocess.CompletedProcess[str]:
    server = _server()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        socket.send_fds(server, [json.dumps(asked).encode()], [out.fileno(), errors.fileno()])
        server.settimeout(timeout)
        answer = server.recv(_MOST)
        assert answer, "the process that runs commands has ended"
        out.seek(0)
        errors.seek(0)
        said = out.read().decode(), errors.read().decode()
    return subprocess.CompletedProcess(asked["arguments"], int(answer), *said)


@cache
def _server() -> socket.socket:
    """Return the connection to the process that is forked, one for each process of the tests."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _MOST)
    command = [sys.executable, "-m", "tests.support.command_server", str(its.fileno())]
    process = subprocess.Popen(command, cwd=BASE, pass_fds=[its.fileno()], stdin=subprocess.DEVNULL)
    its.close()

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def _serve(connection: socket.socket) -> dict[str, Any] | None:
    """Return None at the end of the connection and, in a forked process, the command that it is to run."""
    while True:
        asked, files, _, _ = socket.recv_fds(connection, _MOST, 2)
        if not asked:
            return None
        child = os.fork()
        if not child:
            for number, file in enumerate(files, start=1):
                os.dup2(file, number)
            connection.close()
            found: dict[str, Any] = json.loads(asked)
            return found
        for file in files:
            os.close(file)
        _, status = os.waitpid(child, 0)
        connection.send(str(os.waitstatus_to_exitcode(status)).encode())


def main() -> None:
    """Import the libraries and wait for commands; in a forked process, run one."""
    for name in _LIBRARIES:
        importlib.import_module(name)
    gc.freeze()
    asked = _serve(socket.socket(fileno=int(sys.argv[1])))
    if asked is None:
        return
    os.environ.clear()
    os.environ.update(asked["env"])
    sys.argv = ["manage.py", *asked["arguments"]]
    if asked["code"]:
        exec(compile(asked["code"], "<code>", "exec"), {"__name__": "__main__"})  # noqa: S102 - the code of a test
    else:
        importlib.import_module("gatewall.management.command_line").main()


if __name__ == "__main__":
    main()
