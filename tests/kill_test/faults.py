"""Faults of a host under load: each is injected, reverted, and waited for."""

import itertools
import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from audit.spool.frames import frames
from audit.spool.segments import is_being_written, segment_files, segment_of
from tests.kill_test.account import StoredLog
from tests.kill_test.disk import SmallDisk
from tests.kill_test.stage import Stage
from tests.kill_test.visitors import Visitors
from tests.postgres import Server
from tests.support.processes import wait_until


@dataclass(frozen=True)
class Scene:
    """A host and its components that can fail. Without a server, its database is SQLite."""

    stage: Stage
    stored_log: StoredLog
    visitors: Visitors
    choice: random.Random
    small_disk: SmallDisk | None = None
    server: Server | None = None
    longest_outage: float = 7

    @property
    def disk(self) -> SmallDisk:
        """Return the disk of the spool, if it has its own."""
        assert self.small_disk is not None
        return self.small_disk


def a_worker_of_the_data_plane(scene: Scene) -> None:
    wait_until(lambda: scene.stage.kill_worker("auth", scene.choice), what="a worker that may be killed")
    time.sleep(scene.choice.uniform(0, 0.5))


def a_worker_of_the_control_plane(scene: Scene) -> None:
    scene.stage.kill_worker("control", scene.choice)
    time.sleep(scene.choice.uniform(0, 0.5))


def both_workers_of_the_control_plane(scene: Scene) -> None:
    for worker in scene.stage.workers("control"):
        scene.stage.kill_process(worker)


def a_worker_of_each_plane(scene: Scene) -> None:
    for plane in ("auth", "control"):
        scene.stage.kill_worker(plane, scene.choice)
        time.sleep(scene.choice.uniform(0, 0.3))


def the_agent(scene: Scene) -> None:
    scene.stage.kill("agent")
    scene.stage.start("agent")
    time.sleep(scene.choice.uniform(0, 0.5))


def the_agent_before_its_commit(scene: Scene) -> None:
    _agent_dies(scene, "before-commit")


def the_agent_after_its_commit(scene: Scene) -> None:
    _agent_dies(scene, "after-commit")


def the_agent_between_commit_and_unlink(scene: Scene) -> None:
    _agent_dies(scene, "before-unlink", _finish_a_segment)


def the_agent_after_unlink(scene: Scene) -> None:
    _agent_dies(scene, "after-unlink", _finish_a_segment)


def the_agent_between_aside_and_commit(scene: Scene) -> None:
    _damage(scene, 1)
    scene.stage.agent_dies("after-aside")
    scene.stage.start("agent")


def the_master_of_the_data_plane(scene: Scene) -> None:
    scene.stage.kill("auth")
    scene.stage.start("auth")


def the_master_of_the_control_plane(scene: Scene) -> None:
    scene.stage.kill("control")
    scene.stage.start("control")


def everything(scene: Scene) -> None:
    for name in ("auth", "control", "agent"):
        scene.stage.kill(name)
    scene.stage.start("auth", "control", "agent")


def database_gone(scene: Scene) -> None:
    """Lock the database (SQLite), or stop its server immediately (PostgreSQL)."""
    with _without_database(scene):
        _visit_for(scene, scene.choice.uniform(2, scene.longest_outage))


def database_hangs(scene: Scene) -> None:
    """Suspend all processes of the server; with SQLite, writers wait for the lock."""
    with scene.server.hanging() if scene.server else _without_database(scene):
        _visit_for(scene, scene.choice.uniform(2, scene.longest_outage))


def disk_full(scene: Scene) -> None:
    scene.disk.fill()
    _visit_for(scene, 2)
    scene.disk.free()


def disk_full_and_workers_killed(scene: Scene) -> None:
    scene.disk.fill()
    _visit_for(scene, 1)
    for plane in ("auth", "control"):
        scene.stage.kill_worker(plane, scene.choice)
    _visit_for(scene, 2)
    scene.disk.free()


def disk_full_without_database(scene: Scene) -> None:
    with _without_database(scene):
        scene.disk.fill()
        _visit_for(scene, 2)
        for plane in ("auth", "control"):
            scene.stage.kill_worker(plane, scene.choice)
        _visit_for(scene, 2)
    scene.disk.free()


