"""Processes are killed under load, on SQLite: each answer has one row, whichever process died at which point."""

import pytest

from tests.faults.log_scenes import a_scene, wrong_after
from tests.kill_test import faults

SHORT = (
    (faults.a_worker_of_each_plane, faults.the_agent_before_its_commit),
    (faults.the_agent_between_commit_and_unlink,),
    (faults.everything,),
)
LONG = (
    (faults.the_agent_between_aside_and_commit,),
    (faults.the_agent, faults.the_agent_after_its_commit, faults.the_agent_after_unlink),
    (faults.both_workers_of_the_control_plane, faults.a_worker_of_the_data_plane),
    (faults.the_master_of_the_data_plane, faults.the_master_of_the_control_plane),
)


def named(killed):
    return ", ".join(fault.__name__ for fault in killed)


@pytest.fixture(scope="module")
def scene(copied):
    home, token = copied()
    with a_scene(home, token) as scene:
        yield scene


@pytest.mark.parametrize(
    "killed",
    [
        *(pytest.param(killed, id=named(killed)) for killed in SHORT),
        *(pytest.param(killed, id=named(killed), marks=pytest.mark.full) for killed in LONG),
    ],
)
def test_each_answer_has_one_row_although_something_was_killed(scene, killed):
    assert wrong_after(scene, *killed) == []


def test_each_answer_has_one_row_although_the_database_was_locked(scene):
    assert wrong_after(scene, faults.database_gone) == []


def test_damaged_records_are_counted_exactly_and_quarantined(scene):
    before = len(list(scene.stored_log.spool.glob("*.aside")))

    assert wrong_after(scene, faults.bits_flipped) == []

    damaged = sum(count for kind, count, _at in scene.stored_log.gaps() if kind == "damaged")
    assert len(list(scene.stored_log.spool.glob("*.aside"))) - before >= 3
    assert damaged == len(list(scene.stored_log.spool.glob("*.aside")))


@pytest.mark.full  # tests/unit/test_spool_sync.py tests the order of the writes
def test_each_record_is_on_the_disk_first_with_sync(copied):
    home, token = copied()
    with a_scene(home, token, GATEWALL_SPOOL_SYNC="1") as scene:
        assert wrong_after(scene, faults.a_worker_of_each_plane) == []
