"""A backtest decides a request under both policies, with the same answers as the gate."""

import uuid
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.spool.rows import COLUMNS, record_of_row, row_of
from gatewall.engine.model import Effect
from gatewall.engine.waf.exclusions import Exclusion
from gatewall.replay.comparison import Comparison, with_rules
from gatewall.replay.heavy_hitters import EXAMPLES, SHOWN
from gatewall.replay.missing import Missing
from gatewall.replay.tally import Tally
from tests.support.cast import CLIENT, NOW, OFFICE, USERS, a_policy, an_allowed
from tests.support.form import examples
from tests.support.ports import Countries
from tests.unit.recorded import ALL_CHANGED, CREDENTIALS, DOMAINS, UNCHANGED, a_rule_for, recorded
from tests.unit.rule_facts import a_grant, an_access_rule
from tests.unit.test_redecision_properties import LINES, POLICIES

USER_STATES = [*USERS]
CHANGES = st.one_of(
    st.fixed_dictionaries({"blocked": st.sampled_from([("198.51.100.7",), ("198.51.0.0/16",), ("10.0.0.0/8",)])}),
    st.fixed_dictionaries({"allowed": st.sampled_from([("198.51.100.7",), (an_allowed(CLIENT, domain=OFFICE),)])}),
    st.fixed_dictionaries({"countries": st.sampled_from([(), ("DE",), ("NZ",), ("DE", "NZ")])}),
    st.fixed_dictionaries(
        {
            "domains": st.sampled_from(
                [{}, {**DOMAINS, OFFICE: "public"}, {**DOMAINS, "nobody.example": "denied"}, {OFFICE: "two_factor"}]
            )
        }
    ),
    st.fixed_dictionaries(
        {},
        optional={
            "authorized_domains_mode": st.sampled_from(["any", "registered"]),
            "waf_mode": st.sampled_from(["block", "monitor", "off"]),
            "waf_threshold": st.sampled_from([1, 2, 4, 5, 7, 9]),
            "geo_mode": st.sampled_from(["block", "monitor", "off"]),
            "unknown_country": st.sampled_from(["allow", "block"]),
            "request_rate_per_minute": st.sampled_from([0, 1, 2]),
            "log_query_strings": st.sampled_from(["masked", "off"]),
            "audit_mode": st.sampled_from(["best-effort", "strict"]),
            "stale_policy": st.sampled_from(["static", "strict"]),
        },
    ),
    st.fixed_dictionaries(
        {"users": st.sampled_from([[replace(each, all_domains=False, domains=frozenset()) for each in USER_STATES]])}
    ),
    st.builds(
        lambda target, score, prefix: {"rules": [a_rule_for(target, id=9, name="9", score=score, path_prefix=prefix)]},
        st.sampled_from(["uri", "path", "query", "args", "headers", "cookies", "user-agent", "host", "method"]),
        st.sampled_from([2, 5]),
        st.sampled_from([None, None, "/wiki"]),
    ),
)


def a_comparison(before, after, histories=(ALL_CHANGED, ALL_CHANGED)):
    return Comparison(before, after, histories=histories, countries=Countries("DE"), at=NOW)


def answer(verdict):
    return verdict.effect.value, verdict.reason.value


def changed_parts(parts, change):
    rules = [*parts["rules"], *change.get("rules", ())]
    return {**parts, **change, "rules": rules}


def test_a_row_is_the_record_that_it_was_made_of():
    policy = a_policy(domains=DOMAINS, rules=[a_rule_for("query")])
    lines = [("x-forwarded-for", CLIENT), ("x-forwarded-host", OFFICE), ("x-forwarded-uri", "/wiki?q=attack")]
    record = recorded(lines, policy)

    row = SimpleNamespace(**dict(zip(COLUMNS, row_of(record, "node-1"), strict=True)))

    assert record_of_row(row) == record
    assert row.rules != "[]"


