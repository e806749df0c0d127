"""Owner of an agent's lock, for tests that wait for one."""

from pathlib import Path

from gatewall.snapshot.host_paths import run_folder


def leads(home: Path, process: int) -> bool:
    """Return whether this process is the host's leading agent; others hold the lock only briefly (``/proc/locks``)."""
    try:
        inode = (run_folder(home) / "agent.lock").stat().st_ino
    except FileNotFoundError:
        return False
    locks = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    return any(lock[1] == "FLOCK" and lock[4] == str(process) and lock[5].endswith(f":{inode}") for lock in locks)
