"""Access rules: which rule decides, by conditions, order and every reading of the path."""

import pytest

from gatewall.engine.access_rules.table import MAX_SEGMENTS, AccessOutcome, AccessRuleTable
from gatewall.engine.addresses import parse_network
from gatewall.engine.hosts import Access
from gatewall.engine.model import Subject, SubjectKind
from tests.support.cast import HOUR, NOW, OFFICE
from tests.unit.rule_facts import SHOWN, an_access_rule, some_facts

PUBLIC, AUTHENTICATED, TWO_FACTOR = Access.PUBLIC, Access.AUTHENTICATED, Access.TWO_FACTOR
PHISHING_RESISTANT, DENIED = Access.PHISHING_RESISTANT, Access.DENIED
DEV, FAMILY = 1, 2
BOB = Subject(SubjectKind.USER, 2, "Bob", user_id=2, group_ids=frozenset({DEV}))
BOBS_TOKEN = Subject(SubjectKind.GIT_TOKEN, 21, "Bob", user_id=2, group_ids=frozenset({DEV}))
LICENSE = Subject(SubjectKind.LICENSE, 31)


def outcome(rules, facts, otherwise=AUTHENTICATED):
    return AccessRuleTable(rules).outcome(facts, otherwise)


def decides(rules, facts, otherwise=AUTHENTICATED):
    found = outcome(rules, facts, otherwise)
    return found.level, found.rule and found.rule.id


def test_without_rules_the_domain_decides():
    assert outcome([], some_facts(), TWO_FACTOR) == AccessOutcome(TWO_FACTOR)
    elsewhere = an_access_rule(DENIED, domains=frozenset({"shop.example"}))
    assert outcome([elsewhere], some_facts(), TWO_FACTOR) == AccessOutcome(TWO_FACTOR)


def test_first_rule_whose_conditions_hold_decides():
    rules = [
        an_access_rule(DENIED, "prefix /b", id=1),
        an_access_rule(PUBLIC, "prefix /a", id=2),
        an_access_rule(DENIED, id=3),
    ]

    assert decides(rules, some_facts("/a")) == (PUBLIC, 2)
    assert decides(rules, some_facts("/b")) == (DENIED, 1)
    assert decides(rules, some_facts("/c")) == (DENIED, 3)


def test_rules_for_a_domain_are_listed_in_order_with_those_for_all_hosts():
    rules = [
        an_access_rule(DENIED, "prefix /a", id=1, domains=frozenset({OFFICE})),
        an_access_rule(TWO_FACTOR, id=2),
        an_access_rule(PUBLIC, id=3, domains=frozenset({OFFICE})),
    ]

    assert AccessRuleTable(rules).of_domain(OFFICE) == tuple(rules)
    assert AccessRuleTable(rules).of_domain("shop.example") == (rules[1],)
    assert AccessRuleTable(rules[:1]).of_domain(None) == ()


def test_rules_of_a_domain_and_of_all_hosts_are_one_order():
    rules = [
        an_access_rule(DENIED, "prefix /a/b", id=1, domains=frozenset({OFFICE})),
        an_access_rule(TWO_FACTOR, "prefix /a", id=2),
        an_access_rule(PUBLIC, id=3, domains=frozenset({OFFICE})),
    ]

    assert decides(rules, some_facts("/a/b/c")) == (DENIED, 1)
    assert decides(rules, some_facts("/a")) == (TWO_FACTOR, 2)
    assert decides(rules, some_facts("/")) == (PUBLIC, 3)
    assert decides(rules, some_facts("/", domain_name=None)) == (AUTHENTICATED, None)
    assert decides(rules, some_facts("/a", domain_name=None)) == (TWO_FACTOR, 2)


@pytest.mark.parametrize(
    ("condition", "holding", "failing"),
    [
        ({"methods": frozenset({"GET", "POST"})}, {"method": "GET"}, {"method": "DELETE"}),
        ({"networks": (parse_network("198.51.100.0/24"),)}, {"client": "198.51.100.9"}, {"client": "192.0.2.1"}),
        ({"networks": (parse_network("2001:db8::/32"),)}, {"client": "2001:db8::1"}, {"client": "192.0.2.1"}),
        ({"countries": frozenset({"DE"})}, {"country_code": "DE"}, {"country_code": "FR"}),
        ({"countries": frozenset({"DE"})}, {"country_code": "DE"}, {"country_code": None}),
        ({"asns": frozenset({64500})}, {"asn": 64500}, {"asn": 64501}),
        ({"asns": frozenset({64500})}, {"asn": 64500}, {"asn": None}),
        ({"expires_at": NOW}, {"at": NOW - 1}, {"at": NOW}),
        ({"start_minute": 540, "end_minute": 600}, {"asked_at": NOW}, {"asked_at": NOW + HOUR}),
    ],
)
def test_condition_on_the_request(condition, holding, failing):
    rule = an_access_rule(DENIED, id=7, **condition)

    assert decides([rule], some_facts(**holding)) == (DENIED, 7)
    assert decides([rule], some_facts(**failing)) == (AUTHENTICATED, None)


