"""Announcement of a change: whether it is in force on this host or pending when the writer is answered."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest
from django.conf import settings
from django.db import connection

from gatewall.policy import revisions
from gatewall.publication import announcement
from gatewall.snapshot.host_paths import policy_files, run_folder
from gatewall.snapshot.notification import AgentLock
from gatewall.snapshot.published import PublishedPolicies
from gatewall.snapshot.worker_report import WorkerReport, workers_folder
from policies import rows, services
from tests.support.processes import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def hook():
    """Return a function that replaces the publisher's hook for one test."""
    before = list(revisions._hook)
    yield revisions.call_after_commit
    revisions.call_after_commit(*before)


def broken(_version):
    raise OSError("no room for the lock file")


@pytest.mark.parametrize(
    ("answer", "pending"),
    [(lambda _: True, False), (lambda _: False, True), (broken, True)],
    ids=["yes", "no", "fails"],
)
def test_change_is_pending_unless_the_hook_reports_it_in_force(hook, answer, pending):
    hook(answer)

    services.block_network(actor="alice", network="203.0.113.7")

    assert revisions.publication_is_pending() is pending


def test_change_of_several_segments_is_announced_once(hook):
    asked = []
    hook(lambda version: asked.append(version) or True)

    services.register_domain(actor="alice", name="a.example", access="public")  # also changes the settings

    assert len(asked) == 1


def test_every_change_is_announced(hook):
    asked = []
    hook(lambda version: asked.append(version.revision) or True)

    services.block_network(actor="alice", network="203.0.113.7")
    services.block_network(actor="alice", network="203.0.113.8")

    assert asked == [1, 2]


def test_a_rolled_back_change_does_not_suppress_the_next_announcement(hook):
    asked = []
    hook(lambda version: asked.append(version.revision) or True)
    services.block_network(actor="alice", network="203.0.113.7")
    with pytest.raises(rows.Duplicate):
        services.block_network(actor="alice", network="203.0.113.7")

    services.block_network(actor="alice", network="203.0.113.8")

    assert asked == [1, 2]


class Worker:
    """A data plane worker in this process that looks for new policy on demand."""

    def __init__(self):
        self.report = WorkerReport(workers_folder(run_folder(settings.CONFIG.home)))
        self.policies = PublishedPolicies(policy_files(settings.CONFIG), self.report)
        self.policies.refresh()


@pytest.fixture
def worker(db):
    services.block_network(actor="alice", network="203.0.113.1")
    return Worker()


def write_in_a_thread():
    """Start a write; return its thread and the list that gets whether it is pending."""
    pending = []

    def write():
        services.block_network(actor="alice", network="203.0.113.7")
        pending.append(revisions.publication_is_pending())
        connection.close()

    thread = threading.Thread(target=write)
    thread.start()
    return thread, pending


def is_published(number):
    return policy_files(settings.CONFIG).manifest().version.revision == number


def test_a_write_waits_until_each_worker_has_it(worker, monkeypatch):
    monkeypatch.setattr(announcement, "_WAIT_SECONDS", 120.0)
    other = Worker()
    thread, pending = write_in_a_thread()
    wait_until(lambda: is_published(2), what="the publication")
    worker.policies.refresh()
    thread.join(0.2)
    assert thread.is_alive()

    other.policies.refresh()
    thread.join()

    assert pending == [False]


def test_a_write_is_pending_when_a_worker_does_not_take_it_in_time(worker, monkeypatch, caplog):
    monkeypatch.setattr(announcement, "_WAIT_SECONDS", 0.1)

    services.block_network(actor="alice", network="203.0.113.7")

    assert revisions.publication_is_pending()
    assert f"not taken by worker {os.getpid()} yet" in caplog.text


def test_a_sign_out_waits_for_workers_as_well(worker, monkeypatch, alice):
    worker.policies.refresh()
    monkeypatch.setattr(announcement, "_WAIT_SECONDS", 0)

    with revisions.transaction.atomic():
        revisions.advance_revocations()

    assert revisions.publication_is_pending()


def test_a_write_does_not_wait_for_a_worker_that_refuses_the_policy(worker, monkeypatch):
    monkeypatch.setattr(announcement, "_WAIT_SECONDS", 3600.0)
    worker.report.rejected("schema 2, not 1")

    services.block_network(actor="alice", network="203.0.113.7")

    assert revisions.publication_is_pending()


CODE = (
    "import sys; from pathlib import Path\n"
    "from gatewall.snapshot.worker_report import WorkerReport\n"
    "from tests.support.cast import a_policy\n"
    "WorkerReport(Path(sys.argv[1])).loaded(a_policy()); print('told', flush=True); sys.stdin.read()"
)


@pytest.fixture
def process(db):
    """Run a worker in a process of its own that stays at revision 1."""
    services.block_network(actor="alice", network="203.0.113.1")
    command = [sys.executable, "-c", CODE, str(workers_folder(run_folder(settings.CONFIG.home)))]
    base = Path(__file__).resolve().parents[2]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=base) as running:
        assert running.stdout.readline() == b"told\n"
        yield running
        running.kill()


def test_a_stopped_worker_makes_each_write_pending(process, monkeypatch):
    monkeypatch.setattr(announcement, "_WAIT_SECONDS", 0.1)
    process.send_signal(signal.SIGSTOP)

    services.block_network(actor="alice", network="203.0.113.7")

    assert revisions.publication_is_pending()


def test_a_worker_that_dies_is_not_waited_for_any_longer(process, monkeypatch):
    monkeypatch.setattr(announcement, "_WAIT_SECONDS", 3600.0)
    thread, pending = write_in_a_thread()
    thread.join(0.2)
    assert thread.is_alive()

    process.kill()
    thread.join()

    assert pending == [False]


def test_publication_and_workers_share_the_two_seconds(worker, monkeypatch):
    waited = []
    monkeypatch.setattr(
        announcement.FolderWatch, "wait", lambda _, seconds: (waited.append(seconds), time.sleep(seconds))
    )
    monkeypatch.setattr(announcement, "_WAIT_SECONDS", 0.2)
    with AgentLock(run_folder(settings.CONFIG.home)).held():
        services.block_network(actor="alice", network="203.0.113.7")

    assert sum(waited) <= 0.2


def test_a_write_leaves_no_file_open(worker, monkeypatch):
    monkeypatch.setattr(announcement, "_WAIT_SECONDS", 0)
    before = psutil.Process().num_fds()

    for last in range(3):
        services.block_network(actor="alice", network=f"203.0.113.{last + 10}")

    assert psutil.Process().num_fds() <= before  # can be fewer: those of an earlier test were closed meanwhile
