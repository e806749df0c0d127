"""``GET /security-events`` and its statistics: filters, pages, downloads and figures."""

import json

import pytest

from audit.event_kinds import EventKind
from audit.events import selectors
from audit.events.recording import Event, EventCount, count_events, record_event
from audit.models import SecurityEvent
from tests.support.cast import CLIENT, MOMENT

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_yet(request, clock):
    """Create the users of the test, then delete the events of their creation."""
    for name in ("alice", "bob", "admin"):
        if name in request.fixturenames:
            request.getfixturevalue(name)
    SecurityEvent.objects.all().delete()


def listed(client, **parameters):
    response = client.get("/security-events", parameters)
    assert response.status_code == 200, response.json()
    return response.json()


def test_an_event_is_listed_with_every_field_of_the_contract(admin, alice):
    event = Event(EventKind.CLIENT_BANNED, MOMENT, CLIENT, alice, country_code="NZ", detail={"detector": "probing"})
    record_event(event)

    (row,) = listed(admin)["results"]

    assert row == {
        "id": SecurityEvent.objects.get().pk,
        "kind": "client.banned",
        "severity": "high",
        "at": "2026-03-14T09:26:53.000000Z",
        "last_at": "2026-03-14T09:26:53.000000Z",
        "count": 1,
        "client_ip": CLIENT,
        "country_code": "NZ",
        "user": {"id": alice.pk, "name": "alice"},
        "detail": {"detector": "probing"},
        "decision_id": None,
    }


def exported(admin, kind):
    return admin._client.get("/wall/security-events", {"format": kind}).getvalue()


def some_events(clock, bob):
    for minute, (kind, client) in enumerate(
        [
            (EventKind.LOGIN_FAILED, "192.0.2.1"),
            (EventKind.LOGIN_SUCCEEDED, "192.0.2.2"),
            (EventKind.CLIENT_BANNED, "2001:db8::1"),
            (EventKind.POLICY_CHANGED, None),
        ]
    ):
        user = bob if kind is EventKind.LOGIN_SUCCEEDED else None
        record_event(Event(kind, MOMENT.replace(minute=minute), client, user))
    return list(SecurityEvent.objects.order_by("at"))


@pytest.mark.parametrize(
    ("parameters", "found"),
    [
        ({"kind": "client.banned"}, [2]),
        ({"exclude_kind": "client.banned"}, [3, 1, 0]),
        ({"severity": "low"}, [3, 0]),
        ({"client_ip": "192.0.2.0/24"}, [1, 0]),
        ({"client_ip": "192.0.2.2"}, [1]),
        ({"client_ip": ""}, [3]),
        ({"exclude_client_ip": "192.0.2.0/24"}, [3, 2]),
        ({"user": "B*"}, [1]),
        ({"user": ""}, [3, 2, 0]),
        ({"count_min": 2}, []),
        ({"start_time": "2026-03-14T09:01:53Z", "end_time": "2026-03-14T09:03:53Z"}, [2, 1]),
        ({"kind": "client.banned", "client_ip": "192.0.2.1"}, []),
    ],
)
def test_filters_find_matching_events(admin, bob, clock, parameters, found):
    rows = some_events(clock, bob)

    assert [row["id"] for row in listed(admin, **parameters)["results"]] == [rows[number].pk for number in found]


@pytest.mark.parametrize(
    "parameters",
    [
        {"kind": "nothing"},
        {"severity": ""},
        {"client_ip": "x"},
        {"user_id": "-1"},
        {"exclude_count_min": "1"},
        {"decision_id": "x"},
        {"cursor": "x"},
        {"page": "1"},
        {"end_time": "2026-03-14T09:01:53Z", "start_time": "2026-03-14T09:01:53Z"},
        {"user": "x\0"},
        {"count": "1"},
    ],
)
def test_a_malformed_parameter_is_refused_by_its_name(admin, parameters):
    response = admin.get("/security-events", parameters)

    assert response.status_code == 400
    assert {error["field"] for error in response.json()["errors"]} <= set(parameters)


def test_pages_follow_their_links_newest_first(admin, bob, clock):
    rows = some_events(clock, bob)

    found, page = [], listed(admin, page_size=3, count="true")
    assert page["count"] == 4
    while True:
        found.append([row["id"] for row in page["results"]])
        if page["next"] is None:
            break
        page = admin.get(page["next"].partition("/wall")[2]).json()

    assert found == [[rows[3].pk, rows[2].pk, rows[1].pk], [rows[0].pk]]


def test_a_page_looks_at_no_more_than_its_budget_and_goes_on(admin, bob, clock, monkeypatch):
    monkeypatch.setattr(selectors.page_of, "__kwdefaults__", {"budget": 2})
    rows = some_events(clock, bob)
    page, found = listed(admin, count_max=1, severity="low"), []
    while page["next"]:
        found += [row["id"] for row in page["results"]]
        page = admin.get(page["next"].partition("/wall")[2]).json()
    found += [row["id"] for row in page["results"]]

    assert found == [rows[3].pk, rows[0].pk]


def test_the_export_has_every_event(admin, bob, clock):
    some_events(clock, bob)

    lines, table = (exported(admin, kind).splitlines() for kind in ("ndjson", "csv"))

    assert [json.loads(line) for line in lines] == listed(admin)["results"]
    assert len(table) == 1 + len(lines)


def test_statistics_count_events_and_not_rows(admin, bob, clock):
    some_events(clock, bob)
    count_events([EventCount(Event(EventKind.REQUEST_BLOCKED, MOMENT, "192.0.2.1"), "waf-rule", 5)])

    figures = admin.get("/security-events/stats", {"interval": 1800}).json()

    assert figures["total"] == 9
    assert figures["by_kind"][0] == {"kind": "request.blocked", "count": 5}
    assert figures["by_severity"][0] == {"severity": "low", "count": 7}
    assert figures["top_clients"][0] == {"client_ip": "192.0.2.1", "count": 6}
    assert [bar for bar in figures["timeline"] if bar["count"]] == [{"at": "2026-03-14T09:00:00Z", "count": 9}]


def test_statistics_cover_the_requested_window(admin, bob, clock):
    some_events(clock, bob)
    window = {"start_time": "2026-03-14T09:01:10Z", "end_time": "2026-03-14T09:03:00Z", "interval": 60}

    figures = admin.get("/security-events/stats", window).json()

    assert [(bar["at"][-9:], bar["count"]) for bar in figures["timeline"]] == [("09:01:00Z", 1), ("09:02:00Z", 1)]
    assert admin.get("/security-events/stats", {"interval": 7}).status_code == 400


def test_excluding_a_reason_keeps_events_without_a_reason(admin):
    record_event(Event(EventKind.LOGIN_FAILED, MOMENT, detail={"flow": "login"}))
    for number, reason in enumerate(("waf-rule", "client-blocked")):
        record_event(Event(EventKind.REQUEST_BLOCKED, MOMENT.replace(second=number), detail={"reason": reason}))

    found = listed(admin, exclude_reason="waf-rule")["results"]

    assert [row["detail"].get("reason") for row in found] == [None, "client-blocked"]
    assert [row["kind"] for row in listed(admin, reason="")["results"]] == ["login.failed"]
    assert len(listed(admin, exclude_reason="")["results"]) == 2
