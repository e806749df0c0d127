"""The access-log record of an answer."""

from dataclasses import replace

import orjson
import pytest

from audit.spool.records import AccessRecord
from gatewall.engine.evaluate import CANNOT_DECIDE
from gatewall.engine.model import CredentialKind, DecidedBy, Effect, Reason, Verdict
from gatewall.engine.rule_match import RuleMatch
from gatewall.gate import record
from gatewall.gate.record import record_of
from tests.support.cast import (
    BOB_SUBJECT,
    BOBS_GIT_TOKEN,
    LICENSE_SUBJECT,
    NOW,
    a_credential,
    a_decision,
    a_policy,
    a_request,
)
from tests.unit.dialects import TONGUES

CANARY = "canary-secret"


def recorded(decision=None, request=None, *, answered_at=NOW, revision=5, status=200, **policy):
    return record_of(
        request or a_request(),
        decision or a_decision(),
        a_policy(version=revision, **policy),
        decision_id="the-id",
        status=status,
        answered_at=answered_at,
    )


def test_a_record_has_the_parts_of_the_request():
    request = replace(
        a_request(method="POST", scheme="https", host="Office.Example:8443", uri="/wiki?page=1&token=x"),
        headers=(("user-agent", "curl/8"),),
        visible=frozenset({"uri", "host", "for"}),
    )

    record = recorded(request=request)

    assert (record.at, record.client_ip, record.host) == (NOW, "198.51.100.7", "office.example")
    assert (record.method, record.scheme, record.path, record.query) == ("POST", "https", "/wiki", "page=1&token=***")
    assert (record.user_agent, record.visible) == ("curl/8", ["for", "host", "uri"])


@pytest.mark.parametrize("effect", Effect)
def test_a_record_has_outcome_and_reason(effect):
    record = recorded(a_decision(Reason.SESSION_VALID, effect=effect))

    assert (record.outcome, record.reason) == (effect.value, "session-valid")


def test_a_record_has_the_status_that_was_sent():
    assert recorded(a_decision(Reason.CREDENTIAL_MISSING, effect=Effect.CHALLENGE), status=302).status == 302


def test_a_record_names_the_deciding_row_and_the_revision():
    verdict = Verdict(Effect.DENY, Reason.CLIENT_BLOCKED, DecidedBy("blocklist", 7))

    record = recorded(replace(a_decision(), verdict=verdict, country_code="NZ"), revision=9)

    assert (record.decision_id, record.decided_by, record.country_code) == (
        "the-id",
        {"kind": "blocklist", "id": 7},
        "NZ",
    )
    assert record.policy_revision == 9


def test_a_record_lists_blocking_and_monitored_rules():
    rules = (RuleMatch(1, "one", "sqli", 5, enforced=True), RuleMatch(2, "two", "xss", 3, enforced=False))

    assert recorded(a_decision(rules=rules)).rules == [
        {"id": 1, "name": "one", "action": "block"},
        {"id": 2, "name": "two", "action": "monitor"},
    ]


@pytest.mark.parametrize(
    ("rules", "score", "would_refuse"),
    [
        ((), None, False),
        (((5, False, True),), 5, True),
        (((4, False, True),), 4, False),
        (((3, False, True), (2, False, True)), 5, True),
        (((5, False, False),), None, False),
        (((5, True, True), (2, True, True)), 7, False),
    ],
    ids=["none", "monitor mode", "too weak", "together", "a rule that only records", "block mode"],
)
def test_a_record_has_the_waf_score_and_whether_enforcement_would_refuse(rules, score, would_refuse):
    matches = [
        RuleMatch(number, "one", "sqli", points, enforced=enforced, blocks=blocks)
        for number, (points, enforced, blocks) in enumerate(rules)
    ]
    other = [RuleMatch(9, "other", "xss", 1, enforced=matches[0].enforced)] if score else []

    record = recorded(a_decision(rules=(*matches, *other)), waf_threshold=5)

    assert (record.waf_score, record.would_refuse) == (score, would_refuse)
    assert AccessRecord.from_bytes(record.to_bytes()) == record


def test_a_record_of_a_request_without_matches_has_no_bytes_for_defaults():
    silent = recorded(a_decision(rules=(RuleMatch(1, "one", "sqli", 5, enforced=True, blocks=False),)))

    assert not {"made_by_page", "shadow", "waf_score", "would_refuse"} & orjson.loads(silent.to_bytes()).keys()


def test_a_record_names_the_subject():
    assert recorded(a_decision(subject=BOB_SUBJECT)).subject == {"kind": "user", "id": 2, "name": "Bob"}
    assert recorded(a_decision(subject=LICENSE_SUBJECT)).subject == {"kind": "license", "id": 31, "name": ""}


@pytest.mark.parametrize(("subject", "state", "amr"), [(BOB_SUBJECT, "valid", ["pwd"]), (None, "not-valid", [])])
def test_a_record_has_kind_and_state_of_the_credential(subject, state, amr):
    request = a_request(credentials=[a_credential("x", CredentialKind.SESSION_COOKIE)])

    record = recorded(a_decision(subject=subject), request)

    assert record.credential == {"kind": "session-cookie", "amr": amr, "state": state}


