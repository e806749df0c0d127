"""Twenty simultaneous reloads are compiled once, by the agent or by one of the callers."""

import threading

import pytest
from django.conf import settings
from django.db import connection

from gatewall.agent.agent import Agent
from gatewall.agent.log_shipper import LogShipper
from gatewall.policy import revisions
from gatewall.publication.standby import Standby
from gatewall.snapshot.files import PolicyFiles
from gatewall.snapshot.host_paths import policy_files, run_folder
from gatewall.snapshot.notification import AgentLock
from tests.support.processes import wait_until

pytestmark = pytest.mark.django_db(transaction=True)
RELOADS = 20


@pytest.fixture
def files():
    return policy_files(settings.CONFIG)


@pytest.fixture
def published(monkeypatch):
    """Return a list of the number of reloads of each published manifest."""
    found = []
    before = PolicyFiles.publish
    monkeypatch.setattr(
        PolicyFiles, "publish", lambda self, manifest: (found.append(manifest.version.reloads), before(self, manifest))
    )
    return found


def demand_all():
    """Request reloads at the same time, each from a thread; return the threads."""

    def demand():
        revisions.demand_reload()
        connection.close()

    threads = [threading.Thread(target=demand) for _ in range(RELOADS)]
    for thread in threads:
        thread.start()
    return threads


def test_reloads_requested_while_the_agent_compiles_are_one_compilation(files, published, monkeypatch):
    monkeypatch.setattr("gatewall.publication.announcement._WAIT_SECONDS", 0)
    run = run_folder(settings.CONFIG.home)
    agent = Agent(files, run, "here", LogShipper(settings.CONFIG.home / "spool"))
    with AgentLock(run).held():
        with files.publishing():  # as a process does that compiles
            for thread in demand_all():
                thread.join()

        agent.turn()
        agent.turn()

    assert published == [revisions.current().reloads]


def test_without_an_agent_one_of_them_compiles_for_all(files, published, monkeypatch):
    committed = []
    monkeypatch.setattr(revisions, "_announce", lambda before=revisions._announce: (committed.append(1), before()))
    with files.publishing():
        threads = demand_all()
        wait_until(lambda: len(committed) == RELOADS, what="twenty commits")
    for thread in threads:
        thread.join()

    Standby(files, run_folder(settings.CONFIG.home)).turn()

    assert published == [files.manifest().version.reloads] == [revisions.current().reloads]
