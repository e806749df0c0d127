"""Optimized encodings of a record give the same bytes as the general one."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.spool.records import AccessRecord
from gatewall.engine.model import DecidedBy, Effect, Reason, Verdict
from gatewall.engine.rule_match import RuleMatch
from gatewall.engine.shared import Shared
from gatewall.gate import record
from gatewall.gate.record import record_of
from tests.support.cast import BOB_SUBJECT, LICENSE_SUBJECT, NOW, a_decision, a_policy, a_request

RULES = (RuleMatch(1, "one", "sqli", 5, enforced=False),)
AGENTS = [
    "curl/8",
    "",
    "Mozilla/5.0 (X11; Linux x86_64)",
    "a=b",
    "ghp_" + "a1" * 20,
    "x\ny",
    "a" * 600,
    "\xe9",
    "a@b",
    '"',
]
NEW = {
    "uri": st.sampled_from(["/", "/a?x=1&password=secret", "/a;b=c", "/" + "a" * 3000, '/"', "/gwg_" + "a1" * 20]),
    "at": st.sampled_from([NOW, NOW + 0.125, 2.0**70]),
    "headers": st.sampled_from([*[{"user-agent": agent} for agent in AGENTS], {}]),
    "credentials": st.sampled_from([(), ("one",), ("one", "two")]),
    "visible": st.sampled_from([frozenset(), frozenset({"uri", "host", "for"})]),
    "client": st.sampled_from(["198.51.100.7", "2001:db8::1"]),
    "host": st.sampled_from(["office.example", None, "gwg_" + "a1" * 20 + ".example"]),
}
DECISIONS = {
    "subject": st.sampled_from([None, LICENSE_SUBJECT, BOB_SUBJECT, replace(BOB_SUBJECT, name="\ud800")]),
    "country_code": st.sampled_from([None, "DE"]),
    "rules": st.sampled_from([(), (), RULES]),
}
VERDICTS = st.sampled_from(
    [
        Verdict(Effect.ALLOW, Reason.SESSION_VALID),
        Verdict(Effect.ALLOW, Reason.CLIENT_ALLOWED, DecidedBy("ip-white-list", 3)),
        Verdict(Effect.DENY, Reason.CLIENT_BLOCKED, DecidedBy("ip-black-list", 3)),
    ]
)


SECRETS = ["/a;password=x", "/password=x", "/a%3bpassword%3dx", "/x:y@b", '/{"password":"x"}', "/a" * 1500]
FACTS = {"decision_id": "019cebab-8748-7000-8000-000000000001", "status": 200, "answered_at": NOW + 0.2}


@pytest.mark.parametrize("text", [*SECRETS, "/gwg_" + "a1" * 20])
@pytest.mark.parametrize("effect", [Effect.ALLOW, Effect.DENY])
def test_a_new_record_with_an_unusual_text_has_the_bytes_of_the_general_encoding(text, effect):
    verdict = Verdict(effect, Reason.SESSION_VALID)
    page = {"sec-fetch-site": "cross-site"}
    for request in (a_request(uri=text), a_request(headers={"user-agent": text}), a_request(headers=page)):
        asked = (request, replace(a_decision(), verdict=verdict), None)
        assert record.record_of_new(*asked, **FACTS).to_bytes() == record_of(*asked, **FACTS).to_bytes()
        assert text.encode() not in record.record_of_new(*asked, **FACTS).to_bytes()


@given(
    asked=st.fixed_dictionaries(NEW),
    decided=st.fixed_dictionaries(DECISIONS),
    verdict=VERDICTS,
    policy=st.sampled_from([None, a_policy(version=2**70), a_policy(log_query_strings="masked")]),
)
def test_a_new_record_has_the_bytes_of_the_general_encoding(asked, decided, verdict, policy):
    request, decision = a_request(**asked), replace(a_decision(**decided), verdict=verdict)
    facts = {"decision_id": "019cebab-8748-7000-8000-000000000001", "status": 200, "answered_at": asked["at"] + 0.2}

    found = record.record_of_new(request, decision, policy, **facts)

    assert found.to_bytes() == record_of(request, decision, policy, **facts).to_bytes()
    assert found.at == request.at


AGAIN = [
    {"request": {"uri": "/a?x=1&password=secret"}},
    {"request": {"uri": '/"quoted"\\,"path":"","query":"",\xe4'}},
    {"request": {"uri": "/late", "at": NOW + 0.125}},
    {"decision": {"subject": LICENSE_SUBJECT}},
    {"decision": {"country_code": "DE"}},
    {"verdict": Verdict(Effect.ALLOW, Reason.CLIENT_ALLOWED, DecidedBy("ip-white-list", 3))},
    {"verdict": Verdict(Effect.DENY, Reason.CLIENT_BLOCKED, DecidedBy("ip-black-list", 3))},
    {"decision": {"rules": (RuleMatch(1, "one", "sqli", 5, enforced=False),)}},
    {"revision": 6, "log_query_strings": "masked"},
    {},
]


def test_a_record_that_shares_bytes_with_the_last_one_is_the_same_record():
    shared, policies = Shared(), {}
    for change in [*AGAIN, *reversed(AGAIN), AGAIN[0], AGAIN[0]]:
        settings = tuple((name, change[name]) for name in ("log_query_strings",) if name in change)
        revision = change.get("revision", 5)
        policy = policies.setdefault((revision, settings), a_policy(version=revision, **dict(settings)))
        asked = a_request(headers={"user-agent": '"latency_us":0,'}, **change.get("request", {}))
        request, decision = replace(asked, shared=shared), a_decision(**change.get("decision", {}))
        decision = replace(decision, verdict=change.get("verdict", decision.verdict))
        facts = {"decision_id": "019cebab-8748-7000-8000-000000000001", "status": 200, "answered_at": NOW + 0.2}

        again = record.record_again(request, decision, policy, **facts)

        assert again.at == request.at
        assert AccessRecord.from_bytes(again.to_bytes()) == record_of(request, decision, policy, **facts)
        assert again.to_bytes() == record_of(request, decision, policy, **facts).to_bytes()
