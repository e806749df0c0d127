"""The turns of the agent: publish committed changes, repair lost files, log each problem once."""

import logging
from datetime import timedelta

import pytest
import time_machine
from django.conf import settings
from django.core.management import call_command
from django.db import OperationalError
from django.utils import timezone

from gatewall.agent.agent import Agent
from gatewall.agent.log_shipper import LogShipper
from gatewall.engine.addresses import parse_address
from gatewall.kernel.clientip import Caller
from gatewall.models import Node, PendingConfirmation
from gatewall.policy import revisions
from gatewall.publication import announcement
from gatewall.snapshot.host_paths import policy_files, run_folder
from gatewall.snapshot.notification import AgentLock
from policies import services
from policies.models import AUTO_BAN, BlocklistEntry
from tests.support.cast import MOMENT

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def agent():
    files, run = policy_files(settings.CONFIG), run_folder(settings.CONFIG.home)
    with AgentLock(run).held():  # so that no writer publishes
        yield Agent(files, run, "here", LogShipper(settings.CONFIG.home / "spool"))


def published_revision():
    return policy_files(settings.CONFIG).manifest().version.revision


def a_committed_change(monkeypatch):
    monkeypatch.setattr("gatewall.publication.announcement._WAIT_SECONDS", 0)
    services.block_network(actor="alice", network="203.0.113.7")


def test_a_turn_publishes_committed_changes(agent, monkeypatch):
    a_committed_change(monkeypatch)

    agent.turn()

    assert published_revision() == 1


def over_for_days():
    past = timezone.now() - timedelta(days=2)
    BlocklistEntry.objects.create(network="203.0.113.9", source=AUTO_BAN, expires_at=past)


def not_confirmed():
    services.block_network(actor="alice", network="203.0.113.8")
    past = timezone.now() - timedelta(minutes=1)
    PendingConfirmation.objects.create(revision=1, previous=0, actor="alice", address="203.0.113.8", deadline=past)


@pytest.mark.parametrize("due", [over_for_days, not_confirmed])
def test_an_agent_does_not_wait_for_itself_after_its_own_changes(agent, monkeypatch, due):
    monkeypatch.setattr(announcement, "_WAIT_SECONDS", 0)
    due()
    monkeypatch.setattr(announcement, "_WAIT_SECONDS", 0.05)
    waited = []
    monkeypatch.setattr(announcement.FolderWatch, "wait", lambda _, seconds: waited.append(seconds))
    before = revisions.current().revision

    agent.turn()
    agent.turn()

    assert revisions.current().revision == before + 1
    assert published_revision() == before + 1
    assert waited == []


def test_turn_publishes_again_when_current_is_gone(agent, monkeypatch):
    a_committed_change(monkeypatch)
    agent.turn()
    (settings.CONFIG.home / "policy" / "current").unlink()

    agent.turn()

    assert published_revision() == 1


def test_turn_reports_the_node(agent, monkeypatch):
    a_committed_change(monkeypatch)

    agent.turn()

    node = Node.objects.get()
    assert (node.name, node.revision, node.problem) == ("here", 1, "")


@pytest.mark.parametrize(("options", "left"), [(["--forget-host"], ["other"]), ([], ["here", "other"])])
def test_an_ending_agent_deletes_the_row_of_its_host_if_the_option_is_set(monkeypatch, options, left):
    for name in ("here", "other"):
        Node.objects.create(name=name, seen_at=MOMENT, revision=1)
    monkeypatch.setenv("HOSTNAME", "here")
    monkeypatch.setattr(Agent, "lead", lambda *_: None)  # as after SIGTERM
    monkeypatch.setattr("signal.signal", lambda *_: None)

    call_command("agent", *options)

    assert sorted(Node.objects.values_list("name", flat=True)) == left


def test_an_agent_ends_even_if_the_row_of_its_host_cannot_be_deleted(monkeypatch):
    def gone(*_):
        raise OperationalError("away")

    monkeypatch.setattr(Agent, "lead", lambda *_: None)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr("gatewall.management.commands.agent.forget", gone)

    call_command("agent", "--forget-host")


def test_turn_reports_the_node_when_the_clock_was_set_back(agent):
    with time_machine.travel(MOMENT, tick=False) as clock:
        agent.turn()
        clock.shift(-timedelta(days=1))
        agent.turn()

    assert Node.objects.get().seen_at == MOMENT - timedelta(days=1)


def test_policy_that_cannot_be_compiled_is_logged_once_and_the_last_one_stays_published(agent, monkeypatch, caplog):
    a_committed_change(monkeypatch)
    agent.turn()
    entry = services.block_network(actor="alice", network="203.0.113.8")
    BlocklistEntry.objects.filter(pk=entry.pk).update(network="no network")  # as by a manual edit

    with caplog.at_level(logging.ERROR, logger="gatewall.agent.agent"):
        agent.turn()
        agent.turn()

    assert published_revision() == 1
    assert len([record for record in caplog.records if "policy.rejected" in record.getMessage()]) == 1


def test_an_agent_that_was_dead_at_the_deadline_reverts_the_change_later(agent, monkeypatch):
    monkeypatch.setattr("gatewall.publication.announcement._WAIT_SECONDS", 0)
    caller = Caller(parse_address("198.51.100.7"), None)
    with time_machine.travel(MOMENT, tick=False) as clock:
        services.block_network(actor="alice", network="198.51.100.7", caller=caller, force=True)
        clock.shift(timedelta(hours=7))  # without an agent

        agent.turn()

    assert not BlocklistEntry.objects.exists()
    assert published_revision() == 2


def test_before_the_deadline_the_agent_leaves_a_forced_change_alone(agent, monkeypatch):
    monkeypatch.setattr("gatewall.publication.announcement._WAIT_SECONDS", 0)
    caller = Caller(parse_address("198.51.100.7"), None)
    with time_machine.travel(MOMENT, tick=False) as clock:
        services.block_network(actor="alice", network="198.51.100.7", caller=caller, force=True)
        clock.shift(timedelta(seconds=299))
        agent.turn()
        assert BlocklistEntry.objects.exists()
        clock.shift(timedelta(seconds=1))
        agent.turn()

    assert not BlocklistEntry.objects.exists()
