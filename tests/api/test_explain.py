"""``POST /policy/explain``: the answer that the gate would give, without side effects."""

import json
import logging

import pytest

from accounts import services as accounts
from gatewall.engine.model import Reason
from gatewall.engine.steps import STEPS
from gatewall.policy import revisions, system_settings
from policies import services
from policies.models import ShareLink
from tests.api.explain_cases import CASES, domain, rate, session
from tests.support.cast import CLIENT, OFFICE
from tests.support.proxies import a_git_token, a_license, a_token
from tests.support.share_links import cookie_of

pytestmark = pytest.mark.django_db
VISIT = {"client_ip": CLIENT, "host": OFFICE, "method": "GET", "uri": "/?q=attack", "scheme": "https"}
SENT_AS = {"session": "service_authorization", "git-token": "service_git_token", "license": "service_license"}


@pytest.fixture
def explain(admin):
    """Return a function that explains a visit with these parts replaced; None omits a part."""

    def ask(**parts):
        body = {name: value for name, value in (VISIT | parts).items() if value is not None}
        response = admin.post("/policy/explain", body)
        assert response.status_code == 200, response.json()
        return response.json()

    return ask


def answered(auth, **parts):
    """Return the answer of ``/auth`` to the same visit: status, reason, and seconds to wait."""
    visit = VISIT | parts
    headers = {
        "x_forwarded_for": visit["client_ip"],
        "x_forwarded_host": visit["host"],
        "x_forwarded_method": visit["method"],
        "x_forwarded_uri": visit["uri"],
        "x_forwarded_proto": visit["scheme"],
    }
    headers |= {name.lower().replace("-", "_"): value for name, value in visit.get("headers", {}).items()}
    if credential := visit.get("credential"):
        headers |= sent(credential)
    answer = auth(**headers)
    return (*answer.verdict, int(answer.headers.get("Retry-After", 0)))


def sent(credential):
    """Return the header of a credential; a guest has the cookie of the share link."""
    if credential["kind"] == "guest":
        return {"cookie": cookie_of(ShareLink.objects.get(pk=credential["id"]))}
    if credential["kind"] not in SENT_AS:
        return {"authorization": f"Bearer {credential['token']}"}
    return {SENT_AS[credential["kind"]]: credential["token"]}


def verdict_of(explanation):
    decision = explanation["decision"]
    return decision["status"], decision["reason"], decision.get("retry_after", 0)


def test_every_reason_has_a_request_case():
    assert set(CASES) == set(Reason)


@pytest.mark.parametrize("reason", Reason, ids=str)
def test_the_explanation_is_the_answer(explain, new_gate, auth, wall, bob, tmp_path, monkeypatch, reason):
    if reason is Reason.CANNOT_DECIDE:  # a gate that has read the policy once keeps deciding with it
        CASES[reason]()
        parts, auth = {}, new_gate()
    else:
        parts = CASES[reason](auth=auth, wall=wall, bob=bob, tmp_path=tmp_path, monkeypatch=monkeypatch) or {}
        auth = new_gate()

    explanation = explain(**parts)

    answer = answered(auth, **parts)
    assert answer[1] == reason.value
    assert verdict_of(explanation)[:2] == answer[:2]
    assert explanation["policy_revision"] == (0 if reason is Reason.CANNOT_DECIDE else revisions.current().revision)
    assert [step["step"] for step in explanation["trace"] if step["decided"]] == [
        step["step"] for step in explanation["trace"] if step["reached"]
    ][-1:]


@pytest.mark.parametrize("reason", sorted(set(Reason) - {Reason.CANNOT_DECIDE}), ids=str)
def test_the_trace_has_every_step_in_order(explain, auth, wall, bob, tmp_path, monkeypatch, reason):
    parts = CASES[reason](auth=auth, wall=wall, bob=bob, tmp_path=tmp_path, monkeypatch=monkeypatch)

    trace = explain(**(parts if isinstance(parts, dict) else {}))["trace"]

    assert [step["step"] for step in trace] == [step.name for step in STEPS]
    (deciding,) = (number for number, step in enumerate(trace) if step["decided"])
    assert [step["reached"] for step in trace] == [number <= deciding for number in range(len(trace))]
    assert [step["outcome"] for step in trace[:deciding]] == ["not matched"] * deciding
    assert trace[deciding]["reason"] == reason.value


def test_the_rate_names_the_seconds_as_the_gate_does(clock, explain, auth):
    rate(auth)

    explanation = explain()

    assert explanation["decision"]["retry_after"] > 0
    assert answered(auth)[2] == explanation["decision"]["retry_after"]


def test_an_explained_request_is_not_counted(explain, auth):
    system_settings.change(actor="alice", request_rate_per_minute=2)
    auth()

    reasons = {verdict_of(explain())[1] for _ in range(5)}

    assert reasons == {"credential-missing"}
    assert answered(auth)[1] == "credential-missing"
    assert answered(auth)[1] == "client-rate-limited"


