"""Workers report their loaded policy to the agent, through one small locked file each (docs/adr/0038). Pure.

A lock shows that the worker is alive: process ids are not unique across containers.
"""

import fcntl
import json
import os
import secrets
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Lock

from gatewall.engine.snapshot import PolicySnapshot, Version
from gatewall.kernel.file_io import remove_if_forgotten


def workers_folder(run: Path) -> Path:
    """Return the folder of the workers' reports."""
    return run / "workers"


@dataclass(frozen=True, slots=True)
class WorkerState:
    """A worker process, the policy it uses (``epoch`` is empty before the first), and why it refused a newer one."""

    pid: int
    revision: int
    rejected: str = ""
    reloads: int = 0
    revocations: int = 0
    epoch: str = ""
    heads: dict[str, int] = field(default_factory=dict)
    """Figures of its memo of heads: ``hits`` and ``misses`` since it started, ``number`` and ``bytes`` of heads."""

    def has(self, version: Version) -> bool:
        """True if it uses this version or a later one of the same epoch."""
        return not version.supersedes(Version(self.revision, self.revocations, self.reloads, self.epoch))


class WorkerReport:
    """Writes the state of this process whenever its policy changes. Raises OSError and keeps the old report."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # Workers of two containers may have the same process id.
        self._path = folder / f"{os.getpid()}-{secrets.token_hex(4)}"
        self._version = Version(0)
        self._held: int | None = None
        self._rejected = ""
        self._heads: dict[str, int] = {}
        self._lock = Lock()

    def loaded(self, policy: PolicySnapshot) -> None:
        with self._lock:
            self._version, self._rejected = policy.version, ""
            self._write()

    def rejected(self, why: str) -> None:
        with self._lock:
            self._rejected = why[:200]
            self._write()

    def remembered(self, heads: dict[str, int]) -> None:
        """Report the figures of the memo of heads, with the policy reported last."""
        with self._lock:
            self._heads = heads
            self._write()

    def _write(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        version = self._version
        state = WorkerState(
            os.getpid(),
            version.revision,
            self._rejected,
            version.reloads,
            version.revocations,
            version.epoch,
            self._heads,
        )
        temporary = self._path.with_suffix(".new")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            # Locked before the rename makes it visible; no other process locks it under this name.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.write(descriptor, json.dumps(asdict(state)).encode())
            temporary.replace(self._path)
        except OSError:
            os.close(descriptor)  # the write is retried: without this, each try would leak a locked file
            temporary.unlink(missing_ok=True)
            raise
        if self._held is not None:
            os.close(self._held)
        self._held = descriptor


def living_workers(folder: Path) -> list[WorkerState]:
    """Return the states of living workers; remove the files of dead ones."""
    states = []
    for path in sorted(folder.glob("*")) if folder.is_dir() else []:
        with suppress(OSError, ValueError, TypeError):
            if path.suffix == ".new":
                remove_if_forgotten(path)
            elif _is_held(path):
                states.append(WorkerState(**json.loads(path.read_bytes())))
            else:
                path.unlink()
    return states


def _is_held(path: Path) -> bool:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        # The worker may have replaced its report since, and holds a lock on the new one.
        return path.stat().st_ino != os.fstat(descriptor).st_ino
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
