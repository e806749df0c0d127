"""``GET /access-logs/:decision_id``: the trace of a recorded answer, and today's answer."""

import pytest

from audit.models import AccessLog
from audit.storage import ingest
from gatewall.engine.steps import STEPS
from gatewall.policy import system_settings
from policies import services
from tests.support.cast import CLIENT
from tests.support.proxies import a_token
from tests.support.records import a_record

pytestmark = pytest.mark.django_db


def entry(admin, decision_id, **parameters):
    response = admin.get(f"/access-logs/{decision_id}", parameters)
    assert response.status_code == 200, response.json()
    return response.json()


def steps_of(trace):
    return [step["step"] for step in trace]


def a_rule_row(name, pattern, target, **values):
    return services.create_waf_rule(actor="", name=name, pattern=pattern, targets=[target], **values)


NAMES = [step.name for step in STEPS]


def test_an_entry_shows_the_trace_of_its_decision(admin, visits):
    blocked = services.block_network(actor="", network="203.0.113.0/24")
    decision_id = visits(x_forwarded_for="203.0.113.9")

    shown = entry(admin, decision_id)

    assert shown["again"] is None
    assert shown["decided_by"] == {"kind": "ip-black-list", "id": blocked.pk}
    assert steps_of(shown["trace"]) == NAMES
    first, second, *later = shown["trace"]
    assert (first["reached"], first["outcome"], first["decided"]) == (True, "not matched", False)
    path = f"/wall/ip-black-list/{blocked.pk}"
    assert second == {
        "step": "client-is-blocked",
        "reached": True,
        "decided": True,
        "outcome": "deny",
        "reason": "client-blocked",
        "decided_by": {"kind": "ip-black-list", "id": blocked.pk, "path": path},
        "rules": [],
    }
    assert all((step["reached"], step["outcome"]) == (False, None) for step in later)
    assert admin.get(path.removeprefix("/wall")).status_code == 200


def test_rules_stand_at_their_step(admin, visits):
    rule = a_rule_row("watch", "attack", "query", action="monitor")
    decision_id = visits(x_forwarded_uri="/?q=attack")

    (step,) = (step for step in entry(admin, decision_id)["trace"] if step["rules"])

    assert (step["step"], step["decided"], step["outcome"]) == ("waf-rules-match", False, "not matched")
    place = {"target": "query", "name": None, "form": "as-sent", "text": "attack"}
    noted = {"target": "query", "name": None}
    assert step["rules"] == [{"id": rule.pk, "name": "watch", "action": "monitor", "place": noted, "places": [place]}]


def test_a_match_in_an_unlogged_part_shows_only_its_part_and_name(admin, visits):
    rule = a_rule_row("watch", "attack", "cookies", action="monitor")
    decision_id = visits(x_forwarded_uri="/?q=attack", cookie="a=attack")

    (step,) = (step for step in entry(admin, decision_id)["trace"] if step["rules"])

    place = {"target": "cookies", "name": "a"}
    assert step["rules"] == [{"id": rule.pk, "name": "watch", "action": "monitor", "place": place, "places": []}]


def test_a_place_shows_no_secret_that_the_log_has_masked(admin, visits):
    a_rule_row("watch", "hunter", "query", action="monitor")
    decision_id = visits(x_forwarded_uri="/?password=hunter22")

    assert "hunter" not in str(entry(admin, decision_id, again="true"))


def test_deciding_again_shows_where_rules_match(admin, visits):
    a_rule_row("watch", "attack", "args", action="monitor")

    again = entry(admin, visits(x_forwarded_uri="/?q=attack"), again="true")["again"]

    (step,) = (step for step in again["trace"] if step["rules"])
    assert [place["name"] for place in step["rules"][0]["places"]] == ["q"]


@pytest.mark.parametrize(("inspect", "step"), [(False, "client-is-allowed"), (True, "inspected-client-is-allowed")])
def test_an_allowed_client_was_allowed_at_the_step_of_its_entry(admin, visits, inspect, step):
    services.allow_network(actor="", network=CLIENT, inspect=inspect)

    shown = entry(admin, visits(), again="true")

    assert [each["step"] for each in shown["trace"] if each["decided"]] == [step]
    assert [each["step"] for each in shown["again"]["trace"] if each["decided"]] == [step]


def test_an_entry_of_an_error_has_no_reached_step(admin, log):
    log(a_record(1, reason="cannot-decide", outcome="error", status=503, decided_by=None, rules=[]))

    shown = entry(admin, "019cebab-8748-7000-8000-000000000001", again="true")

    assert not any(step["reached"] for step in shown["trace"])
    assert (shown["again"]["decision"], shown["again"]["undecidable"]) == (None, "request")


