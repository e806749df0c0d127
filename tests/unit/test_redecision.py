"""Replay of records: missing facts make a request undecidable, recorded ones do not."""

from dataclasses import replace

import pytest

from gatewall.engine.hosts import Host
from gatewall.engine.model import Action
from gatewall.engine.waf.judge import builtin_rules
from gatewall.engine.waf.reading import LONG_URI
from gatewall.gate.bodies import Body
from gatewall.replay.change_history import ChangeHistory
from tests.support.cast import (
    BOB,
    BOBS_GIT_TOKEN,
    CHARLIE,
    CLIENT,
    GIT_TOKENS,
    LICENSES,
    NOW,
    OFFICE,
    USERS,
    a_policy,
    an_allowed,
)
from tests.support.records import a_record
from tests.unit.recorded import ALL_CHANGED, CREDENTIALS, DOMAINS, UNCHANGED, a_redecider, a_rule_for, recorded

VISIT = [("x-forwarded-for", CLIENT), ("x-forwarded-host", OFFICE), ("x-forwarded-uri", "/wiki?a=1")]
BOBS = [*VISIT, CREDENTIALS["bob"]]


def again(lines, then, now, history=ALL_CHANGED, **options):
    redecider = a_redecider(a_policy(version=2, **now), history, **options)
    return redecider.replay(recorded(lines, a_policy(**then))).decision()


def test_an_unverified_credential_makes_a_request_undecidable():
    outcome = again(BOBS, {"blocked": [CLIENT]}, {})

    assert (outcome.verdict, outcome.missing) == (None, "credential")


def test_an_unneeded_credential_makes_no_request_undecidable():
    outcome = again(BOBS, {"blocked": [CLIENT]}, {"domains": {OFFICE: "public"}})

    assert (outcome.verdict.reason, outcome.missing, outcome.assumed) == ("host-public", None, frozenset())


def test_a_request_without_a_credential_is_decidable():
    assert again(VISIT, {"blocked": [CLIENT]}, {}).verdict.reason == "credential-missing"


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        ("bob", {}, "session-valid"),
        ("bob", {"users": [replace(user, is_active=False) for user in USERS]}, "credential-invalid"),
        ("bob", {"users": []}, "credential-invalid"),
        ("bob", {"users": [replace(user, session_version=9) for user in USERS]}, "session-valid"),
        ("bob", {"domains": {OFFICE: "two_factor"}}, "second-factor-required"),
        ("charlie", {"domains": {OFFICE: "two_factor"}}, "session-valid"),
        ("charlie", {"users": [replace(CHARLIE, domains=frozenset())], "domains": DOMAINS}, "host-not-in-scope"),
        ("git", {}, "git-token-valid"),
        ("git", {"git_tokens": []}, "credential-invalid"),
        ("git", {"git_tokens": [replace(GIT_TOKENS[0], expires_at=NOW)]}, "credential-invalid"),
        ("git", {"users": [replace(BOB, is_active=False)]}, "credential-invalid"),
        ("open", {}, "license-valid"),
        ("open", {"licenses": []}, "credential-invalid"),
        ("open", {"licenses": [replace(LICENSES[0], is_active=False)]}, "credential-invalid"),
        ("forged", {}, "credential-invalid"),
    ],
)
def test_a_subject_is_proven_as_long_as_it_is_there_and_may_sign_in(name, change, reason):
    outcome = again([*VISIT, CREDENTIALS[name]], {}, change)

    assert (outcome.verdict.reason, outcome.assumed) == (reason, {"credential"})


@pytest.mark.parametrize("target", ["headers", "cookies", "referer"])
def test_a_new_rule_for_unrecorded_parts_makes_a_request_undecidable(target):
    rule = a_rule_for(target)

    assert again(BOBS, {}, {"rules": [rule]}).missing == "waf-rules"
    assert again(BOBS, {}, {"rules": [replace(rule, score=4)]}).missing is None
    assert again(BOBS, {}, {"rules": [replace(rule, action=Action.MONITOR)]}).missing is None
    assert again(BOBS, {}, {"rules": [rule], "waf_mode": "monitor"}).missing is None


@pytest.mark.parametrize(
    "target", ["uri", "path", "query", "args", "arg-names", "user-agent", "method", "host", "body"]
)
def test_a_new_rule_for_recorded_parts_is_decidable(target):
    outcome = again(BOBS, {}, {"rules": [a_rule_for(target, "wiki|a=?1|^a$|^1$|GET|office")]})

    blocked = target not in {"user-agent", "body"}
    assert (outcome.missing, outcome.verdict.reason) == (None, "waf-rule" if blocked else "session-valid")