@pytest.mark.parametrize(
    ("reason", "effect", "state"),
    [
        (Reason.CREDENTIAL_INVALID, Effect.CHALLENGE, "not-valid"),
        (Reason.HOST_PUBLIC, Effect.ALLOW, "not-valid"),
        (Reason.CLIENT_BLOCKED, Effect.DENY, "not-checked"),
        (Reason.WAF_RULE, Effect.DENY, "not-valid"),
        (Reason.CANNOT_DECIDE, Effect.ERROR, "not-checked"),
    ],
)
def test_a_record_states_whether_the_credential_was_verified(reason, effect, state):
    record = recorded(a_decision(reason, effect=effect), a_request(credentials=["x"]))

    assert record.credential["state"] == state


@pytest.mark.parametrize("uri", ["/a/{}", "/?a={}", "/?{}", "/x;y={}"])
def test_a_token_in_the_target_the_user_agent_or_the_host_reaches_no_record(uri):
    token = BOBS_GIT_TOKEN
    request = a_request(uri=uri.format(token), host=f"{token}.example", headers={"user-agent": f"git {token}"})

    data = recorded(request=request).to_bytes().lower()

    assert token.lower().encode() not in data
    assert data.count(b"***") == 3


def test_a_secret_is_masked_before_a_text_is_cut():
    request = a_request(uri=f"/{'p' * 2040}/{BOBS_GIT_TOKEN}?{'q' * 2040}&token={CANARY}")

    record = recorded(request=request)

    assert (record.path[-7:], record.query[-7:]) == ("ppp/***", "token=*")


@pytest.mark.parametrize(("query", "kept"), [("a=1&b", "***"), ("", ""), ("?", "***")])
def test_with_query_strings_off_no_part_of_one_is_recorded(query, kept):
    record = recorded(request=a_request(uri=f"/wiki?{query}"), log_query_strings="off")

    assert (record.path, record.query) == ("/wiki", kept)


def test_without_a_policy_no_query_string_is_recorded():
    request = a_request(uri=f"/?{CANARY}")

    record = record_of(request, CANNOT_DECIDE, None, decision_id="", status=503, answered_at=NOW)

    assert (record.query, record.policy_revision) == ("***", 0)


def test_without_a_credential_the_record_has_none():
    assert recorded().credential is None


@pytest.mark.parametrize(("seconds", "microseconds"), [(0, 0), (0.0005, 500), (2, 2_000_000), (-1, 0)])
def test_a_record_has_a_latency_that_is_never_negative(seconds, microseconds):
    assert recorded(answered_at=NOW + seconds).latency_us == microseconds


def test_a_record_of_an_unreadable_request_can_be_written():
    record = recorded(CANNOT_DECIDE, a_request(host=None), revision=0)

    assert (record.host, record.reason, record.policy_revision) == (None, "cannot-decide", 0)
    assert record.to_bytes()


def test_every_text_is_bounded():
    request = a_request(uri="/" + "p" * 9000 + "?" + "q" * 9000, headers={"user-agent": "u" * 9000})

    record = recorded(request=request)

    assert (len(record.path), len(record.query), len(record.user_agent)) == (2048, 2048, 512)


@pytest.mark.parametrize("name", TONGUES)
def test_no_credential_reaches_a_record(name):
    sent = {
        "service-authorization": CANARY,
        "service-git-token": f"bob:{CANARY}",
        "service-license": CANARY,
        "authorization": f"Bearer {CANARY}",
        "proxy-authorization": CANARY,
        "cookie": f"service.token={CANARY}; other={CANARY}",
        "referer": f"https://office.example/?token={CANARY}",
    }
    request = TONGUES[name].ask(extra=sent, uri=f"/?password={CANARY}&%74oken={CANARY}")

    record = recorded(a_decision(subject=BOB_SUBJECT), request)

    assert CANARY.encode() not in record.to_bytes()


@pytest.mark.parametrize("before", ["token=x&", "x&", '%7B"a":"'])
@pytest.mark.parametrize("length", range(3900, 4200, 23))
def test_no_part_of_a_secret_is_kept_of_a_query_that_is_too_long_to_be_masked_as_a_whole(before, length):
    beginning = (before * 4200)[:length]
    query = f"{beginning}&a={BOBS_GIT_TOKEN}&a={BOBS_GIT_TOKEN}{'z' * 9000}"

    kept = recorded(request=a_request(uri=f"/?{query}")).query

    assert kept
    assert len(kept) <= 2048
    assert BOBS_GIT_TOKEN[4:12] not in kept


def test_masking_reads_a_bounded_part_of_a_text(monkeypatch):
    seen = []
    monkeypatch.setattr(record, "QUERY", replace(record.QUERY, mask=lambda text: seen.append(len(text)) or text))

    recorded(request=a_request(uri="/?" + "a" * 16_000))

    assert seen == [4096]
