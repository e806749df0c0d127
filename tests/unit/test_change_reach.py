"""A backtest decides only the requests that a change can affect: others get the same answer under both policies."""

from dataclasses import fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatewall.engine.snapshot import PolicySettings, PolicySnapshot
from gatewall.kernel.changes import Resource
from gatewall.replay import change_reach
from gatewall.replay.change_history import ChangeHistory
from gatewall.replay.comparison import with_rules
from gatewall.replay.missing import Missing
from tests.support.cast import CLIENT, OFFICE, a_policy
from tests.support.form import examples
from tests.unit.recorded import ALL_CHANGED, CREDENTIALS, DOMAINS, UNCHANGED, a_rule_for, recorded
from tests.unit.rule_facts import a_grant, an_access_rule
from tests.unit.test_backtest import CHANGES, USER_STATES, a_comparison, changed_parts
from tests.unit.test_redecision_properties import ACCESS_RULES, LINES, POLICIES

WIKI = [("x-forwarded-for", CLIENT), ("x-forwarded-host", OFFICE), ("x-forwarded-uri", "/wiki?q=1")]
MEMBERS = [replace(each, groups=frozenset({5})) for each in USER_STATES]
NARROWED = [replace(each, all_domains=False, domains=frozenset()) for each in USER_STATES]
MORE_CHANGES = st.one_of(
    CHANGES,
    st.fixed_dictionaries({"access_rules": ACCESS_RULES}),
    st.fixed_dictionaries({"waf_mode": st.sampled_from(["block", "monitor", "off"])}),
    st.fixed_dictionaries({"waf_threshold": st.sampled_from([2, 9])}),
    st.fixed_dictionaries({"geo_mode": st.sampled_from(["block", "monitor"]), "countries": st.just(("DE",))}),
    st.fixed_dictionaries({"unknown_country": st.sampled_from(["allow", "block"])}),
    st.fixed_dictionaries({"request_rate_per_minute": st.sampled_from([0, 1, 90])}),
    st.fixed_dictionaries({"users": st.sampled_from([USER_STATES[:1], NARROWED]), "access_rules": ACCESS_RULES}),
)
HISTORIES = st.sampled_from([(ALL_CHANGED, ALL_CHANGED), (UNCHANGED, ALL_CHANGED), (UNCHANGED, UNCHANGED)])


@pytest.mark.no_cover
@settings(max_examples=examples(600))
@given(LINES, POLICIES, ACCESS_RULES | st.just([]), MORE_CHANGES, HISTORIES, st.sampled_from([0, 7]))
def test_skipped_requests_get_the_same_answer_under_both_policies(lines, today, rules, change, histories, over):
    parts = {"access_rules": rules, **today}
    before, after = a_policy(version=2, **parts), a_policy(version=3, **changed_parts(parts, change))
    comparison = a_comparison(before, with_rules(before, after, after.waf.rules), histories)
    record = recorded(lines, a_policy(**parts), over=over)

    short, whole = comparison.of(record), comparison.decided_twice(record)

    if short is not None:
        assert short == whole
    elif whole is not None:  # skipped: one of them lacks a fact, and still they agree
        truths = [recorded(lines, policy, over=over) for policy in (before, after)]
        assert whole.missing is not None
        assert len({(truth.outcome, truth.reason) for truth in truths}) == 1