ONCE_BLOCKED = a_policy(domains=DOMAINS, blocked=(CLIENT,))
COOKIES, QUERY = a_rule_for("cookies"), a_rule_for("query", id=9, name="9")
RULE_FOR_BOB = an_access_rule("authenticated", users=frozenset({2}))
LACKING = {
    "credential, another list": ({}, {"blocked": ("203.0.113.0/24",)}, None),
    "credential, another domain": ({}, {"domains": {**DOMAINS, "open.example": "denied"}}, None),
    "credential, its domain": ({}, {"domains": {**DOMAINS, OFFICE: "two_factor"}}, Missing.CREDENTIAL),
    "credential, the users": ({}, {"users": USER_STATES[:1]}, Missing.CREDENTIAL),
    "credential, a setting": ({}, {"waf_threshold": 9}, Missing.CREDENTIAL),
    "credential, another country": ({}, {"countries": ("NZ",)}, None),
    "credential, the country of the client": ({}, {"countries": ("DE",)}, Missing.CREDENTIAL),
    "rules, another list": ({"rules": [COOKIES]}, {"blocked": ("203.0.113.0/24",)}, None),
    "rules, another list and a public host": (
        {"rules": [COOKIES], "domains": {OFFICE: "public"}},
        {"blocked": ("203.0.113.0/24",)},
        None,
    ),
    "rules, the list of the client": ({"rules": [COOKIES]}, {"blocked": (CLIENT,)}, Missing.WAF_RULES),
    "rules, one that cannot match": ({"rules": [COOKIES]}, {"rules": [COOKIES, QUERY]}, None),
    "rules, one that may match": (
        {"rules": [COOKIES]},
        {"rules": [COOKIES, a_rule_for("headers", id=9, name="9")]},
        Missing.WAF_RULES,
    ),
    "credential, a rule for the host": ({}, {"access_rules": [an_access_rule("two_factor")]}, Missing.CREDENTIAL),
    "credential, a rule for another host": (
        {"access_rules": [RULE_FOR_BOB]},
        {"access_rules": [RULE_FOR_BOB, an_access_rule("denied", domains=frozenset({"x.example"}), id=2)]},
        None,
    ),
    "credential of a rule, the users": (
        {"access_rules": [RULE_FOR_BOB]},
        {"users": USER_STATES[:1]},
        Missing.CREDENTIAL,
    ),
    "credential of a rule, another list": ({"access_rules": [RULE_FOR_BOB]}, {"blocked": ("203.0.113.0/24",)}, None),
    "credential, a grant": ({}, {"grants": [a_grant()]}, Missing.CREDENTIAL),
    "rules, a grant": ({"rules": [COOKIES]}, {"grants": [a_grant()]}, Missing.WAF_RULES),
    "rate, another list": ({"request_rate_per_minute": 60}, {"blocked": ("203.0.113.0/24",)}, None),
    "rate, itself": ({"request_rate_per_minute": 60}, {"request_rate_per_minute": 90}, Missing.REQUEST_RATE),
}


@pytest.mark.parametrize(("today", "change", "missing"), LACKING.values(), ids=LACKING)
def test_facts_that_both_policies_lack_make_no_difference(today, change, missing):
    """The client was blocked at request time: no fact that is needed after the lists was looked up."""
    wiki = [("x-forwarded-for", CLIENT), ("x-forwarded-host", OFFICE), ("x-forwarded-uri", "/wiki?q=1")]
    record = recorded([*wiki, CREDENTIALS["bob"]], ONCE_BLOCKED)
    before = a_policy(version=2, **{"domains": DOMAINS, **today})
    after = a_policy(version=3, **{"domains": DOMAINS, **today, **change})

    compared = a_comparison(before, with_rules(before, after, after.waf.rules)).of(record)

    assert (compared and compared.missing) == missing


def test_an_unreadable_request_is_undecidable():
    before, after = a_policy(domains=DOMAINS), a_policy(version=2, domains=DOMAINS, blocked=("203.0.113.0/24",))

    assert a_comparison(before, after).of(a_row(1, reason="cannot-decide")).missing is Missing.REQUEST