def test_an_explained_request_leaves_no_record_and_changes_nothing(explain, auth, tmp_path, bob):
    credential = session(bob)
    auth()

    def state():
        files = (path for path in tmp_path.rglob("*") if path.is_file() and path.name != "api-rate")  # counts calls
        return revisions.current(), {path: path.read_bytes() for path in files}

    before = state()
    explain(**credential)
    assert state() == before  # it includes the record of the earlier visit


def test_an_explanation_names_subject_domain_client_and_rules(explain, office, bob):
    rule = services.create_waf_rule(actor="alice", name="watch", pattern="attack", action="monitor")

    explanation = explain(**session(bob))

    assert explanation["subject"] == {"kind": "user", "id": bob.pk, "name": "Bob"}
    assert (explanation["domain"], explanation["client_ip"], explanation["fault"]) == (OFFICE, CLIENT, None)
    place = {"target": "uri", "name": None}
    assert explanation["rules"] == [{"id": rule.pk, "name": "watch", "action": "monitor", "place": place}]
    assert explanation["visible"] == ["for", "headers", "host", "method", "proto", "uri"]
    (matched,) = (rule for step in explanation["trace"] for rule in step["rules"])
    assert matched == {**explanation["rules"][0], "places": matched["places"]} != explanation["rules"][0]


def test_the_row_that_decided_is_named(explain):
    entry = services.block_network(actor="alice", network=CLIENT)

    assert explain()["decision"]["decided_by"] == {"kind": "ip-black-list", "id": entry.pk}


def test_a_malformed_request_names_its_fault_and_skips_later_steps(explain):
    explanation = explain(uri="no path")

    assert explanation["fault"] == "x-forwarded-uri is not a path"
    assert {step["outcome"] for step in explanation["trace"][1:]} == {None}


def test_the_next_explanation_sees_the_last_change(explain):
    assert verdict_of(explain())[1] == "credential-missing"

    services.block_network(actor="alice", network=CLIENT)

    assert verdict_of(explain())[1] == "client-blocked"


@pytest.mark.parametrize(
    ("credential", "reason"),
    [
        ({"kind": "user", "name": "bob"}, "session-valid"),
        ({"kind": "user", "name": "dora"}, "credential-invalid"),
        ({"kind": "license", "name": "build farm"}, "license-valid"),
    ],
    ids=["user", "disabled", "license"],
)
def test_a_user_can_be_assumed_as_signed_in(explain, wall, bob, credential, reason):
    wall.a_user("dora", is_active=False)
    a_license()

    assert verdict_of(explain(credential=credential))[1] == reason


def test_the_second_factor_may_be_assumed(explain, bob):
    domain("two_factor")
    reasons = [
        verdict_of(explain(credential={"kind": "user", "id": bob.pk, "amr": amr}))[1]
        for amr in (["pwd"], ["pwd", "otp"])
    ]

    assert reasons == ["second-factor-required", "session-valid"]


def test_explaining_opens_no_session(explain, bob):
    explain(credential={"kind": "user", "id": bob.pk})

    assert not bob.sessions.exists()


def test_credentials_may_be_given_as_headers(explain, bob):
    token = a_token(bob)

    assert verdict_of(explain(headers={"Cookie": f"a=b; service.token={token}"}))[1] == "session-valid"
    assert verdict_of(explain(headers={"Service-License": ["gwl_none", a_license()]}))[1] == "license-valid"


def test_a_token_is_in_no_answer_and_no_log(explain, admin, bob, caplog):
    caplog.set_level(logging.DEBUG)
    services.create_waf_rule(actor="alice", name="all", pattern=".", targets=["headers", "cookies"], action="monitor")
    token, git = a_token(bob), a_git_token(bob)

    answers = [
        explain(credential={"kind": "session", "token": token}, headers={"Service-Git-Token": f"Bob:{git}"}),
        admin.post("/policy/explain", VISIT | {"credential": {"kind": "user", "token": token}}).json(),
        admin.post("/policy/explain", VISIT | {"credential": {"kind": "session", "token": [token]}}).json(),
        admin.post("/policy/explain", VISIT | {"credential": {"kind": token}}).json(),
        admin.post("/policy/explain", VISIT | {"headers": {"Service-Authorization": f"{token}\n"}}).json(),
    ]

    said = json.dumps(answers) + caplog.text
    assert token not in said
    assert git not in said


def test_text_beyond_ascii_is_encoded_as_utf_8(explain, new_gate):
    services.create_waf_rule(actor="alice", name="umlaut", pattern="ä")
    wire = "/ä".encode().decode("latin-1")

    assert verdict_of(explain(uri="/ä"))[:2] == answered(new_gate(), uri=wire)[:2] == (403, "waf-rule")


def test_the_session_of_a_just_disabled_user_is_invalid(explain, bob):
    credential = session(bob)
    assert verdict_of(explain(**credential))[1] == "session-valid"

    accounts.change_user(bob, actor="alice", is_active=False)

    assert verdict_of(explain(**credential))[1] == "credential-invalid"
