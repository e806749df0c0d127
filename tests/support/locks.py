"""Who holds the lock of an agent, for tests that wait for one."""

from pathlib import Path

from gatewall.snapshot.places import run_folder


def leads(home: Path, process: int) -> bool:
    """True if this process is the agent that leads on a host; others hold the lock for moments (``/proc/locks``)."""
    try:
        inode = (run_folder(home) / "agent.lock").stat().st_ino
    except FileNotFoundError:
        return False
    locks = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    return any(lock[1] == "FLOCK" and lock[4] == str(process) and lock[5].endswith(f":{inode}") for lock in locks)
