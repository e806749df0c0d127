"""How long a host is unconfirmed: the clock that counts, unknown starts, and the effect of a busy database."""

from datetime import timedelta

import pytest
from django.db import OperationalError
from django.utils import timezone

from gatewall.models import Node, SystemSettings
from gatewall.publication import nodes
from gatewall.publication.nodes import database_now, report_node
from gatewall.snapshot.confirmed import elapsed
from tests.integration import test_unconfirmed as cut_off

pytestmark = pytest.mark.django_db(transaction=True)
LOCKED_FOR = 5
host, outage, asked, metric = cut_off.host, cut_off.outage, cut_off.asked, cut_off.metric


def test_with_a_read_only_database_the_policy_age_stays_below_the_least_limit(host, monkeypatch):
    least = next(
        each for each in SystemSettings._meta.get_field("stale_policy_seconds").validators if "min" in each.code
    )
    ages = []

    def locked(*_):
        for _ in range(LOCKED_FOR):  # SQLite's busy timeout, while an import of a long list holds the lock
            host.passes(1)
            ages.append(host.age())
        raise OperationalError("database is locked")

    host.turns()
    monkeypatch.setattr("gatewall.agent.agent.report_node", locked)
    host.turns(5)

    assert LOCKED_FOR <= max(ages) < least.limit_value / 2


def test_a_host_without_a_confirmation_since_its_boot_is_reported(host, outage):
    outage[0]()
    host.agent.turn()
    outage[1]()
    report_node("here", host.files, host.run)

    assert metric(asked("/metrics")) == {"here": 5000}  # since the boot, at least
    assert asked("/health").json()["checks"]["hosts"] == "policy not confirmed on 1 of 1"


@pytest.mark.parametrize("hand", [-3600, 3600])
def test_a_silent_host_is_reported_whatever_its_clock(host, monkeypatch, hand):
    database = [timezone.now()]
    monkeypatch.setattr(nodes, "database_now", lambda: database[0])
    host.set(hand)
    host.turns()
    host.set(-hand)
    assert metric(asked("/metrics")) == {"here": 0}

    database[0] += timedelta(seconds=1800)

    assert metric(asked("/metrics")) == {"here": 1800}
    assert asked("/health").json()["checks"]["hosts"] == "policy not confirmed on 1 of 1"


def test_a_control_plane_reports_its_own_host_from_its_files(host, monkeypatch):
    monkeypatch.setenv("HOSTNAME", "here")
    host.turns()
    Node.objects.create(name="elsewhere", revision=0, seen_at=timezone.now(), unconfirmed_seconds=0)

    for _ in range(60):  # the agent is dead, and the control plane publishes in its place
        host.passes(1)
        host.files.confirmations.confirm(elapsed())

    assert metric(asked("/metrics")) == {"here": 0, "elsewhere": 60}
    assert asked("/health").json()["checks"]["hosts"] == "policy not confirmed on 1 of 2"


@pytest.mark.parametrize(
    "reported",
    [{"problem": "policy.rejected: ..."}, {"workers": [{"pid": 7, "revision": 1, "rejected": "not signed by us"}]}],
)
def test_a_host_that_reports_a_problem_is_counted(host, reported):
    host.turns()
    assert asked("/health").json()["checks"]["hosts"] == "ok"

    Node.objects.create(name="elsewhere", revision=0, seen_at=timezone.now(), unconfirmed_seconds=0, **reported)

    answer = asked("/health")
    assert (answer.status_code, answer.json()["checks"]["hosts"]) == (200, "problem reported by 1 of 2")


def test_the_database_time_is_current_and_in_utc():
    assert abs(database_now() - timezone.now()) < timedelta(hours=1)
    assert database_now().utcoffset() == timedelta()