def test_decided_again_under_the_same_policy_the_answer_is_the_same(admin, visits, bob):
    for headers in ({}, {"service_authorization": a_token(bob)}, {"x_forwarded_host": "a b"}, {"service_license": "x"}):
        again = entry(admin, visits(**headers), again="true")["again"]

        assert (again["same"], again["undecidable"]) == (True, None), headers
        assert steps_of(again["trace"]) == NAMES


def test_decided_again_after_a_change_the_answer_is_that_of_today(admin, visits, bob):
    decision_id = visits(service_authorization=a_token(bob))
    blocked = services.block_network(actor="", network=CLIENT)

    again = entry(admin, decision_id, again="true")["again"]

    assert again["decision"] == {
        "status": 403,
        "outcome": "deny",
        "reason": "client-blocked",
        "decided_by": {"kind": "ip-black-list", "id": blocked.pk, "path": f"/wall/ip-black-list/{blocked.pk}"},
    }
    assert (again["same"], again["assumed"]) == (False, [])


def test_deciding_again_refuses_the_credential_of_a_disabled_user(admin, visits, bob):
    decision_id = visits(service_authorization=a_token(bob))
    assert entry(admin, decision_id, again="true")["again"]["assumed"] == ["credential"]

    admin.put(f"/users/{bob.pk}", {"is_active": False})

    again = entry(admin, decision_id, again="true")["again"]
    assert (again["decision"]["reason"], again["assumed"]) == ("credential-invalid", ["credential"])


def test_deciding_again_names_the_missing_attribute(admin, visits, bob):
    entry_row = services.block_network(actor="", network=CLIENT)
    decision_id = visits(service_authorization=a_token(bob))
    services.unblock_network(entry_row, actor="")

    again = entry(admin, decision_id, again="true")["again"]

    assert (again["decision"], again["same"], again["undecidable"]) == (None, None, "credential")
    assert {step["step"]: step["undecidable"] for step in again["trace"]}["subject-is-valid"] == "credential"


def test_deciding_again_assumes_that_unchanged_builtin_rules_match_the_same(admin, visits):
    decision_id = visits(x_forwarded_uri="/?q=1", cookie="a=b")
    a_rule_row("new", "nothing", "path")

    again = entry(admin, decision_id, again="true")["again"]

    assert (again["same"], again["undecidable"]) == (True, None)


def test_a_new_rule_that_inspects_cookies_makes_the_request_undecidable(admin, visits):
    decision_id = visits(cookie="a=b")
    a_rule_row("new", "nothing", "cookies")

    assert entry(admin, decision_id, again="true")["again"]["undecidable"] == "waf-rules"


def test_a_request_rate_limit_makes_a_recorded_request_undecidable(admin, visits):
    decision_id = visits()
    system_settings.change(actor="", request_rate_per_minute=10)

    assert entry(admin, decision_id, again="true")["again"]["undecidable"] == "request-rate"


def test_deciding_again_writes_no_record(admin, visits, settings):
    decision_id = visits()
    before = AccessLog.objects.count()

    entry(admin, decision_id, again="true")
    ingest.ship(settings.GATEWALL_HOME / "spool")

    assert AccessLog.objects.count() == before


@pytest.mark.parametrize(
    "decision_id",
    [
        "019cebab-8748-7000-8000-00000000ffff",
        "ffffffff-ffff-7fff-bfff-ffffffffffff",
        "00000000-0000-7000-8000-000000000000",
        "00000000-0000-4000-8000-000000000000",
        "1",
        "019CEBAB-8748-7000-8000-000000000001",
        "x",
    ],
)
def test_an_unknown_decision_id_is_not_found(admin, log, decision_id):
    log(a_record(1))

    assert admin.get(f"/access-logs/{decision_id}").status_code == 404


@pytest.mark.parametrize("query", ["again=yes", "again=", "again=true&again=true", "again=TRUE", "color=red"])
def test_an_invalid_parameter_of_an_entry_is_refused(admin, log, query):
    log(a_record(1))

    response = admin.get(f"/access-logs/019cebab-8748-7000-8000-000000000001?{query}")

    assert response.json()["errors"][0]["field"] == query.partition("=")[0]


def test_an_answer_has_a_tag(admin, log):
    log(a_record(1))
    path = "/access-logs/019cebab-8748-7000-8000-000000000001"

    tag = admin.get(path).headers["ETag"]

    assert admin.get(path, headers={"If-None-Match": tag}).status_code == 304


def test_a_change_history_above_the_limit_is_not_read(admin, visits, monkeypatch):
    from gatewall.whatif import change_histories  # noqa: PLC0415

    decision_id = visits(cookie="a=b")
    a_rule_row("new", "nothing", "path")
    monkeypatch.setattr(change_histories, "MAX_REVISIONS", 0)

    assert entry(admin, decision_id, again="true")["again"]["undecidable"] in {None, "waf-rules"}
    assert not change_histories.changes_between(0, 1).row_is_as_of(0, "waf-rules", 1)
