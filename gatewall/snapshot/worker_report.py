"""What each worker of this host has loaded, told to the agent through one small file a worker. Pure."""

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from gatewall.engine.snapshot import PolicySnapshot


@dataclass(frozen=True, slots=True)
class WorkerState:
    """A worker process, the policy it decides with, and why it refused a newer one (empty: it did not)."""

    pid: int
    revision: int
    rejected: str = ""
    reloads: int = 0


class WorkerReport:
    """Writes the state of this process whenever its policy changes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._revision = self._reloads = 0

    def loaded(self, policy: PolicySnapshot, *, reloaded: bool) -> None:
        """Report the revision that is in memory now."""
        self._revision, self._reloads = policy.version.revision, policy.version.reloads
        self._write("")

    def rejected(self, why: str) -> None:
        """Report that a newer policy was refused."""
        self._write(why)

    def _write(self, rejected: str) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._folder / str(os.getpid())
        temporary = path.with_suffix(".new")
        state = WorkerState(os.getpid(), self._revision, rejected[:200], self._reloads)
        temporary.write_text(json.dumps(asdict(state)))
        temporary.replace(path)


def living_workers(folder: Path) -> list[WorkerState]:
    """Return the states of the workers that live; what the dead left is removed."""
    states = []
    for path in sorted(folder.glob("*")) if folder.is_dir() else []:
        pid = path.stem
        if not (pid.isdecimal() and _lives(int(pid))):
            path.unlink(missing_ok=True)
        elif path.suffix != ".new":
            with suppress(OSError, ValueError, TypeError):
                states.append(WorkerState(**json.loads(path.read_bytes())))
    return states


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True  # under another user
    except (OSError, OverflowError):
        return False
    return pid > 0  # 0 is this process group
