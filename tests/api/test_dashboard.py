"""``GET /dashboard/stats``: the figures, and what they cost."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.utils import timezone

from audit.models import LogGap
from audit.spool.writer import SpoolWriter
from audit.storage import ingest
from gatewall.health import uptime
from gatewall.models import Node
from gatewall.snapshot.host_paths import node_name
from tests.api.resources import KINDS, make
from tests.support.proxies import a_token, a_user
from tests.support.records import a_record

pytestmark = pytest.mark.django_db

PATH = "/dashboard/stats"
NOON = datetime(2026, 3, 15, 12, 0, 30, tzinfo=UTC)
FIELDS = {
    "requests": {"total", "allowed", "challenged", "denied", "rate_per_second"},
    "latency_us": {"p50", "p95", "p99"},
    "counts": {
        *("users", "admins", "blacklist", "whitelist", "waf_rules", "domains", "licenses", "active_sessions"),
    },
    "policy": {"revision", "published_at", "nodes"},
    "log": {"lag_seconds", "spooled", "dropped"},
    "geo": {"database", "built_at"},
}
PLAIN = {"started_at", "uptime_seconds", "block_rate", "timeline", "top_blocked_clients", "block_reasons"}


@pytest.fixture
def log(tmp_path):
    def log(*records):
        writer = SpoolWriter(tmp_path / "log", "node-1")
        for record in records:
            writer.write(record)
        writer.close()
        ingest.ship(tmp_path / "log")

    return log


@pytest.fixture
def noon(db):
    """Stop the clock before any session is opened; return the time."""
    with time_machine.travel(NOON, tick=False):
        yield NOON


def ago(number, hours, **parts):
    return a_record(number, at=(NOON - timedelta(hours=hours)).timestamp(), **parts)


def allowed(number, hours, **parts):
    return ago(number, hours, outcome="allow", status=200, reason="session-valid", **parts)


def test_the_dashboard_has_exactly_the_documented_fields(admin):
    shown = admin.get(PATH).json()

    assert set(shown) == PLAIN | set(FIELDS)
    assert {name: set(shown[name]) for name in FIELDS} == FIELDS


def test_the_answers_of_the_last_24_hours_are_counted(noon, admin, log):
    log(
        *(allowed(n, 0.05, latency_us=n + 1) for n in range(6)),
        *(ago(10 + n, 5, client_ip=f"203.0.113.{n % 2}", latency_us=1000) for n in range(3)),
        ago(20, 23.9, outcome="error", status=503, reason="cannot-decide", latency_us=2),
        ago(21, 25),
    )

    shown = admin.get(PATH).json()

    assert shown["requests"] == {"total": 10, "allowed": 6, "challenged": 0, "denied": 3, "rate_per_second": 0.02}
    assert shown["block_rate"] == 0.3
    assert shown["top_blocked_clients"] == [
        {"client_ip": "203.0.113.0", "count": 2},
        {"client_ip": "203.0.113.1", "count": 1},
    ]
    assert shown["block_reasons"] == [{"reason": "waf-rule", "count": 3}]
    assert shown["latency_us"] == {"p50": 4, "p95": 1000, "p99": 1000}
    assert sum(bar["total"] for bar in shown["timeline"]) == 10
    assert len(shown["timeline"]) == 25


def test_an_empty_log_gives_zeros_and_nulls(noon, admin):
    shown = admin.get(PATH).json()

    assert shown["requests"]["total"] == shown["block_rate"] == shown["requests"]["rate_per_second"] == 0
    assert shown["latency_us"] == {"p50": None, "p95": None, "p99": None}
    assert (shown["geo"], shown["log"]["dropped"]) == ({"database": None, "built_at": None}, 0)


def test_rows_and_live_sessions_are_counted(admin, alice):
    for number, kind in enumerate(KINDS):
        make(admin, kind, number % 3 + 1)
    a_token(alice, at=timezone.now() - timedelta(days=3))
    a_token(a_user("dora", is_active=False))
    made = {kind.path: number % 3 + 1 for number, kind in enumerate(KINDS)}

    assert admin.get(PATH).json()["counts"] == {
        "users": 2 + made["/users"],
        "admins": 1,
        "blacklist": made["/ip-black-list"],
        "whitelist": made["/ip-white-list"],
        "waf_rules": made["/waf-rules"],
        "domains": made["/authorized-domains"],
        "licenses": made["/licenses"],
        "active_sessions": 1,
    }


def test_the_dashboard_shows_the_current_revision_and_every_host(noon, admin):
    Node.objects.create(name=node_name(), seen_at=noon, revision=4, published_at=noon)
    Node.objects.create(name="other", seen_at=noon, revision=3, published_at=None)
    revision = admin.post("/geo-block-rules", {"country_code": "NZ"})
    assert revision.status_code == 201

    policy = admin.get(PATH).json()["policy"]

    assert policy["revision"] == admin.get("/policy/revisions").json()["results"][0]["number"]
    assert {node["name"] for node in policy["nodes"]} == {node_name(), "other"}


def test_the_log_backlog_covers_all_hosts(noon, admin):
    LogGap.objects.create(node="a", kind="dropped", count=5, at=noon - timedelta(hours=1))
    LogGap.objects.create(node="a", kind="dropped", count=9, at=noon - timedelta(hours=25))
    LogGap.objects.create(node="a", kind="damaged", count=2, at=noon - timedelta(hours=1))
    for name, lag, spooled in (("a", 0.5, 100), ("b", 2.25, 50)):
        Node.objects.create(name=name, seen_at=noon, revision=1, log_lag_seconds=lag, log_spooled_bytes=spooled)

    assert admin.get(PATH).json()["log"] == {"lag_seconds": 2.25, "spooled": 150, "dropped": 5}


def test_the_time_since_the_last_report_of_a_host_adds_to_its_lag(noon, admin):
    Node.objects.create(name="a", seen_at=noon - timedelta(minutes=5), revision=1, log_lag_seconds=0.5)

    assert admin.get(PATH).json()["log"]["lag_seconds"] == 300.5


def test_the_log_lag_is_null_until_every_host_reports_it(noon, admin):
    Node.objects.create(name="a", seen_at=noon, revision=1, log_lag_seconds=0.5)
    Node.objects.create(name="b", seen_at=noon, revision=1)

    assert admin.get(PATH).json()["log"]["lag_seconds"] is None


def test_the_start_time_is_that_of_the_server_and_not_of_a_worker(noon, admin, monkeypatch):
    monkeypatch.setenv(uptime.VARIABLE, str((noon - timedelta(hours=2)).timestamp()))

    shown = admin.get(PATH).json()

    assert (shown["started_at"], shown["uptime_seconds"]) == ("2026-03-15T10:00:30Z", 7200)


@pytest.mark.parametrize("value", ["", "soon", "nan", "1e400", None])
def test_without_a_server_start_time_the_process_start_is_shown(admin, monkeypatch, value):
    monkeypatch.delenv(uptime.VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(uptime.VARIABLE, value)

    shown = admin.get(PATH).json()

    assert datetime.fromisoformat(shown["started_at"]) <= timezone.now()
    assert shown["uptime_seconds"] >= 0


def test_a_parameter_is_refused(admin):
    assert admin.get(PATH, {"interval": "60"}).status_code == 400


def test_the_number_of_queries_does_not_grow_with_the_rows(noon, admin, log, django_assert_num_queries):
    with django_assert_num_queries(14):
        admin.get(PATH)
    log(*(ago(n, n / 20, client_ip=f"203.0.113.{n % 200}") for n in range(400)))
    make(admin, KINDS[1], 4)
    Node.objects.create(name="a", seen_at=noon, revision=1)

    with django_assert_num_queries(14):
        admin.get(PATH)
