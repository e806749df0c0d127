"""A host with unconfirmed policy: metrics and health meanwhile, and the event afterwards."""

import time
from datetime import timedelta
from unittest.mock import Mock

import pytest
import time_machine
from django.conf import settings
from django.db import OperationalError
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from audit.models import SecurityEvent
from gatewall.agent.agent import Agent
from gatewall.agent.log_shipper import LogShipper
from gatewall.api import rate
from gatewall.health import indicators
from gatewall.health.indicators import Level
from gatewall.models import Node
from gatewall.publication.nodes import report_node
from gatewall.publication.publisher import publish
from gatewall.snapshot.confirmed import elapsed
from gatewall.snapshot.host_paths import policy_files, run_folder
from gatewall.snapshot.notification import AgentLock
from tests.support.cast import MOMENT

pytestmark = pytest.mark.django_db(transaction=True)
OUTAGE = 100


class Host:
    """One agent in turns, with stopped clocks: ``passes`` lets time pass, ``set`` changes the wall clock."""

    def __init__(self, wall_clock, since_boot):
        self._wall_clock, self._since_boot = wall_clock, since_boot
        self.files, self.run = policy_files(settings.CONFIG), run_folder(settings.CONFIG.home)
        self.agent = self.new_agent()

    def new_agent(self):
        return Agent(self.files, self.run, "here", LogShipper(settings.CONFIG.home / "spool"))

    def passes(self, seconds):
        self._since_boot[0] += seconds
        self._wall_clock.shift(seconds)

    def set(self, seconds):
        self._wall_clock.shift(seconds)

    def turns(self, seconds=3):
        for _ in range(seconds):
            self.passes(1)
            self.agent.turn()

    def age(self):
        return elapsed() - self.files.confirmations.last()


@pytest.fixture
def host(monkeypatch):
    since_boot = [5000.0]
    clocks = time.clock_gettime
    monkeypatch.setattr(
        time, "clock_gettime", lambda clock: since_boot[0] if clock == time.CLOCK_BOOTTIME else clocks(clock)
    )
    monkeypatch.setattr("gatewall.agent.agent._NICENESS", 0)
    with time_machine.travel(MOMENT, tick=False) as wall_clock:
        host = Host(wall_clock, since_boot)
        with AgentLock(host.run).held():
            yield host


@pytest.fixture
def outage():
    """Return a function that makes the database unavailable to the agent, and one that restores it."""
    away = Mock(side_effect=OperationalError("away"))
    with pytest.MonkeyPatch.context() as patch:

        def take():
            patch.setattr("gatewall.policy.revisions.current", away)
            patch.setattr("gatewall.database.sqlite.changes.DatabaseChanges.look", lambda _: True)

        yield take, patch.undo


def told():
    return [event.detail for event in SecurityEvent.objects.filter(kind="policy.unconfirmed").order_by("at")]


def text(moment):
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def test_each_turn_of_an_agent_confirms(host):
    host.turns(2)
    assert host.age() == 0

    host.passes(30)
    host.agent.turn()

    assert host.age() == 0
    assert len(told()) == 1  # no process compared the policy for half a minute


def test_an_agent_without_a_database_confirms_nothing(host, outage):
    host.turns()
    outage[0]()

    host.turns(20)

    assert host.age() == 20


def test_a_policy_that_cannot_be_compiled_is_not_confirmed(host, monkeypatch):
    host.turns()

    def refuse(*_, **__):
        raise ValueError("a row that cannot be compiled")

    host.agent._published = None
    monkeypatch.setattr("gatewall.agent.agent.publish", refuse)
    host.turns(20)

    assert host.age() == 20
    assert Node.objects.get().unconfirmed_seconds == 20


def test_the_end_of_an_outage_is_an_event_with_its_times(host, outage):
    host.turns()
    began = timezone.now()
    outage[0]()
    host.turns(OUTAGE)
    outage[1]()
    assert told() == []

    host.turns()

    ended = began + timedelta(seconds=OUTAGE + 1)
    assert told() == [{"node": "here", "from": text(began), "to": text(ended), "seconds": OUTAGE + 1.0}]
    event = SecurityEvent.objects.get(kind="policy.unconfirmed")
    assert (event.severity, event.count, event.at) == ("high", 1, ended)


def test_an_outage_that_another_process_ends_is_an_event_too(host, outage):
    host.turns()
    outage[0]()
    host.turns(OUTAGE)
    outage[1]()
    publish(host.files)  # a write through the control plane of this host, before the agent looks again

    host.turns()

    assert [event["seconds"] for event in told()] == [float(OUTAGE)]


