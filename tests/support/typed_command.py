"""The command ``gatewall`` for documented shell lines: each call is forked, like in ``command_server``.

Starting an interpreter for each line would take 0.8 s of CPU; a fork takes 0.1 s.
"""

import json
import os
import socket
import sys
import tempfile
import threading
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.command_server import Forked
from tests.support.processes import BASE, PATIENCE

_CLIENT = """#!{python} -IS
import json, os, socket, sys
if sys.argv[1:2] == ["keys"] or sys.argv[1:2] == ["up"]:  # without settings, or ended by a signal to this process
    os.execv(sys.executable, [sys.executable, {manage!r}, *sys.argv[1:]])
umask = os.umask(0)
os.umask(umask)
asked = {{"arguments": sys.argv[1:], "env": dict(os.environ), "folder": os.getcwd(), "umask": umask}}
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
    server.connect({address!r})
    socket.send_fds(server, [json.dumps(asked).encode()], [0, 1, 2])
    code = int(server.recv(64))
sys.exit(code if code >= 0 else 128 - code)
"""
_MOST = 2**18


def put_command(folder: Path) -> None:
    """Write the command into a folder, for the PATH of a shell."""
    command = folder / "gatewall"
    command.write_text(_CLIENT.format(python=sys.executable, manage=str(BASE / "manage.py"), address=_address()))
    command.chmod(0o755)


@cache
def _address() -> str:
    """Return the address at which this test process receives the calls."""
    address = str(Path(tempfile.mkdtemp(prefix="gatewall-typed-")) / "socket")
    server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    server.bind(address)
    server.listen()
    threading.Thread(target=_serve, args=(server,), daemon=True).start()
    return address


def _serve(server: socket.socket) -> None:
    while True:
        connection, _ = server.accept()
        threading.Thread(target=_answer, args=(connection,), daemon=True).start()


def _answer(connection: socket.socket) -> None:
    with connection:
        text, files, _, _ = socket.recv_fds(connection, _MOST, 3)
        asked: dict[str, Any] = {**json.loads(text), "code": "", "own_session": False}
        process = Forked(asked, files)
        for file in files:
            os.close(file)
        connection.send(str(process.wait(PATIENCE)).encode())
