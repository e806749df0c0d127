"""``GET /metrics``: metrics for Prometheus, by trusted network or token, without personal data in labels."""

import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from audit.event_kinds import EventKind
from audit.events.recording import Event, record_event
from audit.figures import counters
from audit.models import GapKind, SpanCount
from audit.storage import ingest
from audit.storage.ingest import ship
from audit.storage.retention import prune
from gatewall.engine import steps
from gatewall.engine.model import Effect, Reason
from gatewall.kernel.clientip import TrustedProxies
from gatewall.models import Node
from policies import services
from policies.lists import subscriptions
from policies.models import ListSubscription
from tests.support.proxies import Api
from tests.support.records import a_record
from tests.support.spool_shipping import spooled

pytestmark = pytest.mark.django_db
TOKEN = "Mt4bN8qZ1xV6rC3kP9wJ2hF7dS5gL0yT"
OUTSIDE = {"X-Forwarded-For": "203.0.113.9"}


def shipped(tmp_path, *records):
    spooled(tmp_path / "spool", records)
    ship(tmp_path / "spool")


def test_answers_are_counted_by_outcome_and_reason(scrape, tmp_path):
    allowed = [a_record(n, outcome="allow", reason="session-valid", status=200) for n in range(3)]
    shipped(tmp_path, *allowed, a_record(7, outcome="deny", reason="client-blocked", status=403))

    found = scrape()

    assert found["gatewall_decisions_total", "allow", "session-valid"] == 3
    assert found["gatewall_decisions_total", "client-blocked", "deny"] == 1
    assert found["gatewall_decisions_total", "cannot-decide", "error"] == 0


def test_a_counter_never_falls_when_old_rows_are_deleted(scrape, tmp_path):
    shipped(tmp_path, a_record(1, outcome="allow", reason="session-valid", status=200))
    prune(timezone.now() + timedelta(days=9), days=1, at_most=10_000)
    assert not SpanCount.objects.filter(width__gt=0).exists()

    shipped(tmp_path, a_record(2, outcome="allow", reason="session-valid", status=200))

    assert scrape()["gatewall_decisions_total", "allow", "session-valid"] == 2


def test_the_histogram_counts_latencies(scrape, tmp_path):
    for number, latency in enumerate((90, 100, 101, 2_500, 2_600, 20_000_000)):
        shipped(tmp_path, a_record(number, latency_us=latency))

    found = scrape()

    name = "gatewall_decision_duration_seconds"
    buckets = {labels[0]: value for (each, *labels), value in found.items() if each == f"{name}_bucket"}
    assert (buckets["0.0001"], buckets["0.00025"], buckets["0.0025"], buckets["0.005"]) == (2, 3, 4, 5)
    assert (buckets["10.0"], buckets["+Inf"], found[f"{name}_count",]) == (5, 6, 6)
    assert 20.005291 <= found[f"{name}_sum",] <= 22.1


def test_the_decision_counter_has_the_engines_effect_for_every_reason(scrape):
    given = set(re.findall(r"Effect\.(\w+), Reason\.(\w+)", Path(steps.__file__).read_text()))

    counted = {frozenset(labels) for name, *labels in scrape() if name == "gatewall_decisions_total"}

    assert counted == {frozenset({reason.effect.value, reason.value}) for reason in Reason}
    assert {frozenset({Effect[effect].value, Reason[reason].value}) for effect, reason in given} <= counted


def test_lost_records_are_counted_by_kind(scrape):
    ingest._record_gap("a", GapKind.DROPPED, 5)
    ingest._record_gap("b", GapKind.DROPPED, 2)

    found = scrape()

    assert (found["gatewall_log_lost_records_total", "dropped"], found["gatewall_log_lost_records_total", "torn"]) == (
        7,
        0,
    )