@pytest.mark.parametrize(("shown", "missing"), [(None, None), (Body(b"a=1"), "waf-rules")])
def test_a_new_rule_for_bodies_makes_a_request_undecidable_whose_body_was_shown(shown, missing):
    record = recorded(BOBS, a_policy(), body=shown)
    redecider = a_redecider(a_policy(version=2, rules=[a_rule_for("body", "a=1")]), ALL_CHANGED)

    assert redecider.replay(record).decision().missing == missing


def test_an_unchanged_rule_for_bodies_matches_the_same_requests():
    policy = a_policy(rules=[a_rule_for("body")])

    for body, reason in ((b"a=attack", "waf-rule"), (b"a=1", "session-valid")):
        record = recorded(BOBS, policy, body=Body(body))
        assert (record.reason, a_redecider(policy).replay(record).decision().verdict.reason) == (reason, reason)


def test_a_body_from_an_untrusted_peer_is_no_part_shown_by_a_proxy():
    policy = a_policy(allowed=[an_allowed("192.0.2.77")])
    record = recorded([("host", OFFICE)], policy, peer="192.0.2.77", body=Body(b"a=1"))

    assert record.visible == ["body", "headers"]
    assert (record.reason, a_redecider(policy).replay(record).decision().verdict.reason) == ("client-allowed",) * 2


@pytest.mark.parametrize(
    ("uri", "target"),
    [
        ("/?token=attack", "query"),
        ("/?token=attack", "args"),
        ("/?token=attack", "uri"),
        (f"/{BOBS_GIT_TOKEN}", "path"),
        (f"/{'a' * 3000}", "uri"),
        (f"/?{'a' * 3000}", "query"),
    ],
)
def test_a_new_rule_for_masked_or_truncated_parts_makes_a_request_undecidable(uri, target):
    lines = [*BOBS[:2], ("x-forwarded-uri", uri), BOBS[-1]]

    assert again(lines, {}, {"rules": [a_rule_for(target)]}).missing == "waf-rules"


def test_an_unchanged_rule_matches_the_same_requests():
    rules = [a_rule_for("cookies", id=7)]
    history = ChangeHistory(known_from=0, newest=2)
    history.add(2, [{"resource": "waf-rules", "id": 8, "before": {}, "after": {}}], [{"resource": "waf-rules"}])
    lines = [*BOBS, ("cookie", "x=attack")]

    for sent, reason in ((lines, "waf-rule"), (BOBS, "session-valid")):
        outcome = again(sent, {"rules": rules}, {"rules": rules}, history)
        assert (outcome.verdict.reason, "waf-rules" in outcome.assumed) == (reason, True)


@pytest.mark.parametrize(("target", "missing"), [("uri", None), ("cookies", "waf-rules")])
def test_a_rule_behind_an_early_refusal_is_evaluated_again(target, missing):
    uri = f"/?a=<script>alert(1)</script>&b={'x' * LONG_URI}&c=secretly"
    lines = [*BOBS[:2], ("x-forwarded-uri", uri), ("cookie", "a=secretly"), BOBS[-1]]
    rule = a_rule_for(target, "secretly", id=7)

    outcome = again(lines, {"rules": [*builtin_rules(), rule]}, {"rules": [rule]}, UNCHANGED)

    assert outcome.missing == missing
    assert missing or outcome.verdict.reason == "waf-rule"


@pytest.mark.parametrize(("before", "missing"), [("monitor", None), ("off", "waf-rules")])
def test_rules_of_a_monitoring_waf_count_as_evaluated(before, missing):
    rules, history = [a_rule_for("cookies", id=7)], ChangeHistory(known_from=0, newest=2)
    change = {"resource": "system/settings", "id": 1, "before": {"waf_mode": before}, "after": {"waf_mode": "block"}}
    history.add(2, [change], [{"resource": "system/settings"}])
    policies = {"rules": rules, "waf_mode": before}, {"rules": rules}

    assert again(BOBS, *policies, history).missing == missing
    attacked = again([*BOBS, ("cookie", "x=attack")], *policies, history)
    assert missing or attacked.verdict.reason == "waf-rule"


