"""The oracle of access rules: each documented sentence decides its case; random cases reach every outcome."""

from collections import Counter

import pytest

from tests.access_rules import oracle
from tests.access_rules.conditions import REQUEST_CONDITIONS, SUBJECT_CONDITIONS
from tests.access_rules.examples import ANN, DENIED, a_request, a_rule, site
from tests.access_rules.generator import pairs
from tests.access_rules.oracle import ACCESSES, decide
from tests.access_rules.paths import OPERATIONS, readings_of
from tests.access_rules.rule_cases import RULE_CASES
from tests.access_rules.step_cases import STEP_CASES

CASES = [*RULE_CASES, *STEP_CASES]
ANSWERS = {
    *((200, reason) for reason in ("host-public", "path-public", "session-valid", "git-token-valid", "license-valid")),
    *((401, reason) for reason in ("credential-missing", "credential-invalid")),
    *((401, reason) for reason in ("second-factor-required", "phishing-resistant-required")),
    *((403, reason) for reason in ("host-not-authorized", "client-rate-limited", "access-denied", "host-not-in-scope")),
}


@pytest.fixture(scope="module")
def decided():
    """Return random cases with the decisions of the oracle."""
    return [(policy, request, decide(policy, request)) for policy, request in pairs(seed=1, count=8_000)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.sentence)
def test_each_documented_sentence_decides_its_case(case):
    decision = decide(case.policy, case.request)
    assert f"{decision.status} {decision.reason} {decision.rule or ''}".strip() == case.answer


def test_equally_strict_readings_are_named():
    policy = site(a_rule("two_factor", "/a"), a_rule("two_factor", "/b/..."), a_rule("public", "/c"), DENIED)
    assert decide(policy, a_request("/b/../a", ANN)).equals == ("r1", "r2")
    assert decide(policy, a_request("/c/../x", ANN)).equals == ("r4",)


def test_the_same_seed_gives_the_same_cases():
    assert list(pairs(seed=7, count=100)) == list(pairs(seed=7, count=100)) != list(pairs(seed=8, count=100))


def test_random_cases_reach_every_answer(decided):
    reached = Counter((decision.status, decision.reason) for _, _, decision in decided)
    assert reached.keys() == ANSWERS
    assert min(reached.values()) > 40, reached


def test_random_cases_reach_every_failure_of_a_condition(decided):
    verdicts = [verdict for _, _, decision in decided for _, of_rules in decision.trace for verdict in of_rules]
    fails = Counter(verdict.fails for verdict in verdicts)
    assert fails.keys() == {*REQUEST_CONDITIONS, *SUBJECT_CONDITIONS, None}
    unseen = Counter(verdict.unseen for verdict in verdicts)
    assert unseen.keys() == {"paths", "methods", "networks", "countries", "asns", None}
    unproved = Counter(verdict.unproved for verdict in verdicts)
    assert unproved.keys() == {*SUBJECT_CONDITIONS, None}
    assert min(*fails.values(), *unseen.values(), *unproved.values()) > 10, (fails, unseen, unproved)


def test_random_cases_reach_every_access_and_both_denials(decided):
    named = {id(policy): {rule["name"]: rule for rule in policy["rules"]} for policy, _, _ in decided}
    counting = [(named[id(policy)][decision.rule], decision) for policy, _, decision in decided if decision.rule]
    accesses = Counter(rule["access"] for rule, _ in counting)
    assert accesses.keys() == set(ACCESSES)
    to_some = Counter(
        bool(rule["groups"] or rule["users"]) for rule, each in counting if each.reason == "access-denied"
    )
    assert min(*accesses.values(), to_some[True], to_some[False]) > 20, (accesses, to_some)


def test_random_paths_are_often_decided_by_another_reading_than_the_first(decided, monkeypatch):
    monkeypatch.setattr(oracle, "readings_of", lambda uri: (uri.partition("?")[0],))
    changed = [decision for policy, request, decision in decided if decide(policy, request).reason != decision.reason]
    assert len(changed) > 250
    assert {decision.status for decision in changed} == {401, 403, 200}


def test_the_readings_of_a_path_are_closed(decided):
    for uri in {request["uri"] for _, request, _ in decided if request["uri"]}:
        readings = set(readings_of(uri))
        assert {operation(path) for path in readings for operation in OPERATIONS} <= readings
        assert all(path.startswith("/") for path in readings)


def test_a_rule_that_holds_for_no_reading_changes_nothing(decided):
    for policy, request, decision in decided[::4]:
        rules = [
            rule
            for position, rule in enumerate(policy["rules"])
            if any(of_rules[position].fails is None for _, of_rules in decision.trace)
        ]
        without = decide({**policy, "rules": rules}, request)
        assert (without.status, without.reason, without.rule, without.rates) == (
            *(decision.status, decision.reason, decision.rule, decision.rates),
        )