def test_a_rule_with_several_paths_matches_any_of_them():
    rule = an_access_rule(DENIED, "exact /a", "glob /b/*", "exact /a/c", id=7)

    assert [decides([rule], some_facts(path))[1] for path in ("/a", "/b/x", "/a/c", "/b", "/")] == [7, 7, 7, None, None]


# Conditions on subjects.


@pytest.mark.parametrize(
    ("condition", "subject", "means"),
    [
        ({"groups": frozenset({DEV, FAMILY})}, BOB, True),
        ({"groups": frozenset({FAMILY})}, BOB, False),
        ({"groups": frozenset({DEV})}, BOBS_TOKEN, True),
        ({"groups": frozenset({DEV})}, LICENSE, False),
        ({"users": frozenset({2})}, BOB, True),
        ({"users": frozenset({2})}, BOBS_TOKEN, True),
        ({"users": frozenset({21, 31})}, BOBS_TOKEN, False),
        ({"users": frozenset({21, 31})}, LICENSE, False),
        ({"credential_kinds": frozenset({"session"})}, BOB, True),
        ({"credential_kinds": frozenset({"session"})}, BOBS_TOKEN, False),
        ({"credential_kinds": frozenset({"git-token", "license"})}, LICENSE, True),
        ({"groups": frozenset({DEV}), "users": frozenset({3})}, BOB, False),
        ({"groups": frozenset({DEV}), "users": frozenset({2})}, BOB, True),
        ({"groups": frozenset({DEV}), "credential_kinds": frozenset({"git-token"})}, BOB, False),
    ],
)
def test_rule_means_a_subject_that_meets_every_condition(condition, subject, means):
    rules = [an_access_rule(DENIED, id=1, **condition), an_access_rule(TWO_FACTOR, id=2)]

    assert decides(rules, some_facts(subject=subject)) == ((DENIED, 1) if means else (TWO_FACTOR, 2))


@pytest.mark.parametrize("access", [AUTHENTICATED, TWO_FACTOR, DENIED])
def test_rule_with_a_condition_on_subjects_decides_for_unknown_visitors(access):
    rules = [an_access_rule(access, id=1, groups=frozenset({DEV})), an_access_rule(PUBLIC, id=2)]

    assert decides(rules, some_facts()) == (access, 1)


def test_public_rule_with_a_condition_on_subjects_asks_unknown_visitors_to_sign_in():
    assert decides([an_access_rule(PUBLIC, groups=frozenset({DEV}))], some_facts()) == (AUTHENTICATED, 1)


def test_subject_is_not_looked_up_if_no_rule_needs_it():
    class Unasked(type(some_facts())):
        subject = property(lambda _: pytest.fail("looked up"))

    facts = Unasked.__new__(Unasked)
    facts.__dict__.update({name: value for name, value in vars(some_facts("/a")).items() if name != "subject"})
    rules = [an_access_rule(PUBLIC, "prefix /a"), an_access_rule(DENIED, groups=frozenset({DEV}))]

    assert decides(rules, facts) == (PUBLIC, 1)


# Parts that the proxy did not show.


def test_rule_on_a_path_that_was_not_shown_counts_only_where_it_is_stricter():
    rules = [
        an_access_rule(PUBLIC, "exact /a", id=1),
        an_access_rule(DENIED, "prefix /b", id=2),
        an_access_rule(TWO_FACTOR, "prefix /c", id=3),
        an_access_rule(AUTHENTICATED, id=4),
        an_access_rule(DENIED, "prefix /d", id=5),
    ]

    assert decides(rules, some_facts(visible=SHOWN - {"uri"})) == (DENIED, 2)
    assert decides([rules[0], *rules[2:]], some_facts(visible=SHOWN - {"uri"})) == (TWO_FACTOR, 3)
    assert decides(rules[:1], some_facts(visible=SHOWN - {"uri"})) == (AUTHENTICATED, None)
    assert decides([rules[2]], some_facts(visible=SHOWN - {"uri"}), DENIED) == (DENIED, None)