def test_matches_of_a_monitored_domain_are_not_reused_for_others():
    policy = a_policy(rules=[a_rule_for("uri", id=7)], domains=dict.fromkeys((OFFICE, "other.example"), "public"))
    monitored = replace(policy.domains.match(Host(OFFICE)), waf_monitor_until=NOW + 60)
    domains = type(policy.domains)([monitored, policy.domains.match(Host("other.example"))])
    redecider = a_redecider(replace(policy, domains=domains))

    reasons = []
    for host in (OFFICE, "other.example", OFFICE):
        lines = [VISIT[0], ("x-forwarded-host", host), ("x-forwarded-uri", "/?a=attack")]
        reasons.append(redecider.replay(recorded(lines, policy)).decision().verdict.reason)

    assert reasons == ["host-public", "waf-rule", "host-public"]


def test_rules_count_as_evaluated_for_an_allowlist_entry_with_inspection():
    policy = {"allowed": [an_allowed(CLIENT, inspect=True)], "rules": [a_rule_for("cookies")]}

    assert again(BOBS, policy, policy, UNCHANGED).verdict.reason == "client-allowed"
    assert again(BOBS, policy, policy, ALL_CHANGED).missing == "waf-rules"


@pytest.mark.parametrize("client", [None, " ", "1.2.3.4"], ids=["no client", "an empty one", "a client"])
def test_an_allowlist_applies_where_it_applied(client):
    lines, policy = [("x-forwarded-for", client), *VISIT[1:]], a_policy(allowed=["10.0.0.0/8", "1.2.3.4"])

    record = recorded(lines, policy, peer="10.0.0.1")

    assert record.reason == ("client-allowed" if client == "1.2.3.4" else "credential-missing")
    assert a_redecider(policy).replay(record).decision().verdict.reason == record.reason


@pytest.mark.parametrize("agent", [f"attack {BOBS_GIT_TOKEN}", f"{'a' * 600}attack"], ids=["masked", "cut"])
def test_a_masked_or_truncated_user_agent_makes_a_request_undecidable(agent):
    lines = [*BOBS, ("user-agent", agent)]

    for target in ("user-agent", "headers"):
        assert again(lines, {}, {"rules": [a_rule_for(target)]}).missing == "waf-rules"
    assert again(lines, {}, {"rules": [a_rule_for("path")]}).missing is None


def test_a_rule_of_a_domain_is_not_settled_when_a_domain_has_changed():
    rules = [a_rule_for("cookies", id=7, domain=OFFICE)]
    history = ChangeHistory(known_from=0, newest=2)
    history.add(
        2,
        [{"resource": "authorized-domains", "id": 1, "before": {}, "after": {}}],
        [{"resource": "authorized-domains"}],
    )

    outcome = again(BOBS, {"rules": rules}, {"rules": rules, "domains": DOMAINS}, history)

    assert outcome.missing == "waf-rules"


def test_a_changed_request_rate_makes_a_request_undecidable():
    history = ChangeHistory(known_from=0, newest=2)
    history.add(
        2,
        [{"resource": "system/settings", "id": 1, "before": {"request_rate_per_minute": 0}, "after": {}}],
        [{"resource": "system/settings"}],
    )

    assert again(BOBS, {}, {"request_rate_per_minute": 5}, history).missing == "request-rate"
    assert again(BOBS, {"request_rate_per_minute": 5}, {"request_rate_per_minute": 5}, UNCHANGED).assumed >= {
        "request-rate"
    }


def test_a_request_that_the_gate_could_not_decide_is_undecidable():
    record = a_record(reason="cannot-decide", outcome="error", status=503)
    redecider = a_redecider(a_policy())

    assert redecider.replay(record).decision().missing == "request"
    assert {step.missing for step in redecider.replay(record).steps()} == {"request"}


def test_a_malformed_request_is_malformed_under_every_policy():
    assert (
        again([*VISIT, ("x-forwarded-proto", "gopher")], {}, {"blocked": [CLIENT]}).verdict.reason
        == "request-malformed"
    )


def test_a_masked_host_makes_a_request_undecidable():
    lines = [VISIT[0], ("x-forwarded-host", f"{BOBS_GIT_TOKEN}.example"), VISIT[2]]

    assert again(lines, {}, {}).missing == "request"


def test_entries_count_as_of_today():
    entry = an_allowed(CLIENT, expires_at=NOW + 10)

    assert (
        again(VISIT, {"allowed": [entry]}, {"allowed": [entry]}, UNCHANGED, at=NOW + 9).verdict.reason
        == "client-allowed"
    )
    assert (
        again(VISIT, {"allowed": [entry]}, {"allowed": [entry]}, UNCHANGED, at=NOW + 10).verdict.reason
        == "credential-missing"
    )


def test_the_country_is_that_of_todays_database():
    assert again(VISIT, {}, {"countries": ["NZ"]}, country="NZ").verdict.reason == "country-blocked"
