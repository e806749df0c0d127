"""systemctl, systemd-run and journalctl for a host without systemd: they run its installed units.

A service has a supervisor, which restarts it by Restart= and writes its output to a file, which journalctl prints.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import FrameType

if __package__ in {None, ""}:
    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.deploy.host import units

STATE = Path("/run/units")
JOURNAL = Path("/var/log/journal-of-units")
_PATIENCE = 60.0


def systemctl(*words: str) -> int:
    """Start, stop or restart units, or a target of them."""
    verb, *names = [word for word in words if not word.startswith("-")]
    if verb == "daemon-reload" or (verb == "enable" and "--now" not in words):
        return 0
    wanted = units.in_order(member for name in names for member in _members(name))
    if verb in {"stop", "restart"}:
        for name in reversed(wanted):
            _stop(name)
    failed = [] if verb == "stop" else [name for name in wanted if not _start(name)]
    for name in failed:
        sys.stderr.write(f"Job for {name} failed. See journalctl -u {name}.\n")
    return int(bool(failed))


def systemd_run(*words: str) -> int:
    """Run a command with the properties of a unit, in the foreground."""
    split = next(number for number, word in enumerate(words) if not word.startswith("--"))
    unit: dict[str, list[str]] = {}
    for word in words[:split]:
        setting, equals, value = word.removeprefix("--property=").partition("=")
        if equals:
            unit.setdefault(setting, []).append(value)
    return units.spawn(unit, " ".join(map(_quoted, words[split:]))).wait()


def journalctl(*words: str) -> int:
    """Print the output of a unit: ``journalctl -u NAME``."""
    sys.stdout.write((JOURNAL / _full(words[-1])).read_text(errors="replace"))
    return 0


def supervise(name: str) -> int:
    """Run a service until it ends for good: by its Restart=, or by SIGTERM."""
    unit, stopped = units.read(name), False
    process: subprocess.Popen[bytes] | None = None

    def end(_number: int, _frame: FrameType | None) -> None:
        nonlocal stopped
        stopped = True
        if process is None or process.returncode is not None:
            sys.exit(0)
        process.terminate()

    signal.signal(signal.SIGTERM, end)
    while True:
        code = next(filter(None, (units.spawn(unit, each).wait() for each in unit.get("ExecStartPre", []))), 0)
        for command in unit["ExecStart"] if not code else []:
            with _ready_socket(name) as ready:
                with_socket = {**unit, "Environment": [f"NOTIFY_SOCKET={ready.getsockname()}"]}
                process = units.spawn(with_socket, command)
                _wait_until_ready(unit, process, ready, name)
            code = process.wait()
            if stopped:
                return code
            if code:
                break
        if units.one(unit, "Type") == "oneshot":
            return code
        (STATE / f"{name}.failed").touch()
        time.sleep(float(units.one(unit, "RestartSec", "0.1")))


def _ready_socket(name: str) -> socket.socket:
    path = STATE / f"{name}.notify"
    path.unlink(missing_ok=True)
    found = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    found.bind(str(path))
    path.chmod(0o777)
    found.settimeout(0.1)
    return found


def _wait_until_ready(
    unit: units.Settings, process: "subprocess.Popen[bytes]", ready: socket.socket, name: str
) -> None:
    told = units.one(unit, "Type") != "notify"
    while not told and process.poll() is None:
        with suppress(TimeoutError):
            told = b"READY=1" in ready.recv(4096).split(b"\n")
    if process.poll() is None:
        (STATE / f"{name}.ready").touch()


def _full(name: str) -> str:
    return name if "." in name else f"{name}.service"


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


def _members(name: str) -> list[str]:
    if name.endswith(".target"):
        return " ".join(units.read(name)["Wants"]).split()
    return [_full(name)]


def _start(name: str) -> bool:
    """Start a service; return True once it is ready, or has succeeded if it is oneshot."""
    for folder in (STATE, JOURNAL):
        folder.mkdir(exist_ok=True)
    for mark in ("ready", "failed"):
        (STATE / f"{name}.{mark}").unlink(missing_ok=True)
    with (JOURNAL / name).open("ab") as journal:
        process = subprocess.Popen(
            [sys.executable, __file__, "supervise", name],
            stdin=subprocess.DEVNULL, stdout=journal, stderr=journal, start_new_session=True,
        )  # fmt: skip
    (STATE / f"{name}.pid").write_text(str(process.pid))
    if units.one(units.read(name), "Type") == "oneshot":
        return process.wait(_PATIENCE) == 0
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        if (STATE / f"{name}.ready").exists():
            return True
        if (STATE / f"{name}.failed").exists() or process.poll() is not None:
            return False
        time.sleep(0.05)
    return False


def _stop(name: str) -> None:
    """Stop a service and wait for its end."""
    path = STATE / f"{name}.pid"
    if not path.exists():
        return
    number = int(path.read_text())
    path.unlink()
    with suppress(ProcessLookupError):
        os.kill(number, signal.SIGTERM)
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            os.kill(number, 0)
            time.sleep(0.05)
        raise AssertionError(f"{name} does not stop")


if __name__ == "__main__":
    sys.exit({f.__name__: f for f in (systemctl, systemd_run, journalctl, supervise)}[sys.argv[1]](*sys.argv[2:]))
