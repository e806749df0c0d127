"""Backtests in several processes: the same result, and a clear end if a process dies."""

import os
import signal
import time
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path

import pytest
from django.conf import settings
from django.db import OperationalError, connections
from django.utils import timezone

from audit.models import AccessLog
from gatewall.policy import revisions
from gatewall.whatif.backtest import running, runs, window, workers
from gatewall.whatif.backtest.models import Backtest, State
from policies import services
from tests.integration.backtests import BLOCK, asked
from tests.support.cast import CLIENT, OFFICE
from tests.support.processes import wait_until
from tests.support.records import a_record
from tests.support.spool_shipping import shipped

BEGIN = 1_770_000_000
WINDOW = {"start": datetime.fromtimestamp(BEGIN, UTC), "end": datetime.fromtimestamp(BEGIN + 1000, UTC)}
ROWS = 95


@pytest.fixture
def log(transactional_db, monkeypatch):
    """Store a log of several slices: anonymous requests of many clients to a public host."""
    monkeypatch.setattr(window, "PIECE", 4)
    monkeypatch.setattr(window, "SLICE", 10)
    monkeypatch.setattr(running, "_BEAT_SECONDS", 0.0)
    services.register_domain(actor="", name=OFFICE, access="public", seed=True)
    answer = {"status": 200, "outcome": "allow", "reason": "host-public", "decided_by": None, "rules": []}
    revision = revisions.current().revision
    shipped(
        settings.GATEWALL_HOME / "spool",
        [
            a_record(
                number,
                at=BEGIN + number,
                client_ip=CLIENT if number % 3 else "192.0.2.9",
                path=f"/{number % 7}",
                subject=None,
                credential=None,
                policy_revision=revision,
                **answer,
            )
            for number in range(ROWS)
        ],
    )


def ran(monkeypatch, *, processes=3):
    """Return a backtest that this many processes have run."""
    monkeypatch.setattr(workers, "number_of_processes", lambda _: processes)
    run = asked(BLOCK, **WINDOW)
    claimed = runs.claim_run(run, timezone.now())
    is_finished = running.run(claimed)
    run.refresh_from_db()
    assert is_finished == (run.state == State.FINISHED)
    return run


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def children():
    """Return the ids of the living children of this process."""
    return [int(each) for each in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]


def test_the_result_does_not_depend_on_the_number_of_processes(log, monkeypatch):
    finished = [ran(monkeypatch, processes=number) for number in (1, 2, 3, 20)]

    first, *others = [{**run.result, "seconds": 0} for run in finished]
    assert (first["read"], first["changed"], first["untouched"]) == (ROWS, 63, 32)
    assert len(first["access"]["anonymous"]["results"]) == 7
    assert others == [first] * 3
    assert [(run.done, run.total) for run in finished] == [(ROWS, ROWS)] * 4


def test_a_window_of_many_slices_uses_several_processes_and_one_slice_this_one(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)))

    assert [workers.number_of_processes(tasks) for tasks in (0, 1, 2, 500)] == [1, 1, 2, 4]
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 5})
    assert workers.number_of_processes(500) == 2


def in_slice(number, act):
    """Return a reader of slices that calls ``act`` before the third piece of one of them."""
    usual = window.pieces

    def pieces(part):
        for place, piece in enumerate(usual(part)):
            if place == 2 and part.after and part.after.at.timestamp() == BEGIN + ROWS - 10 * number:
                act()
            yield piece

    return pieces


def raises(error):
    def act():
        raise error

    return act


@pytest.mark.parametrize(
    ("act", "failure"),
    [
        (
            raises(OperationalError("the disk is full")),
            "a worker process failed: OperationalError: the disk is full",
        ),
        (raises(KeyError("GET /private?token=1")), "a worker process failed: KeyError"),
        (
            lambda: os.kill(os.getpid(), signal.SIGKILL),
            "a worker process ended early (exit code -9)",
        ),
        (lambda: os._exit(3), "a worker process ended early (exit code 3)"),
    ],
    ids=["an error of the database", "another error", "killed", "exits"],
)
def test_a_worker_that_fails_fails_the_backtest_and_ends_the_others(log, monkeypatch, capfd, act, failure):
    before = children()
    monkeypatch.setattr(window, "pieces", in_slice(4, act))

    run = ran(monkeypatch)

    assert (run.state, run.failure, run.result) == (State.FAILED, failure, None)
    assert set(children()) <= set(before)


def test_sigterm_to_a_worker_does_not_fail_the_backtest(log, monkeypatch):
    monkeypatch.setattr(window, "pieces", in_slice(4, lambda: os.kill(os.getpid(), signal.SIGTERM)))

    assert ran(monkeypatch).result["read"] == ROWS  # the agent queues a backtest again that has not failed


def test_a_backtest_that_is_deleted_ends_its_workers(log, monkeypatch):
    before = children()
    monkeypatch.setattr(window, "pieces", in_slice(2, lambda: (Backtest.objects.all().delete(), time.sleep(300))))
    monkeypatch.setattr(workers, "number_of_processes", lambda _: 3)
    claimed = runs.claim_run(asked(BLOCK, **WINDOW), timezone.now())

    assert not running.run(claimed)

    assert not Backtest.objects.exists()
    assert set(children()) <= set(before)


def test_workers_die_with_the_process_that_started_them(tmp_path):
    def sleeps(number, report):
        (tmp_path / str(os.getpid())).touch()
        time.sleep(300)

    def parent():
        list(workers.results_of(3, sleeps, processes=3, on_progress=lambda _: None))

    connections.close_all()
    process = get_context("fork").Process(target=parent)
    process.start()
    wait_until(lambda: len([*tmp_path.iterdir()]) == 3, what="three workers")
    pids = [int(path.name) for path in tmp_path.iterdir()]
    assert all(map(is_alive, pids))

    process.kill()
    process.join()

    wait_until(lambda: not any(map(is_alive, pids)), what="the end of the workers")


@pytest.mark.parametrize("processes", [1, 2])
def test_rows_that_arrive_do_not_push_the_progress_beyond_its_total(log, monkeypatch, processes):
    beats, usual, cut = [], runs.beat, window.slices
    monkeypatch.setattr(runs, "beat", lambda claim, **progress: (beats.append(progress), usual(claim, **progress))[1])

    def late(*span):
        parts = cut(*span)
        shipped(
            settings.GATEWALL_HOME / "later", [a_record(500 + each, at=BEGIN + each / 2 + 0.1) for each in range(150)]
        )
        return parts

    monkeypatch.setattr(window, "slices", late)

    run = ran(monkeypatch, processes=processes)

    done = [progress["done"] for progress in beats if "done" in progress]
    assert max(done) == ROWS
    assert done == sorted(done)
    assert run.result["read"] == run.done == run.total == ROWS + 150
    assert AccessLog.objects.count() == ROWS + 150
