"""The disk of the spool is full or read-only: every answer has a row or is counted as dropped."""

import pytest

from tests.faults.log_scenes import a_disk, a_scene, wrong_after
from tests.kill_test import faults
from tests.kill_test.account import account_of
from tests.kill_test.visitors import Ledger, Visitors
from tests.support.processes import wait_until
from tests.support.servers import Admin


@pytest.fixture(scope="module")
def scene(copied):
    home, token = copied()
    with a_disk(home / "spool") as disk, a_scene(home, token, disk=disk) as scene:
        yield scene


def figures(scene):
    """Return the numbers of answers, rows and recorded losses so far, without load."""
    scene.stored_log.settle()
    account = account_of(scene.visitors.ledger, scene.stored_log)
    return account.answers, account.rows, account.told["dropped"]


def test_on_a_full_disk_visitors_are_answered_and_dropped_records_are_counted_exactly(scene):
    before = figures(scene)

    wrong = wrong_after(scene, faults.disk_full)

    answers, rows, dropped = (after - earlier for after, earlier in zip(figures(scene), before, strict=True))
    assert wrong == []
    assert dropped > 0
    assert answers == rows + dropped


@pytest.mark.parametrize(
    "fault",
    [
        faults.disk_full_and_workers_killed,
        faults.disk_read_only,
        pytest.param(faults.disk_full_without_database, marks=pytest.mark.full),
        pytest.param(faults.disk_full_and_everything_killed, marks=pytest.mark.full),
    ],
)
def test_dropped_records_are_counted_exactly_whatever_else_fails(scene, fault):
    assert wrong_after(scene, fault) == []


def statuses(scene, answers=60):
    """Return the statuses of answers to visitors from now on."""
    ledger = Ledger()
    ports = [scene.stage.auth, scene.stage.control]
    with Visitors(ledger, ports, scene.visitors.right[:1], rate=60) as visitors:
        visitors.wait_for_more(answers)
    scene.visitors.ledger.answers.update(ledger.answers)
    return set(ledger.answers.values())


def test_in_strict_mode_requests_get_503_only_while_the_disk_is_full(scene):
    admin = Admin(scene.stage.control)
    admin.put("/system/settings", audit_mode="strict")
    try:
        scene.disk.fill()
        # A worker goes on answering until the last block of its spool file is used up.
        wait_until(lambda: statuses(scene) == {503}, what="no answers")
        scene.disk.free()
        wait_until(lambda: statuses(scene) == {200}, what="answers again")
    finally:
        scene.disk.free()
        admin.put("/system/settings", audit_mode="best-effort")


@pytest.mark.parametrize(("environment", "outcome"), [({"CI": "true"}, pytest.fail), ({}, pytest.skip)])
def test_without_a_mounted_disk_ci_fails_and_other_machines_skip(tmp_path, environment, outcome):
    with pytest.raises(outcome.Exception, match="NOT RUN"), a_disk(tmp_path / "spool", environment, size="much"):
        pass
