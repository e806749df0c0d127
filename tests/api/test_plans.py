"""Plans over HTTP: a plan shows the effect of a proposal and changes nothing."""

from datetime import timedelta

import pytest
from django.utils import timezone

from gatewall.models import PendingConfirmation, PolicyRevision
from gatewall.policy import revisions, system_settings
from gatewall.whatif.backtest import running, runs
from gatewall.whatif.backtest.models import Backtest
from policies import services
from policies.document.applying import apply
from policies.document.export import export
from policies.document.reading import read
from policies.models import AccessRule
from tests.api.plans import CLOSED, DOMAIN, expect, plan, planned
from tests.support.cast import CLIENT, OFFICE
from tests.support.proxies import Api, a_token, a_user

pytestmark = pytest.mark.django_db


def test_a_plan_lists_the_changes_of_a_document_and_applies_none(admin, office):
    before = revisions.current()

    answer = plan(admin, CLOSED)
    body = answer.json()

    assert answer.status_code == 201
    assert answer.headers["Location"].endswith(f"/policy/plan/{body['id']}")
    (change,) = body["changes"]
    assert (change["resource"], change["name"], change["action"]) == ("authorized-domains", OFFICE, "changed")
    assert (change["before"], change["after"]) == ({"access": "authenticated"}, {"access": "denied"})
    assert body["counts"] == [{"resource": "authorized-domains", "action": "changed", "count": 1}]
    assert (body["revision"], body["state"], body["replay"], body["kind"]) == (
        before.revision,
        "queued",
        None,
        "document",
    )
    assert (body["would_lock_you_out"], body["applied_revision"]) == (False, None)
    assert revisions.current() == before
    office.refresh_from_db()
    assert office.access == "authenticated"
    assert not PendingConfirmation.objects.exists()


def test_a_plan_is_listed_shown_replayed_and_deleted(admin, office):
    made = planned(admin, CLOSED)
    (listed,) = admin.get("/policy/plan").json()["results"]
    assert admin.get("/policy/backtest").json()["results"] == []
    assert listed == {name: value for name, value in made.items() if name in listed}
    assert "changes" not in listed

    assert running.run(runs.claim_next(timezone.now()))
    done = admin.get(f"/policy/plan/{made['id']}").json()

    assert done["state"] == "finished"
    assert (done["replay"]["rows"], done["replay"]["changed"], done["replay"]["people"]) == (0, 0, [])
    assert admin.get(f"/policy/backtest/{made['id']}").status_code == 404
    assert admin.delete(f"/policy/plan/{made['id']}").status_code == 204
    assert admin.get(f"/policy/plan/{made['id']}").status_code == 404


def test_equal_proposals_for_equal_policies_have_equal_digests_and_no_others(admin, office):
    as_object = {"version": 1, "domains": [{"access": "denied", "name": OFFICE}]}
    first = planned(admin, CLOSED)["digest"]
    assert planned(admin, as_object)["digest"] == planned(admin, CLOSED, force=True)["digest"] == first
    opened = planned(admin, CLOSED.replace("denied", "public"))["digest"]
    services.block_network(actor="", network="192.0.2.1")
    later = planned(admin, CLOSED)["digest"]

    assert len({first, opened, later}) == 3


def test_changes_settings_and_restores_are_planned(admin, office):
    then = revisions.current().revision
    services.change_domain(office, actor="", access="public")
    draft = {"resource": "authorized-domains", "values": {"name": "new.example"}}

    many = admin.post("/policy/plan", {"changes": [draft]}).json()
    one = admin.post("/policy/plan", {"resource": "system/settings", "values": {"waf_threshold": 9}}).json()
    back = admin.post("/policy/plan", {"restore": then}).json()

    assert [(each["name"], each["id"]) for each in many["changes"] if each["action"] == "created"] == [
        ("new.example", None)
    ]
    assert one["changes"][0]["after"] == {"waf_threshold": 9}
    assert back["changes"][0]["after"] == {"access": "authenticated"}
    assert len({each["digest"] for each in (many, one, back)}) == 3


def test_a_plan_lists_omitted_settings_with_their_previous_values(admin, office):
    system_settings.change(actor="x", waf_threshold=9, waf_mode="monitor", contact="desk@office.example")
    one = "version: 1\nsettings:\n  waf_threshold: 12\n"

    (told,) = [planned(admin, one)["reset_settings"]]

    assert {"name": "contact", "before": "desk@office.example", "after": ""} in told
    assert {"name": "waf_mode", "before": "monitor", "after": "block"} in told
    assert "waf_threshold" not in {each["name"] for each in told}
    assert planned(admin, export().canonical().decode())["reset_settings"] == []
    assert planned(admin, CLOSED)["reset_settings"] == []
    assert admin.post("/policy/plan", {"changes": [DOMAIN]}).json()["reset_settings"] == []


def test_the_window_is_a_number_of_seconds_or_two_moments(admin, office):
    body = planned(admin, CLOSED, window=7200)
    run = Backtest.objects.get(pk=body["id"])
    assert run.end_time - run.start_time == timedelta(hours=2)
    assert abs(run.end_time - timezone.now()) < timedelta(minutes=5)

    moments = {"start_time": "2026-01-01T00:00:00Z", "end_time": "2026-01-02T00:00:00Z"}
    assert {name: planned(admin, CLOSED, **moments)[name] for name in moments} == moments
    refused = plan(admin, CLOSED, window=7200, **moments)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "window")


