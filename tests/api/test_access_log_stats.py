"""``GET /access-logs/stats``: its figures, and invalid parameters."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.utils import timezone

from audit.counting.counts import KEYS
from audit.figures import rollups
from tests.support.records import a_record

pytestmark = pytest.mark.django_db

PATH = "/access-logs/stats"
NOON = datetime(2026, 3, 15, 12, tzinfo=UTC)
WINDOW = {"start_time": "2026-03-15T10:00:00Z", "end_time": "2026-03-15T12:00:00Z", "interval": 3600}
ALLOWED = {"outcome": "allow", "status": 200, "reason": "session-valid", "rules": [], "client_ip": "203.0.113.1"}


def ago(number, hours, **parts):
    return a_record(number, at=(NOON - timedelta(hours=hours)).timestamp(), **parts)


def test_statistics_have_every_documented_figure(admin, log):
    log(
        ago(1, 1.5, **ALLOWED),
        ago(2, 0.5, client_ip="203.0.113.2", country_code=None, host=None, path="/admin"),
        ago(3, 0.25, client_ip="203.0.113.2", country_code=None, host=None, path="/admin"),
        ago(4, 3, **ALLOWED),
    )

    assert admin.get(PATH, WINDOW).json() == {
        "start_time": "2026-03-15T10:00:00Z",
        "end_time": "2026-03-15T12:00:00Z",
        "interval": 3600,
        "total": 3,
        "allowed": 1,
        "challenged": 0,
        "denied": 2,
        "errors": 0,
        "by_reason": [{"reason": "waf-rule", "count": 2}, {"reason": "session-valid", "count": 1}],
        "by_status": [{"status": 403, "count": 2}, {"status": 200, "count": 1}],
        "top_clients": [{"client_ip": "203.0.113.2", "count": 2}, {"client_ip": "203.0.113.1", "count": 1}],
        "top_hosts": [{"host": "office.example", "count": 1}],
        "top_paths": [{"path": "/admin", "count": 2}, {"path": "/wiki", "count": 1}],
        "top_rules": [{"id": 7, "name": "attack", "count": 2}],
        "would_refuse": {"total": 0, "top_rules": [], "top_hosts": [], "top_clients": []},
        "by_country": [{"country_code": None, "count": 2}, {"country_code": "NZ", "count": 1}],
        "timeline": [
            {
                "at": "2026-03-15T10:00:00Z",
                "total": 1,
                "allowed": 1,
                "challenged": 0,
                "denied": 0,
                "errors": 0,
                "would_refuse": 0,
            },
            {
                "at": "2026-03-15T11:00:00Z",
                "total": 2,
                "allowed": 0,
                "challenged": 0,
                "denied": 2,
                "errors": 0,
                "would_refuse": 0,
            },
        ],
        "approximate": {},
    }


def test_would_be_refusals_are_counted_by_rule_host_client_and_interval(admin, log):
    watched = [{"id": 7, "name": "attack", "action": "monitor"}, {"id": 8, "name": "other", "action": "monitor"}]
    would = ALLOWED | {"would_refuse": True, "waf_score": 7}
    log(
        ago(1, 1.5, **would | {"rules": watched}),
        ago(2, 0.5, **would | {"rules": watched[:1], "client_ip": "203.0.113.2"}),
        ago(3, 0.25, **would | {"rules": watched[:1], "host": "mail.example"}),
        ago(4, 0.25, **ALLOWED | {"rules": watched, "waf_score": 4}),
    )

    shown = admin.get(PATH, WINDOW).json()

    assert shown["would_refuse"] == {
        "total": 3,
        "top_rules": [{"id": 7, "name": "attack", "count": 3}, {"id": 8, "name": "other", "count": 1}],
        "top_hosts": [{"host": "office.example", "count": 2}, {"host": "mail.example", "count": 1}],
        "top_clients": [{"client_ip": "203.0.113.1", "count": 2}, {"client_ip": "203.0.113.2", "count": 1}],
    }
    assert [(bar["total"], bar["would_refuse"]) for bar in shown["timeline"]] == [(1, 1), (3, 2)]


def test_the_default_window_is_24_hours_in_hourly_bars(wall, alice, log):
    log(ago(1, 23.9), ago(2, 24.1), ago(3, 0))

    with time_machine.travel(NOON + timedelta(seconds=30), tick=False):
        shown = wall.Api(wall.a_token(alice)).get(PATH).json()

    assert (shown["total"], shown["interval"]) == (2, 3600)
    assert (shown["start_time"], shown["end_time"]) == ("2026-03-14T12:01:00Z", "2026-03-15T12:01:00Z")
    assert sum(bar["total"] for bar in shown["timeline"]) == 2
    assert [bar["at"][11:16] for bar in shown["timeline"]][:2] == ["12:01", "13:00"]


def test_an_empty_log_has_empty_figures(admin):
    shown = admin.get(PATH).json()

    assert (shown["total"], shown["by_reason"], shown["top_rules"], shown["approximate"]) == (0, [], [], {})
    assert len(shown["timeline"]) in {24, 25}


def test_a_window_is_rounded_to_whole_minutes_in_the_answer(admin, log):
    log(ago(1, 1))

    shown = admin.get(PATH, {"start_time": "2026-03-15T11:00:30Z", "end_time": "2026-03-15T13:00:40+02:00"}).json()

    assert (shown["start_time"], shown["end_time"]) == ("2026-03-15T11:00:00Z", "2026-03-15T11:01:00Z")
    assert (shown["total"], shown["interval"], len(shown["timeline"])) == (1, 60, 1)


def test_top_lists_have_at_most_ten_items_and_state_their_error(admin, log, monkeypatch):
    monkeypatch.setattr(rollups, "KEYS", dict.fromkeys(KEYS, 12))
    for batch in range(4):
        log(*(ago(100 * batch + n, 1, client_ip=f"203.0.113.{n}", path=f"/{n % 11}") for n in range(20)))

    shown = admin.get(PATH, WINDOW).json()

    assert (shown["total"], len(shown["top_paths"])) == (80, 10)
    assert shown["approximate"].keys() == {"top_clients"}
    assert all(4 - shown["approximate"]["top_clients"] <= item["count"] <= 4 for item in shown["top_clients"])


def test_a_rule_that_was_renamed_is_one_rule(admin, log):
    log(
        *(ago(n, 1, rules=[{"id": 7, "name": "old", "action": "block"}]) for n in range(2)),
        *(ago(10 + n, 1, rules=[{"id": 7, "name": "new name", "action": "monitor"}]) for n in range(3)),
        *(ago(20 + n, 1, rules=[{"id": 8, "name": "other", "action": "block"}]) for n in range(4)),
    )

    rules = admin.get(PATH, WINDOW).json()["top_rules"]

    assert rules == [{"id": 7, "name": "new name", "count": 5}, {"id": 8, "name": "other", "count": 4}]


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"interval": "61"}, "interval"),
        ({"interval": "59"}, "interval"),
        ({"interval": "0"}, "interval"),
        ({"interval": "-60"}, "interval"),
        ({"interval": "6e1"}, "interval"),
        ({"interval": ""}, "interval"),
        ({"interval": "٦٠"}, "interval"),
        ({"interval": "9" * 30}, "interval"),
        ({"start_time": "2026-03-01T00:00:00Z", "end_time": "2026-03-31T00:00:00Z", "interval": "60"}, "interval"),
        ({"start_time": "2026-03-01T00:00:00Z", "end_time": "2026-06-30T00:00:00Z", "interval": "3600"}, "interval"),
        ({"start_time": "2026-03-02T00:00:00Z", "end_time": "2026-03-01T00:00:00Z"}, "start_time"),
        ({"start_time": "2026-03-02T00:00:00Z", "end_time": "2026-03-02T00:00:00Z"}, "start_time"),
        ({"start_time": "2999-01-01T00:00:00Z"}, "start_time"),
        ({"start_time": "2020-01-01T00:00:00Z", "end_time": "2026-03-01T00:00:00Z"}, "start_time"),
        ({"start_time": "1000-01-01T00:00:00Z", "end_time": "1000-01-02T00:00:00Z"}, "start_time"),
        ({"end_time": "9999-12-31T23:59:59Z"}, "start_time"),
        ({"end_time": "1000-01-01T00:00:00Z"}, "start_time"),
        ({"start_time": "yesterday"}, "start_time"),
        ({"end_time": "2026-03-02T00:00:00"}, "end_time"),
        ({"end_time": ""}, "end_time"),
        ({"host": "office.example"}, "host"),
        ({"format": "csv"}, "format"),
    ],
)
def test_invalid_parameters_are_refused_by_name(admin, parameters, field):
    refused = admin.get(PATH, parameters)

    assert refused.status_code == 400
    assert [error["field"] for error in refused.json()["errors"]] == [field]


def test_statistics_take_two_queries_besides_authentication(admin, log, django_assert_num_queries):
    log(*(ago(n, n / 10) for n in range(200)))
    admin.get(PATH, WINDOW)

    with django_assert_num_queries(3):  # the session, the figures, the timeline
        admin.get(PATH, WINDOW)


def test_statistics_read_only_roll_ups(admin, log):
    from audit.models import AccessLog  # noqa: PLC0415

    log(a_record(1, at=timezone.now().timestamp()))
    AccessLog.objects.all().delete()

    assert admin.get(PATH).json()["total"] == 1