def test_the_log_size_and_the_rows_removed_for_it_are_exported(scrape):
    assert "gatewall_log_bytes" not in {name for name, *_ in scrape()}
    counters.note(counters.LOG_BYTES, 4096, timezone.now())
    counters.add(counters.LOG_FOLDED, 3)

    found = scrape()

    assert found["gatewall_log_bytes",] == 4096
    assert found["gatewall_log_shortened_rows_total", "folded"] == 3
    assert found["gatewall_log_shortened_rows_total", "deleted"] == 0


def test_workers_are_labeled_by_host_and_slot(scrape):
    heads = {"hits": 50, "misses": 12, "number": 3, "bytes": 3000}
    workers = [
        {"pid": 4711, "revision": 3, "rejected": "damaged", "reloads": 0, "heads": heads},
        {"pid": 99, "revision": 4},
    ]
    Node.objects.create(
        name="gate-1", seen_at=timezone.now(), revision=4, workers=workers, log_lag_seconds=1.5, log_spooled_bytes=70
    )

    found = scrape()

    assert found["gatewall_worker_policy_revision", "0", "gate-1"] == 4
    assert found["gatewall_worker_policy_revision", "1", "gate-1"] == 3
    assert [found["gatewall_worker_policy_rejected", slot, "gate-1"] for slot in "01"] == [0, 1]
    assert found["gatewall_worker_heads_found_total", "1", "gate-1", "hit"] == 50
    assert found["gatewall_worker_heads_found_total", "1", "gate-1", "miss"] == 12
    assert (found["gatewall_worker_heads", "1", "gate-1"], found["gatewall_worker_heads_bytes", "1", "gate-1"]) == (
        3,
        3000,
    )
    assert ("gatewall_worker_heads", "0", "gate-1") not in found
    assert (found["gatewall_spool_bytes", "gate-1"], found["gatewall_log_lag_seconds", "gate-1"]) == (70, 1.5)
    assert not [key for key in found if "4711" in key]


def test_an_unknown_log_lag_is_left_out(scrape):
    Node.objects.create(name="gate-1", seen_at=timezone.now(), revision=4, problem="the database cannot be used")

    found = scrape()

    assert ("gatewall_log_lag_seconds", "gate-1") not in found
    assert found["gatewall_node_problem", "gate-1"] == 1


def test_bans_in_force_are_counted_and_no_other_entry(scrape):
    now = timezone.now()
    for number, (source, expires_at) in enumerate(
        [("auto-ban", now + timedelta(hours=1)), ("auto-ban", None), ("auto-ban", now - timedelta(1)), ("manual", None)]
    ):
        services.block_network(actor="a", network=f"203.0.113.{number}", source=source, expires_at=expires_at)

    assert scrape()["gatewall_bans",] == 2


def test_lists_are_counted_by_state_with_the_oldest_age(scrape):
    for name in ("new", "old", "failing", "off"):
        subscriptions.subscribe(actor="a", name=name, url="https://lists.example/a", enabled=name != "off")
    now = timezone.now()
    ListSubscription.objects.filter(name="old").update(succeeded_at=now - timedelta(hours=5))
    ListSubscription.objects.filter(name="failing").update(failure="no", succeeded_at=now)

    found = scrape()

    assert {state: found["gatewall_lists", state] for state in ("new", "ok", "failing", "off")} == dict.fromkeys(
        ("new", "ok", "failing", "off"), 1
    )
    assert 5 * 3600 <= found["gatewall_list_age_seconds",] < 5 * 3600 + 60


def test_no_label_reveals_clients_users_or_paths(anonymous, admin, bob, tmp_path):
    services.block_network(actor="alice", network="198.51.100.77")
    record_event(Event(EventKind.LOGIN_FAILED, client_ip="198.51.100.8", user=bob, detail={"path": "/secret"}))
    subscriptions.subscribe(actor="alice", name="drop", url="https://lists.example/secret")
    shipped(
        tmp_path, a_record(1, client_ip="198.51.100.7", path="/secret", host="private.example", user_agent="Secret")
    )
    for number, name in enumerate(("10.1.2.3", "2001:db8::7", "10.1.2.3:8000")):
        Node.objects.create(name=name, seen_at=timezone.now(), revision=number)

    text = anonymous.get("/metrics").content.decode()

    labels = set(re.findall(r'(\w+)="', text))
    of_answers, of_events = {"outcome", "reason", "le"}, {"kind", "severity", "result", "detector"}
    assert labels == of_answers | of_events | {"node", "engine", "mode", "state"}
    for word in ("198.51.100", "10.1.2.3", "db8", "secret", "Secret", "private", "alice", "Bob", 'drop"'):
        assert word not in text.replace('kind="dropped"', "")