def disk_full_and_everything_killed(scene: Scene) -> None:
    scene.disk.fill()
    _visit_for(scene, 1)
    for name in ("auth", "control", "agent"):
        scene.stage.kill(name)
    scene.stage.start("auth", "control")
    _visit_for(scene, 1)
    scene.stage.start("agent")
    scene.disk.free()


def disk_read_only(scene: Scene) -> None:
    """Make the disk read-only: only possible without writers, so the planes start on a read-only disk."""
    scene.stage.stop("auth", "control")
    scene.disk.remount("ro")
    scene.stage.start("auth", "control")
    _visit_for(scene, 2)
    scene.disk.remount("rw")


def bits_flipped(scene: Scene) -> None:
    _damage(scene, 5)
    scene.stage.start("agent")


KILLS: dict[Callable[[Scene], None], int] = {
    a_worker_of_each_plane: 12,
    a_worker_of_the_data_plane: 50,
    a_worker_of_the_control_plane: 6,
    both_workers_of_the_control_plane: 6,
    the_agent: 6,
    the_agent_before_its_commit: 2,
    the_agent_after_its_commit: 2,
    the_agent_between_commit_and_unlink: 2,
    the_agent_after_unlink: 1,
    the_agent_between_aside_and_commit: 1,
    the_master_of_the_data_plane: 2,
    the_master_of_the_control_plane: 2,
    everything: 1,
}
OTHERS: dict[Callable[[Scene], None], int] = {
    database_gone: 2,
    database_hangs: 1,
    disk_full: 2,
    disk_full_and_workers_killed: 2,
    disk_full_without_database: 1,
    disk_full_and_everything_killed: 1,
    disk_read_only: 1,
    bits_flipped: 1,
}
"""Faults and their weights."""


def _visit_for(scene: Scene, seconds: float) -> None:
    """Send requests for this time; they must be answered."""
    began = time.monotonic()
    scene.visitors.wait_for_more(20)
    time.sleep(max(0.0, began + seconds - time.monotonic()))


@contextmanager
def _without_database(scene: Scene) -> Iterator[None]:
    if scene.server is not None:
        scene.server.stop()
        try:
            yield
        finally:
            scene.server.start()
        return
    with closing(sqlite3.connect(scene.stage.home / "gatewall.sqlite3", timeout=60, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        try:
            yield
        finally:
            other.execute("ROLLBACK")


def _agent_dies(scene: Scene, step: str, prepare: Callable[[Scene], None] = lambda _: None) -> None:
    scene.stage.kill("agent")
    prepare(scene)
    scene.stage.agent_dies(step)
    scene.stage.start("agent")


def _finish_a_segment(scene: Scene) -> None:
    """Kill workers until a segment is complete; no agent runs."""
    _visit_for(scene, 0.5)
    for plane in ("control", "control", "auth", "auth"):
        scene.stage.kill_worker(plane, scene.choice)
        if not all(is_being_written(path) for path in segment_files(scene.stored_log.spool)):
            return
    scene.stage.kill("auth")
    scene.stage.start("auth")


def _damage(scene: Scene, number: int) -> None:
    """Damage this many records in each unshipped file, no two adjacent; leaves no agent running."""
    scene.stage.kill("agent")
    _visit_for(scene, 1)
    scene.stage.kill("auth")
    damaged = sum(_flip(scene, path, number) for path in segment_files(scene.stored_log.spool))
    scene.stage.start("auth")
    assert damaged, "nothing was there to be damaged"


def _flip(scene: Scene, path: Path, number: int) -> int:
    segment = segment_of(path)
    if segment is None:
        return 0
    told = scene.stored_log.ask(
        "SELECT position FROM audit_spoolsegment WHERE id = ?", scene.stored_log.key(segment.id)
    )
    start = told[0][0] if told else segment.first
    data = bytearray(path.read_bytes())
    ends = [start, *(start + frame.end for frame in frames(bytes(data[start:]), 0))]
    whole = list(itertools.pairwise(ends))[:-1:2]  # the last one's length has no next record to check it
    for begin, end in scene.choice.sample(whole, min(number, len(whole))):
        data[scene.choice.randrange(begin, end)] ^= 1 << scene.choice.randrange(8)
    _write_over(path, bytes(data))
    return min(number, len(whole))


def _write_over(path: Path, data: bytes) -> None:
    """Overwrite bytes of a file that may be open elsewhere, keeping its length."""
    with path.open("r+b") as file:
        file.write(data)