def test_no_event_is_recorded_while_another_process_confirms(host, outage):
    host.turns()
    outage[0]()
    for _ in range(OUTAGE // 10):
        host.turns(10)
        host.files.confirmations.confirm(elapsed())
    outage[1]()

    host.turns()

    assert told() == []


@pytest.mark.parametrize("hand", [-86_400, 86_400])
def test_a_clock_set_during_an_outage_does_not_change_its_length(host, outage, hand):
    host.turns()
    outage[0]()
    host.turns(OUTAGE)
    host.set(hand)
    outage[1]()
    host.turns()

    assert [event["seconds"] for event in told()] == [OUTAGE + 1.0]


@pytest.mark.parametrize("hand", [-86_400, 86_400])
def test_a_clock_that_is_set_is_no_outage(host, hand):
    host.turns()
    host.set(hand)
    host.turns()

    assert told() == []
    assert host.age() == 0


def test_a_short_outage_is_no_event(host, outage):
    host.turns()
    outage[0]()
    host.turns(14)
    outage[1]()
    host.turns()

    assert told() == []


def test_an_event_that_cannot_be_written_is_recorded_at_the_next_turn(host, outage, monkeypatch):
    host.turns()
    outage[0]()
    host.turns(OUTAGE)
    outage[1]()

    def away(*_):
        raise OperationalError("read-only")

    with monkeypatch.context() as patch:
        patch.setattr("gatewall.agent.host_events.count_event", away)
        host.turns()
    assert (told(), host.age()) == ([], 0)
    host.turns()

    assert len(told()) == 1


def test_an_agent_that_was_dead_records_the_outage_too(host):
    host.turns()
    host.passes(OUTAGE)

    host.agent = host.new_agent()
    host.turns()

    assert [event["seconds"] for event in told()] == [OUTAGE + 1.0]


def test_an_agent_that_takes_over_records_no_outage(host):
    successor = host.new_agent()
    host.turns(OUTAGE)

    host.agent = successor
    host.turns()

    assert told() == []


def metric(response):
    found = text_string_to_metric_families(response.content.decode())
    return {
        sample.labels["node"]: sample.value
        for family in found
        for sample in family.samples
        if sample.name == "gatewall_policy_unconfirmed_seconds"
    }


def asked(path):
    return Client().get(f"{settings.ROOT_PATH}{path}")


def test_metrics_and_health_cover_every_host(host):
    host.turns()
    for name, age, silence in (("silent", 0, 40), ("refuses", 30, 1), ("quick", 0, 1)):
        Node.objects.create(
            name=name, revision=0, seen_at=timezone.now() - timedelta(seconds=silence), unconfirmed_seconds=age
        )

    assert metric(asked("/metrics")) == {"here": 0, "silent": 40, "refuses": 31, "quick": 1}
    assert asked("/health").json()["checks"]["hosts"] == "policy not confirmed on 2 of 4"


def test_health_is_ok_while_all_hosts_confirm(host):
    host.turns()

    assert asked("/health").json()["checks"]["hosts"] == "ok"


def test_without_a_database_metrics_have_the_policy_age_of_this_host(host, monkeypatch):
    monkeypatch.setenv("HOSTNAME", "here")
    host.turns()
    assert asked("/health").status_code == 200  # this process has a policy

    def away(*_, **__):
        raise OperationalError("away")

    with monkeypatch.context() as patch:
        patch.setattr("django.db.backends.utils.CursorWrapper.execute", away)
        host.passes(20)
        patch.setattr(rate, "_remembered", (0.0, 0))
        response = asked("/metrics")
        health = asked("/health").json()["checks"]

    assert (response.status_code, metric(response)) == (200, {"here": 20})
    assert health["hosts"] == "not known without the database"


def test_a_disconnected_host_is_a_bad_indicator(host):
    host.turns()
    report_node("here", host.files, host.run)
    window = indicators.Window.until(timezone.now(), timedelta(hours=1))
    assert [each.level for each in indicators.indicators_at(timezone.now(), window).nodes] == [Level.GOOD]
    host.passes(20)
    report_node("here", host.files, host.run)

    (node,) = indicators.indicators_at(timezone.now(), window).nodes

    assert (node.is_unconfirmed, node.is_silent, node.level) == (True, False, Level.BAD)
