"""CPU time, run-queue wait and memory of a process tree, from /proc (Linux)."""

import os
from contextlib import suppress
from pathlib import Path

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def cpu_seconds(root: int) -> float:
    """Return the user and system seconds of a process and its living descendants."""
    return sum(_ticks(pid) for pid in process_tree(root)) / _TICKS_PER_SECOND


def scheduled(root: int) -> tuple[float, float]:
    """Return the seconds a process tree ran, and the seconds it was runnable without a CPU."""
    times = [scheduled_alone(pid) for pid in process_tree(root)]
    return sum(ran for ran, _ in times), sum(waited for _, waited in times)


def scheduled_alone(pid: int) -> tuple[float, float]:
    """Return the same for one process."""
    ran = waited = 0
    for path in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        fields = path.read_text().split()
        ran, waited = ran + int(fields[0]), waited + int(fields[1])
    return ran / 1e9, waited / 1e9


def proportional_mebibytes(pid: int) -> float:
    """Return the memory of a process; what it shares with others counts in part (PSS)."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def private_mebibytes(root: int) -> float:
    """Return the private memory of the largest process: anonymous, unshared pages."""
    return max(_anonymous(pid) for pid in process_tree(root)) / 1024


def _anonymous(pid: int) -> int:
    """Return the KiB of anonymous pages; mapped files are shared by all workers and not counted."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Anonymous:"))


def process_tree(root: int) -> list[int]:
    """Return a process and its living descendants."""
    pids = [root]
    for pid in pids:
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            with suppress(FileNotFoundError):  # the thread has ended
                pids.extend(int(child) for child in children.read_text().split())
    return pids


def _ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])  # utime and stime, proc(5)