STRICT = {"stale_policy": "strict"}
SHORTER = {**STRICT, "stale_policy_seconds": 15}
AGES = {
    "a new limit": ({}, STRICT, ALL_CHANGED, Missing.POLICY_AGE),
    "a shorter limit": (STRICT, SHORTER, UNCHANGED, Missing.POLICY_AGE),
    "no limit any more": (STRICT, {"stale_policy": "static"}, UNCHANGED, None),
    "no limit any more, and it was none then": (STRICT, {"stale_policy": "static"}, ALL_CHANGED, Missing.POLICY_AGE),
    "the same limit, and another list": (STRICT, {"blocked": ("203.0.113.0/24",)}, ALL_CHANGED, None),
    "the same limit, and the list of the client": (STRICT, {"blocked": (CLIENT,)}, ALL_CHANGED, Missing.POLICY_AGE),
    "another number without a limit": ({}, {"stale_policy_seconds": 15}, ALL_CHANGED, None),
    "what the record keeps": ({}, {"log_query_strings": "off", "audit_mode": "strict"}, ALL_CHANGED, None),
}


@pytest.mark.parametrize(("today", "change", "history", "missing"), AGES.values(), ids=AGES)
def test_the_policy_age_is_missing_if_a_limit_of_it_may_decide(today, change, history, missing):
    """The credential of the record was not verified either: only the settings that steps read make a difference."""
    wiki = [("x-forwarded-for", CLIENT), ("x-forwarded-host", OFFICE), ("x-forwarded-uri", "/wiki")]
    record = recorded([*wiki, CREDENTIALS["bob"]], ONCE_BLOCKED)
    before, after = a_policy(domains=DOMAINS, **today), a_policy(version=2, domains=DOMAINS, **{**today, **change})

    compared = a_comparison(before, after, (history, ALL_CHANGED)).of(record)

    assert (compared and compared.missing) == missing


@settings(max_examples=examples(600))
@given(LINES, POLICIES, POLICIES, CHANGES, st.sampled_from([0, 7]))
def test_a_prediction_equals_the_answer_of_the_gate_under_each_policy(lines, past, today, change, over):
    before, after = a_policy(version=2, **today), a_policy(version=3, **changed_parts(today, change))
    record = recorded(lines, a_policy(**past), over=over)
    truths = [recorded(lines, policy, over=over) for policy in (before, after)]
    differs = len({(truth.outcome, truth.reason) for truth in truths}) == 2

    short = a_comparison(before, with_rules(before, after, after.waf.rules)).of(record)

    if short is None:
        assert not differs  # even if the request is undecidable
    elif short.missing is None:
        assert short.is_changed == differs
        assert [answer(short.before), answer(short.after)] == [(each.outcome, each.reason) for each in truths]


@settings(max_examples=examples(200))
@given(LINES, POLICIES, CHANGES)
def test_under_the_policy_of_its_time_a_request_gets_its_recorded_answer(lines, today, change):
    before, after = a_policy(**today), a_policy(version=2, **changed_parts(today, change))
    record = recorded(lines, before)

    short = a_comparison(before, with_rules(before, after, after.waf.rules), (UNCHANGED, ALL_CHANGED)).of(record)

    if short is not None and short.before is not None:
        assert answer(short.before) == (record.outcome, record.reason)


def test_an_unverified_credential_may_belong_to_a_changed_subject():
    wiki = [("x-forwarded-for", CLIENT), ("x-forwarded-host", OFFICE), ("x-forwarded-uri", "/wiki")]
    narrowed = [replace(each, all_domains=False, domains=frozenset()) for each in USER_STATES]
    before, after = a_policy(version=2, domains=DOMAINS), a_policy(version=3, domains=DOMAINS, users=narrowed)
    once_blocked = a_policy(domains=DOMAINS, blocked=(CLIENT,))
    comparison = a_comparison(before, with_rules(before, after, after.waf.rules))

    sent, none = (recorded([*wiki, *more], once_blocked) for more in ([CREDENTIALS["bob"]], []))

    assert comparison.of(sent).missing is Missing.CREDENTIAL
    assert comparison.of(none) is None


