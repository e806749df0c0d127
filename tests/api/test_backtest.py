"""``/policy/backtest`` and ``/policy/blast-radius`` over HTTP."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from audit.storage import ingest
from gatewall.engine.addresses import parse_address
from gatewall.kernel.clientip import Caller
from gatewall.policy import revisions
from gatewall.whatif.backtest import running, runs, saving
from gatewall.whatif.backtest.models import Backtest
from policies import services
from policies.history.lockout import WouldLockYouOut
from tests.support.cast import CLIENT
from tests.support.records import a_record
from tests.support.spool_shipping import spooled

pytestmark = pytest.mark.django_db

PATH = "/policy/backtest"
BLOCK = {"resource": "ip-black-list", "values": {"ip": CLIENT}}


@pytest.fixture
def record(tmp_path, bob):
    let_in = {"status": 200, "outcome": "allow", "reason": "session-valid", "rules": [], "decided_by": None}
    subject = {"kind": "user", "id": bob.pk, "name": "Bob"}
    at = timezone.now().timestamp() - 60
    rows = [a_record(n, at=at, subject=subject, policy_revision=0, **let_in) for n in (1, 2)]
    spooled(tmp_path / "spool", rows)
    ingest.ship(tmp_path / "spool")


def test_a_backtest_is_asked_for_polled_and_read(admin, record):
    before = revisions.current()
    asked = admin.post(PATH, BLOCK)
    shown = asked.json()
    path = asked["Location"].removeprefix("/wall")

    assert asked.status_code == 201
    assert path == f"{PATH}/{shown['id']}"
    assert shown["state"] == "queued"
    assert shown["progress"] == {"done": 0, "total": None}
    assert shown["draft"] == {"change": "create", "id": None, "values": {"ip": CLIENT}, "force": False}
    assert admin.get(path).json()["result"] is None

    assert running.run(runs.claim_next(timezone.now()))

    done = admin.get(path).json()
    assert (done["state"], done["progress"]) == ("finished", {"done": 2, "total": 2})
    assert done["result"]["people"]["results"][0]["name"] == "Bob"
    assert done["result"]["changes"]["results"][0]["count"] == 2
    assert done["result"]["complete_from"] is None
    assert revisions.current() == before


def test_a_draft_may_change_or_delete_a_row(admin, record):
    services.block_network(actor="", network=CLIENT)
    entry = services.block_network(actor="", network="203.0.113.9")

    change = admin.post(PATH, {**BLOCK, "change": "update", "id": entry.pk, "values": {"ip": "203.0.113.8"}})
    delete = admin.post(PATH, {"resource": "ip-black-list", "change": "delete", "id": entry.pk})

    assert (change.status_code, delete.status_code) == (201, 201)


def test_the_window_defaults_to_the_last_24_hours(admin):
    start, end = "2026-01-01T00:00:00Z", "2026-01-02T12:00:00Z"

    usual, said = (
        admin.post(PATH, BLOCK).json(),
        admin.post(PATH, {**BLOCK, "start_time": start, "end_time": end}).json(),
    )

    kept = Backtest.objects.get(pk=usual["id"])
    assert kept.end_time - kept.start_time == timedelta(hours=24)
    assert abs(timezone.now() - kept.end_time) < timedelta(minutes=1)
    assert (said["start_time"], said["end_time"]) == (start, end)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "resource"),
        ({"resource": "sessions"}, "resource"),
        ({**BLOCK, "change": "explode"}, "change"),
        ({**BLOCK, "more": 1}, "more"),
        ({**BLOCK, "values": []}, "values"),
        ({**BLOCK, "values": {}}, "values.ip"),
        ({**BLOCK, "values": {"ip": CLIENT, "source": "x"}}, "values.source"),
        ({**BLOCK, "values": {"ip": "10.0.0.1/8"}}, "values.ip"),
        ({**BLOCK, "id": 1}, "id"),
        ({**BLOCK, "change": "update"}, "id"),
        ({**BLOCK, "change": "update", "id": 999}, "id"),
        ({**BLOCK, "change": "delete", "id": 1}, "values"),
        ({"resource": "users", "values": {"all_domains": True}}, "change"),
        ({"resource": "users", "change": "update", "id": 1, "values": {"is_admin": True}}, "values.is_admin"),
        ({"resource": "geo-block-rules", "change": "update", "id": 1, "values": {"country_code": "NZ"}}, "change"),
        ({"resource": "waf-rules", "values": {"name": "a", "pattern": "("}}, "pattern"),
        ({**BLOCK, "start_time": "2026-01-02T00:00:00Z", "end_time": "2026-01-02T00:00:00Z"}, "end_time"),
        ({**BLOCK, "start_time": "2020-01-02T00:00:00Z", "end_time": "2026-01-02T00:00:00Z"}, "start_time"),
        ({**BLOCK, "start_time": "yesterday"}, "start_time"),
        ({**BLOCK, "force": "yes"}, "force"),
    ],
)
def test_a_draft_that_makes_no_sense_is_refused(admin, body, field):
    refused = admin.post(PATH, body)

    assert refused.status_code == 400
    assert field in {error["field"] for error in refused.json()["errors"]}, json.dumps(refused.json())
    assert not Backtest.objects.exists()


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (BLOCK, "duplicate"),
        ({"resource": "ip-black-list", "values": {"ip": "0.0.0.0/0"}}, "network-too-large"),
        ({"resource": "waf-rules", "values": {"name": "all", "pattern": "."}}, "matches-everything"),
    ],
)
def test_a_draft_is_refused_with_the_same_error_as_the_change_itself(admin, body, code):
    services.block_network(actor="", network=CLIENT)
    path = f"/{body['resource']}"

    asked, made = admin.post(PATH, body), admin.post(path, body["values"])

    assert (asked.status_code, asked.json()["code"]) == (made.status_code, made.json()["code"]) == (409, code)
    if code != "duplicate":
        assert admin.post(PATH, {**body, "force": True}).status_code == 201
        assert admin.post(PATH, {**body, "values": {**body["values"], "force": True}}).status_code == 201


def test_force_in_a_draft_does_not_force_its_saving(admin, record):
    asked = admin.post(PATH, {**BLOCK, "values": {"ip": CLIENT, "force": True}})
    run = runs.claim_next(timezone.now())
    assert running.run(run)

    assert asked.json()["draft"] == {"change": "create", "id": None, "values": {"ip": CLIENT}, "force": True}
    with pytest.raises(WouldLockYouOut):
        saving.save(run, saving.ENFORCE, actor="bob", caller=Caller(parse_address(CLIENT), None), force=False)


def test_the_number_of_backtests_is_limited(admin):
    codes = [admin.post(PATH, BLOCK).status_code for _ in range(runs.KEPT)]
    refused = admin.post(PATH, BLOCK)

    assert set(codes) == {201}
    assert (refused.status_code, refused.json()["code"]) == (409, "too-many-backtests")


def test_backtests_are_listed_without_their_results(admin, record):
    first, second = (admin.post(PATH, BLOCK).json() for _ in range(2))

    listed = admin.get(PATH, {"page_size": 1}).json()

    assert (listed["count"], listed["results"][0]["id"]) == (2, second["id"])
    assert "result" not in listed["results"][0]
    assert admin.get(PATH, {"ordering": "id"}).json()["results"][0]["id"] == first["id"]
    assert admin.get(PATH, {"state": "queued"}).status_code == 400


def test_a_deleted_backtest_is_not_found_and_its_process_stops(admin, record):
    path = f"{PATH}/{admin.post(PATH, BLOCK).json()['id']}"
    claimed = runs.claim_next(timezone.now())

    assert admin.delete(path).status_code == 204
    assert admin.get(path).status_code == 404
    assert admin.delete(path).status_code == 404
    assert not running.run(claimed)


def test_the_blast_radius_names_people_and_counts_their_requests(admin, record, bob):
    for parameters in ({"network": CLIENT}, {"network": "198.51.100.0/24"}, {"country": "nz"}):
        found = admin.get("/policy/blast-radius", parameters).json()

        assert (found["users"], found["machines"], found["requests"], found["complete"]) == (1, 0, 2, True)
        (row,) = found["results"]
        assert (row["kind"], row["id"], row["name"], row["count"]) == ("user", bob.pk, "Bob", 2)
    assert admin.get("/policy/blast-radius", {"network": "2001:db8::/32"}).json()["results"] == []


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({}, "network"),
        ({"network": "::1", "country": "NZ"}, "network"),
        ({"network": "10.0.0.1/8"}, "network"),
        ({"country": "NZL"}, "country"),
        ({"country": ""}, "country"),
        ({"domain": "x"}, "domain"),
    ],
)
def test_an_empty_or_invalid_blast_radius_is_refused(admin, parameters, field):
    refused = admin.get("/policy/blast-radius", parameters)

    assert refused.status_code == 400
    assert [error["field"] for error in refused.json()["errors"]] == [field]