def test_the_number_of_queries_of_a_scrape_does_not_grow(anonymous, django_assert_num_queries, tmp_path):
    with django_assert_num_queries(10):
        anonymous.get("/metrics")
    shipped(tmp_path, *(a_record(n) for n in range(30)))
    for number in range(5):
        Node.objects.create(name=f"gate-{number}", seen_at=timezone.now(), revision=1, workers=[{"pid": 1}])
        services.block_network(actor="a", network=f"203.0.113.{number}", source="auto-ban")

    with django_assert_num_queries(10):
        anonymous.get("/metrics")


def scraped(headers=(), **environ):
    return Api().get("/metrics", headers=dict(headers), **environ)


@pytest.mark.parametrize(
    "sent", [None, "", "Bearer", "Bearer ", "Bearer wrong", f"Basic {TOKEN}", TOKEN, "Bearer \u00e9"]
)
def test_a_stranger_without_the_token_is_refused(settings, sent):
    settings.GATEWALL_METRICS_TOKEN = TOKEN

    answer = scraped({**OUTSIDE, **({} if sent is None else {"Authorization": sent})})

    assert (answer.status_code, answer.json()["code"]) == (401, "not-authenticated")
    assert answer["WWW-Authenticate"].startswith("Bearer ")
    assert b"gatewall_" not in answer.content


@pytest.mark.parametrize("scheme", ["Bearer", "bearer"])
def test_a_stranger_with_the_token_is_let_in(settings, scheme):
    settings.GATEWALL_METRICS_TOKEN = TOKEN

    answer = scraped({**OUTSIDE, "Authorization": f"{scheme} {TOKEN}"})

    assert (answer.status_code, answer["Content-Type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")


@pytest.mark.parametrize("sent", ["Bearer ", "Bearer None", "Bearer"])
def test_without_a_configured_token_no_token_is_accepted(settings, sent):
    settings.GATEWALL_METRICS_TOKEN = None

    assert scraped({**OUTSIDE, "Authorization": sent}).status_code == 401


def test_a_trusted_network_is_matched_by_the_client_address(settings):
    settings.GATEWALL_TRUSTED_PROXIES = TrustedProxies.parse(["127.0.0.1", "10.0.0.0/8"])

    assert scraped({"X-Forwarded-For": "10.1.2.3"}).status_code == 200
    assert scraped({"X-Forwarded-For": "10.1.2.3, 203.0.113.9"}).status_code == 401


def test_with_an_empty_list_no_network_is_trusted(settings):
    settings.GATEWALL_TRUSTED_PROXIES = TrustedProxies.parse([])

    assert scraped().status_code == 401


def test_an_admin_session_gives_no_access_to_metrics(admin, settings):
    settings.GATEWALL_TRUSTED_PROXIES = TrustedProxies.parse([])

    assert admin.get("/metrics").status_code == 401


@pytest.mark.parametrize("accept", ["text/plain", "application/openmetrics-text;version=1.0.0", "text/html", "*/*"])
def test_the_answer_is_text_for_every_accept_header(accept):
    assert scraped({"Accept": accept})["Content-Type"].startswith("text/plain")


def test_a_malformed_address_chain_gives_no_access_to_metrics(anonymous):
    response = anonymous.get("/metrics", headers={"X-Forwarded-For": ",".join(["127.0.0.1"] * 33)})

    assert response.status_code == 401