RATE = an_access_rule("authenticated", rate_per_minute=5)
TOUCHED = {
    "its network": ({}, {"blocked": (CLIENT,)}, True),
    "another network": ({}, {"blocked": ("203.0.113.7",)}, False),
    "its domain": ({}, {"domains": {**DOMAINS, OFFICE: "denied"}}, True),
    "another domain": ({}, {"domains": {**DOMAINS, "open.example": "denied"}}, False),
    "its country": ({}, {"countries": ("DE",)}, True),
    "another country": ({}, {"countries": ("NZ",)}, False),
    "its user": ({}, {"users": NARROWED}, True),
    "another user": ({}, {"users": [each for each in USER_STATES if each.username != "Charlie"]}, False),
    "its rule": ({}, {"access_rules": [an_access_rule("denied", domains=frozenset({OFFICE}))]}, True),
    "another rule": ({}, {"access_rules": [an_access_rule("denied", domains=frozenset({"open.example"}))]}, False),
    "its grant": ({}, {"grants": [a_grant(user_id=2)]}, True),
    "another grant": ({}, {"grants": [a_grant(user_id=9)]}, False),
    "a grant of its group": ({"users": MEMBERS}, {"grants": [a_grant(group_id=5)]}, True),
    "a grant of another group": ({"users": MEMBERS}, {"grants": [a_grant(group_id=6)]}, False),
    "its query": ({}, {"rules": [a_rule_for("query", pattern="q")]}, True),
    "another query": ({}, {"rules": [a_rule_for("query", pattern="attack")]}, False),
    "any query, switched off": ({"waf_mode": "off"}, {"rules": [a_rule_for("query", pattern="q")]}, False),
    "a threshold": ({}, {"waf_threshold": 9}, True),
    "hosts without a domain": ({}, {"authorized_domains_mode": "registered"}, False),
    "where the query strings are kept": ({}, {"log_query_strings": "off"}, False),
    "another domain, and a limit counts": (
        {"access_rules": [RATE]},
        {"domains": {**DOMAINS, "open.example": "denied"}},
        True,
    ),
}


@pytest.mark.parametrize(("today", "change", "touched"), TOUCHED.values(), ids=TOUCHED)
def test_a_change_affects_the_requests_in_its_reach(today, change, touched):
    before = a_policy(version=2, **{"domains": DOMAINS, **today})
    after = a_policy(version=3, **{"domains": DOMAINS, **today, **change})
    history = ChangeHistory(known_from=0, newest=3)
    history.add(3, None, [{"resource": Resource.DOMAINS}])
    comparison = a_comparison(before, with_rules(before, after, after.waf.rules), (UNCHANGED, history))
    record = recorded([*WIKI, CREDENTIALS["bob"]], a_policy(domains=DOMAINS, **today))

    assert comparison.reach.covers(record) is touched


def test_a_change_of_an_unknown_table_affects_every_request(monkeypatch):
    before, after = a_policy(version=2, domains=DOMAINS), a_policy(version=3, domains=DOMAINS, revoked=["a session"])
    record = recorded([*WIKI, CREDENTIALS["bob"]], before)
    assert not a_comparison(before, after).reach.covers(record)

    monkeypatch.setattr(change_reach, "_OTHER_TABLES", ("revoked_sessions",))

    assert a_comparison(before, after).reach.covers(record)


def test_listed_settings_and_tables_exist_in_the_policy():
    settings_, tables = ({part.name for part in fields(each)} for each in (PolicySettings, PolicySnapshot))
    named = {*change_reach._LOOKED_AT, *change_reach._NO_CHANGE, *change_reach._SUBJECTS}

    assert settings_ > change_reach._OF_FEW | change_reach._OF_RECORDS
    assert named <= tables


def test_a_grant_of_a_group_touches_no_request_of_a_deleted_user():
    before, after = (
        a_policy(version=version, domains=DOMAINS, users=[], grants=grants)
        for version, grants in ((2, []), (3, [a_grant(group_id=5)]))
    )

    assert not a_comparison(before, after).reach.covers(
        recorded([*WIKI, CREDENTIALS["bob"]], a_policy(domains=DOMAINS))
    )


def test_a_change_of_another_domain_leaves_no_request_undecidable():
    """A rule about cookies names a domain, and domains change: whether it matched then is unknown."""
    rule = a_rule_for("cookies", domain=OFFICE)
    before = a_policy(version=2, domains=DOMAINS, rules=[rule])
    after = a_policy(version=3, domains={**DOMAINS, "open.example": "denied"}, rules=[rule])
    comparison = a_comparison(before, with_rules(before, after, after.waf.rules), (UNCHANGED, ALL_CHANGED))
    record = recorded([*WIKI, CREDENTIALS["bob"]], before)

    assert comparison.decided_twice(record).missing is Missing.WAF_RULES
    assert comparison.of(record) is None


def test_a_request_with_a_masked_host_is_undecidable():
    before, after = a_policy(domains=DOMAINS), a_policy(version=2, domains=DOMAINS, blocked=("203.0.113.0/24",))
    record = replace(recorded(WIKI, before), host="***.example")

    assert a_comparison(before, after).of(record).missing is Missing.REQUEST