def test_other_conditions_of_a_rule_on_a_path_that_was_not_shown_have_to_hold():
    rule = an_access_rule(DENIED, "prefix /a", countries=frozenset({"DE"}))
    hidden = SHOWN - {"uri"}

    assert decides([rule], some_facts(visible=hidden, country_code="FR")) == (AUTHENTICATED, None)
    assert decides([rule], some_facts(visible=hidden, country_code="DE")) == (DENIED, 1)


def test_rule_on_a_method_that_was_not_shown_counts_only_where_it_is_stricter():
    rules = [
        an_access_rule(PUBLIC, "prefix /a", methods=frozenset({"GET"})),
        an_access_rule(DENIED, "prefix /b", methods=frozenset({"DELETE"}), id=2),
    ]
    hidden = SHOWN - {"method"}

    assert decides(rules, some_facts("/a", visible=hidden)) == (AUTHENTICATED, None)
    assert decides(rules, some_facts("/b", visible=hidden)) == (DENIED, 2)


def test_network_does_not_open_a_path_where_the_client_is_the_proxy():
    rules = [an_access_rule(PUBLIC, networks=(parse_network("198.51.100.0/24"),))]

    assert decides(rules, some_facts()) == (PUBLIC, 1)
    unknown = some_facts(visible=SHOWN - {"for"}, allowlist_applies=False)
    assert decides(rules, unknown) == (AUTHENTICATED, None)


def test_public_rule_for_options_alone_is_for_preflights():
    only = an_access_rule(PUBLIC, methods=frozenset({"OPTIONS"}))

    assert decides([only], some_facts(method="OPTIONS", is_preflight=True)) == (PUBLIC, 1)
    assert decides([only], some_facts(method="OPTIONS")) == (AUTHENTICATED, None)
    denied = an_access_rule(DENIED, methods=frozenset({"OPTIONS"}))
    assert decides([denied], some_facts(method="OPTIONS")) == (DENIED, 1)
    with_others = an_access_rule(PUBLIC, methods=frozenset({"OPTIONS", "GET"}))
    assert decides([with_others], some_facts(method="OPTIONS")) == (PUBLIC, 1)


# Readings of a path.


def test_strictest_reading_counts_and_of_equals_the_first_rule():
    rules = [
        an_access_rule(PUBLIC, "prefix /public", id=1),
        an_access_rule(TWO_FACTOR, "prefix /admin", id=2),
        an_access_rule(TWO_FACTOR, "prefix /b", id=3),
    ]

    assert decides(rules, some_facts("/public/../admin")) == (TWO_FACTOR, 2)
    assert decides(rules, some_facts("/public/a%20b")) == (PUBLIC, 1)
    assert decides(rules, some_facts("/b/../admin")) == (TWO_FACTOR, 2)


def test_rule_that_denies_everybody_counts_before_one_that_denies_some():
    rules = [
        an_access_rule(DENIED, "prefix /a", id=1, groups=frozenset({DEV})),
        an_access_rule(DENIED, "prefix /b", id=2),
    ]

    assert decides(rules, some_facts("/a/../b")) == (DENIED, 2)
    assert decides(rules, some_facts("/a/../b", subject=BOB)) == (DENIED, 2)


def test_path_with_too_many_readings_is_not_opened_by_a_path():
    rules = [an_access_rule(PUBLIC, "prefix /a", id=1), an_access_rule(TWO_FACTOR, "prefix /b", id=2)]
    attack = "/a" + "/./a;x%2f//..\\%255c" * 400

    assert decides(rules, some_facts(attack)) == (TWO_FACTOR, 2)


def test_rates_of_all_readings_count():
    rules = [
        an_access_rule(PUBLIC, "prefix /public", id=1, rate_per_minute=5),
        an_access_rule(TWO_FACTOR, "prefix /admin", id=2, rate_per_minute=9),
    ]

    found = outcome(rules, some_facts("/public/../admin"))

    assert [rule.id for rule in found.rates] == [1, 2]
    assert [rule.id for rule in outcome(rules, some_facts("/public")).rates] == [1]
    assert outcome(rules, some_facts("/")).rates == ()


@pytest.mark.parametrize("path", ["/a" * (MAX_SEGMENTS + 1), "/a" * (MAX_SEGMENTS // 2 + 1) + "%2525"])
def test_path_of_very_many_segments_counts_as_not_shown(path):
    """Otherwise each glob would be compared with thousands of segments of one request, for each reading."""
    public, denied = an_access_rule(PUBLIC, "prefix /a", id=1), an_access_rule(DENIED, "glob /**/x", id=2)

    assert decides([public], some_facts(path)) == (AUTHENTICATED, None)
    assert decides([public, denied], some_facts(path)) == (DENIED, 2)
    assert decides([public, denied], some_facts("/a" * (MAX_SEGMENTS // 2))) == (PUBLIC, 1)