def test_a_plan_decides_every_expectation_under_the_policy_after_the_change(admin, office, bob):
    wanted = CLOSED + expect(
        ("open", {"as": {"user": bob.username}}, "allow", ""),
        ("shut", {"as": {"user": bob.username}}, "deny", "host-not-authorized"),
        ("other reason", {}, "deny", "client-blocked"),
        ("nobody", {"as": {"user": "Zoe"}}, "deny", ""),
        ("rate", {}, "deny", "client-rate-limited"),
    )

    found = {each["name"]: each for each in planned(admin, wanted)["expectations"]}

    assert {name for name, each in found.items() if each["passed"]} == {"shut"}
    assert found["open"]["wanted"] == {"effect": "allow", "reason": None}
    assert (found["open"]["got"]["effect"], found["open"]["got"]["reason"]) == ("deny", "host-not-authorized")
    assert found["open"]["got"]["decided_by"] == {"kind": "authorized-domains", "id": office.pk}
    assert (found["nobody"]["got"], found["nobody"]["undecidable"]) == (None, "there is no user Zoe")
    assert found["rate"]["undecidable"] == "the answer depends on the requests before it"


def test_a_proposal_without_expectations_is_measured_by_the_stored_ones(admin, office, bob):
    stored = "version: 1\n" + expect(("open", {"as": {"user": bob.username}}, "allow", ""))
    apply(read(stored.encode()), actor="")

    (kept,) = planned(admin, CLOSED)["expectations"]
    (still,) = admin.post("/policy/plan", {"changes": [DOMAIN]}).json()["expectations"]

    assert (kept["name"], kept["passed"], still["passed"]) == ("open", False, True)


@pytest.fixture
def me(alice):
    """Return a client of Alice, who comes through the proxy to office.example."""
    return Api(a_token(alice), **{"X-Forwarded-For": CLIENT, "Host": OFFICE})


def test_a_plan_warns_that_it_would_lock_out_its_author(me, office):
    own = f"version: 1\nblocklist:\n- ip: {CLIENT}\n"

    body = planned(me, own)

    assert body["would_lock_you_out"] is True
    assert not PendingConfirmation.objects.exists()
    assert planned(me, own.replace(CLIENT, "192.0.2.1"))["would_lock_you_out"] is False


LOOPBACK = "127.0.0.0/8"


@pytest.mark.parametrize(
    "proposal",
    [
        {"document": f"version: 1\nblocklist:\n- ip: {LOOPBACK}\n"},
        {"resource": "ip-black-list", "values": {"ip": LOOPBACK}},
    ],
    ids=["document", "resource"],
)
def test_a_plan_to_block_loopback_warns_a_caller_on_this_machine(admin, me, proposal):
    answer = admin.post("/policy/plan", proposal)

    assert (answer.status_code, answer.json().get("would_lock_you_out")) == (201, True)
    assert admin.post("/policy/apply", {"digest": answer.json()["digest"]}).json()["code"] == "would-lock-you-out"
    assert me.post("/policy/plan", proposal).json()["would_lock_you_out"] is False


def test_a_plan_warns_of_an_access_rule_that_locks_out_its_author(me, office):
    closed = f"version: 1\naccess_rules:\n- name: shut\n  access: denied\n  domains: [{OFFICE}]\n"

    assert planned(me, closed)["would_lock_you_out"] is True
    assert not AccessRule.objects.exists()


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, {"resource"}),
        ({"document": "version: 1", "restore": 1}, {"restore"}),
        ({"document": 1}, {"document"}),
        ({"document": ""}, {"document"}),
        ({"document": "version: 2"}, {"document"}),
        ({"document": "version: 1\nversion: 1"}, {"document"}),
        ({"document": "version: 1\na: &a [1]\nb: *a"}, {"document"}),
        ({"document": {"version": 1, "rules": []}}, {"document"}),
        ({"document": "version: 1\naccess_rules:\n- {name: a, access: denied, domains: [no.example]}"}, {"document"}),
        ({"document": "version: 1\ndomains:\n- name: a.example\n- name: a.example"}, {"document"}),
        ({"document": "version: 1", "window": 10}, {"window"}),
        ({"document": "version: 1", "more": 1}, {"more"}),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(admin, office, body, fields):
    refused = admin.post("/policy/plan", body)

    assert refused.status_code == 400, refused.json()
    assert {each["field"] for each in refused.json()["errors"]} == fields
    assert not Backtest.objects.exists()


def test_a_plan_needs_room_among_the_backtests(admin, office):
    for _ in range(runs.KEPT):
        planned(admin, CLOSED)

    refused = plan(admin, CLOSED)

    assert (refused.status_code, refused.json()["code"]) == (409, "too-many-backtests")


def test_an_auditor_may_plan(office):
    eve = Api(a_token(a_user("eve", is_auditor=True)))
    made = planned(eve, CLOSED)

    assert eve.get(f"/policy/plan/{made['id']}").json() == made
    assert eve.delete(f"/policy/plan/{made['id']}").status_code == 403


def test_a_document_is_backtested_and_saved_if_its_expectations_hold(admin, office):
    shut = expect(("shut", {}, "deny", "host-not-authorized"))
    made = admin.post("/policy/backtest", {"document": CLOSED + shut}).json()
    assert (made["kind"], made["draft"], made["changes"], made["restore"]) == ("document", None, None, None)
    assert running.run(runs.claim_next(timezone.now()))
    before = PolicyRevision.objects.count()

    shown = admin.get(f"/policy/backtest/{made['id']}").json()

    assert (shown["state"], shown["document"]) == ("finished", CLOSED + shut)
    assert PolicyRevision.objects.count() == before
