"""Event metrics: security events, sign-ins and bans, counted after the commit."""

from datetime import timedelta

import pytest
from django.db import OperationalError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from audit.event_kinds import EventKind
from audit.events.recording import Event, EventCount, count_events, record_event, record_events
from audit.figures import counters
from audit.models import SecurityEvent
from gatewall.engine.addresses import parse_address, parse_network
from gatewall.kernel.detectors import Detector
from policies.bans.banning import Offense, ban
from tests.support.proxies import PASSWORD

pytestmark = pytest.mark.django_db


def of_events(found):
    """Yield the labels of each sample of the security events, and its value."""
    for (name, *labels), number in found.items():
        if name == "gatewall_security_events_total":
            yield tuple(labels), number


def test_sign_ins_are_counted(scrape, anonymous, bob, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        anonymous.post("/login", {"username": "bob", "password": PASSWORD})
        anonymous.post("/login", {"username": "bob", "password": "wrong horse"})
        anonymous.post("/login", {"username": "nobody", "password": "wrong horse"})

    found = scrape()

    results = {result: found["gatewall_logins_total", result] for result in ("succeeded", "failed", "locked")}
    assert results == {"succeeded": 1, "failed": 2, "locked": 0}
    assert found["gatewall_sessions",] == 1


def test_security_events_are_counted_by_kind_and_severity(scrape, django_capture_on_commit_callbacks):
    blocked = [
        EventCount(Event(EventKind.REQUEST_BLOCKED, timezone.now(), f"203.0.113.{n}"), "waf-rule", 4) for n in range(3)
    ]
    with django_capture_on_commit_callbacks(execute=True):
        record_events([Event(EventKind.USER_CHANGED), Event(EventKind.USER_CHANGED), Event(EventKind.LOG_GAP)])
        count_events(blocked)
        count_events(blocked[:1])

    found = {labels: number for labels, number in of_events(scrape()) if number}

    assert found == {("low", "request.blocked"): 16, ("medium", "user.changed"): 2, ("high", "log.gap"): 1}


def test_every_kind_of_event_is_exported_before_its_first_event(scrape):
    found = {tuple(sorted((kind.value, kind.severity.value))) for kind in EventKind}

    assert dict(of_events(scrape())) == dict.fromkeys(found, 0)


def test_a_rolled_back_event_is_not_counted(scrape, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True), transaction.atomic():
        record_event(Event(EventKind.USER_CHANGED))
        transaction.set_rollback(True)

    assert scrape()["gatewall_security_events_total", "medium", "user.changed"] == 0


def test_an_event_is_recorded_even_if_counting_fails(monkeypatch, caplog, django_capture_on_commit_callbacks):
    def refuse(tally, number):
        raise OperationalError("the disk is full")

    monkeypatch.setattr(counters, "add", refuse)
    with django_capture_on_commit_callbacks(execute=True):
        record_event(Event(EventKind.USER_CHANGED))

    assert SecurityEvent.objects.get().kind == "user.changed"
    assert "counters for /metrics were not updated (OperationalError)" in caplog.text


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="PostgreSQL has a lock for each row")
def test_on_sqlite_an_event_and_its_count_are_one_transaction():
    with CaptureQueriesContext(connection) as queries:
        record_event(Event(EventKind.USER_CHANGED))

    assert [query["sql"] for query in queries if query["sql"].startswith(("BEGIN", "COMMIT"))] == [
        "BEGIN IMMEDIATE",
        "COMMIT",
    ]
    assert any("tally event.user.changed" in query["sql"] for query in queries)


def test_bans_are_counted_by_detector_when_they_are_made(scrape, django_capture_on_commit_callbacks):
    now = timezone.now()
    offenses = [
        Offense(parse_network(f"203.0.113.{n}"), parse_address(f"203.0.113.{n}"), Detector.RULE_PROBING, now, now, {})
        for n in range(2)
    ]
    with django_capture_on_commit_callbacks(execute=True):
        ban(offenses, until=now + timedelta(hours=1))
        ban(offenses, until=now + timedelta(hours=1))

    found = scrape()

    assert found["gatewall_networks_banned_total", "rule-probing"] == 2
    assert found["gatewall_networks_banned_total", "brute-force"] == 0
    assert found["gatewall_bans",] == 2