def test_equal_requests_before_and_after_the_end_of_an_exclusion_differ():
    rule = a_rule_for("cookies", exclusions=(Exclusion(path_prefix="/wiki", expires_at=NOW - 50),))
    before = a_policy(domains={OFFICE: "public"}, rules=[rule])
    after = a_policy(domains={OFFICE: "denied"}, rules=[rule])
    comparison = a_comparison(before, with_rules(before, after, after.waf.rules), (UNCHANGED, UNCHANGED))

    late, early = (a_row(number, at=NOW - ago) for number, ago in ((1, 10), (2, 100)))

    assert comparison.of(late).missing is None  # the rule was evaluated, and did not match
    assert comparison.of(early).missing is Missing.WAF_RULES  # it was not evaluated, and the cookies are not recorded


def a_row(number, **parts):
    lines = [("x-forwarded-for", CLIENT), ("x-forwarded-host", OFFICE), ("x-forwarded-uri", "/wiki")]
    record = recorded(lines, a_policy(domains={OFFICE: "public"}))
    return replace(record, decision_id=str(uuid.UUID(int=number)), **parts)


def test_a_tally_names_people_first_and_shows_a_few_decisions_of_each():
    before, after = a_policy(domains={OFFICE: "public"}), a_policy(version=2, domains={OFFICE: "denied"})
    comparison, tally = a_comparison(before, after), Tally()

    for number in range(5):
        name = "Bob" if number < 2 else "bobby"  # under their former names; the newest come first
        who = {"subject": {"kind": "user", "id": 7, "name": name}} if number < 4 else {}
        row = a_row(number, **who)
        tally.add(row, comparison.of(row))
    stranger = a_row(6, host="other.example")
    tally.add(stranger, comparison.of(stranger))

    result = tally.result()
    assert (result["read"], result["changed"], result["unchanged"], result["untouched"]) == (6, 5, 0, 1)
    (person,) = result["people"]["results"]
    assert (person["name"], person["count"], len(person["examples"])) == ("Bob", 4, EXAMPLES)
    (turn,) = result["changes"]["results"]
    assert turn["from"] == {"outcome": "allow", "reason": "host-public"}
    assert turn["to"] == {"outcome": "deny", "reason": "host-not-authorized"}
    assert turn["lets_in"] is False
    assert result["hosts"]["results"][0]["host"] == OFFICE


def test_a_request_with_missing_facts_is_counted_as_undecidable():
    before = a_policy(domains={OFFICE: "public"})
    after = a_policy(version=2, domains={OFFICE: "public"}, rules=[a_rule_for("cookies")])
    comparison, tally = a_comparison(before, after), Tally()

    row = a_row(1)
    tally.add(row, comparison.of(row))

    assert tally.result()["undecidable"] == {"total": 1, "missing": {Missing.WAF_RULES.value: 1}}


def test_a_tally_is_bounded_and_reports_the_error_of_its_counts():
    before, after = a_policy(domains={OFFICE: "public"}), a_policy(version=2, domains={OFFICE: "denied"})
    row, tally = a_row(1), Tally()
    compared = a_comparison(before, after).of(row)
    assert compared.before.effect is Effect.ALLOW

    for number in range(10_000):
        tally.add(replace(row, client_ip=f"10.0.{number // 250}.{number % 250}"), compared)
        tally.add(row, compared)

    clients = tally.result()["clients"]
    assert len(clients["results"]) <= SHOWN
    assert clients["error"] > 0
    first = clients["results"][0]
    assert first["client_ip"] == CLIENT
    assert 10_000 - clients["error"] <= first["count"] <= 10_000
