"""Recorded requests under access rules: missing facts are named, and time windows apply to the request's time."""

from dataclasses import replace

import pytest

from gatewall.replay.missing import Missing
from tests.support.cast import CLIENT, HOUR, NOW, OFFICE, a_policy
from tests.unit.recorded import ALL_CHANGED, CREDENTIALS, DOMAINS, UNCHANGED, a_redecider, recorded
from tests.unit.rule_facts import an_access_rule

WIKI = [("x-forwarded-for", CLIENT), ("x-forwarded-host", OFFICE), ("x-forwarded-method", "GET")]
PLAIN = a_policy(domains=DOMAINS)


def a_record(uri="/wiki", *lines):
    return recorded([*WIKI, ("x-forwarded-uri", uri), *lines], PLAIN)


def again(record, *rules, at=NOW):
    decision = a_redecider(a_policy(domains=DOMAINS, access_rules=rules), at=at).replay(record).decision()
    return decision.verdict.reason.value if decision.verdict else decision.missing


def test_a_rule_on_a_path_opens_recorded_requests_below_it():
    rule = an_access_rule("public", "prefix /wiki")

    assert again(a_record("/wiki/a"), rule) == "path-public"
    assert again(a_record("/other"), rule) == "credential-missing"


def test_a_masked_path_cannot_be_judged_by_a_rule_on_paths():
    masked = replace(a_record(), path="/wiki/***")

    assert again(masked, an_access_rule("denied", "prefix /wiki")) is Missing.PATH
    assert again(masked, an_access_rule("denied")) == "access-denied"
    elsewhere = an_access_rule("denied", "prefix /wiki", domains=frozenset({"shop.example"}))
    assert again(masked, elsewhere) == "credential-missing"


def test_a_recorded_preflight_is_indistinguishable_from_other_options_requests():
    record = replace(a_record(), method="OPTIONS")

    assert again(record, an_access_rule("public", methods=frozenset({"OPTIONS"}))) is Missing.HEADERS
    assert again(record, an_access_rule("public", methods=frozenset({"OPTIONS", "GET"}))) == "path-public"
    unseen = replace(record, visible=sorted(set(record.visible) - {"headers"}))
    assert again(unseen, an_access_rule("public", methods=frozenset({"OPTIONS"}))) == "credential-missing"


@pytest.mark.parametrize("method", ["COPY", "MOVE"])
def test_the_destination_of_a_copy_is_not_recorded(method):
    record = replace(a_record(), method=method)

    assert again(record, an_access_rule("public", "prefix /")) is Missing.HEADERS
    assert again(record, an_access_rule("public")) == "path-public"


def test_a_window_is_judged_at_the_time_of_the_request():
    morning = an_access_rule("public", start_minute=9 * 60, end_minute=10 * 60)  # the request came at 9:26 UTC

    assert again(a_record(), morning, at=NOW + 5 * HOUR) == "path-public"


@pytest.mark.parametrize(("who", "expected"), [("bob", "access-denied"), ("charlie", "session-valid")])
def test_a_rule_about_users_applies_to_the_recorded_user(who, expected):
    assert again(a_record("/", CREDENTIALS[who]), an_access_rule("denied", users=frozenset({2}))) == expected


def test_a_credential_that_was_not_checked_then_is_missing_for_a_rule_about_users():
    blocked = recorded([*WIKI, ("x-forwarded-uri", "/"), CREDENTIALS["bob"]], a_policy(blocked=[CLIENT]))

    assert again(blocked, an_access_rule("denied", users=frozenset({2}))) is Missing.CREDENTIAL
    assert again(blocked, an_access_rule("denied", id=2)) == "access-denied"


def limited(rule, *, over=7):
    return recorded([*WIKI, ("x-forwarded-uri", "/wiki")], a_policy(domains=DOMAINS, access_rules=[rule]), over=over)


def with_history(record, rule, history):
    policy = a_policy(domains=DOMAINS, access_rules=[rule])
    return a_redecider(policy, history).replay(record).decision()


def test_the_recorded_rate_of_a_rule_applies_while_no_rule_has_changed():
    rule = an_access_rule("public", id=4, rate_per_minute=5)

    assert with_history(limited(rule), rule, UNCHANGED).verdict.reason == "client-rate-limited"
    assert with_history(limited(rule, over=0), rule, UNCHANGED).verdict.reason == "path-public"
    assert with_history(limited(rule), rule, ALL_CHANGED).missing is Missing.REQUEST_RATE


def test_a_rate_of_another_rule_than_then_is_not_known():
    then, now = an_access_rule("public", id=4, rate_per_minute=5), an_access_rule("public", id=5, rate_per_minute=5)

    assert with_history(limited(then), now, UNCHANGED).missing is Missing.REQUEST_RATE
