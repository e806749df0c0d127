"""Who publishes on a host without an agent: one process of the control plane, and only as long as there is none."""

import logging

import pytest
from django.conf import settings
from django.db import OperationalError

from gatewall import revisions
from gatewall.snapshot.places import policy_files, run_folder
from gatewall.snapshot.standby import Standby
from gatewall.snapshot.wake import AgentLock, StandbyLock
from policies import services

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def run():
    return run_folder(settings.CONFIG.home)


@pytest.fixture
def standby(run):
    return Standby(policy_files(settings.CONFIG), run)


@pytest.fixture
def change():
    """Make a change as another host does: this one is not told of it."""
    before = list(revisions._hook)
    revisions.call_after_commit(lambda _version: True)
    yield lambda last: services.block_network(actor="alice", network=f"203.0.113.{last}")
    revisions.call_after_commit(*before)


def published_revision():
    manifest = policy_files(settings.CONFIG).manifest()
    return manifest.version.revision if manifest else 0


def test_what_another_host_changed_is_published_while_no_agent_leads(standby, change):
    change(7)

    stood_in = standby.turn()

    assert (stood_in, published_revision()) == (True, 1)


def test_every_change_is_published_while_no_agent_leads(standby, change):
    for last in (7, 8):
        change(last)
        standby.turn()

    assert published_revision() == 2


@pytest.mark.parametrize("lock", [AgentLock, StandbyLock], ids=["an agent leads", "another process stands in"])
def test_nothing_is_published_while_somebody_else_does(standby, change, run, lock):
    change(7)
    with lock(run).held():
        stood_in = standby.turn()

    assert (stood_in, published_revision()) == (False, 0)


def test_an_agent_that_starts_finds_its_lock_free(standby, change, run):
    change(7)

    standby.turn()

    with AgentLock(run).held() as ours:
        assert ours


def test_a_manifest_that_is_gone_is_published_again(standby, change):
    change(7)
    standby.turn()
    (settings.CONFIG.home / "policy" / "current").unlink()

    standby.turn()

    assert published_revision() == 1


def test_nothing_is_read_but_the_version_while_nothing_changes(standby, change, django_assert_num_queries):
    change(7)
    standby.turn()

    with django_assert_num_queries(1):
        standby.turn()


def test_a_policy_that_did_not_change_is_confirmed_all_the_same(standby, change):
    confirmations = policy_files(settings.CONFIG).confirmations
    change(7)
    standby.turn()
    before = confirmations.last()

    standby.turn()

    assert confirmations.last() > before


def test_a_problem_is_logged_once_and_its_end(standby, change, monkeypatch, caplog):
    def away():
        raise OperationalError("away")

    change(7)
    with caplog.at_level(logging.INFO, "gatewall.snapshot.standby"):
        with monkeypatch.context() as patch:
            patch.setattr("gatewall.snapshot.standby.publish", lambda _files: away())
            standby.turn()
            standby.turn()
        standby.turn()

    assert [record.levelname for record in caplog.records] == ["ERROR", "INFO"]
    assert "OperationalError" in caplog.records[0].message
    assert published_revision() == 1


def test_its_thread_goes_on_after_a_folder_of_locks_that_cannot_be_used(standby, change, monkeypatch):
    turns = []

    def broken():
        turns.append(1)
        if len(turns) == 3:
            standby.close()
        raise PermissionError("no")

    monkeypatch.setattr("gatewall.snapshot.standby._EVERY_SECONDS", 0)
    monkeypatch.setattr(standby, "turn", broken)

    standby._look()

    assert len(turns) == 3
