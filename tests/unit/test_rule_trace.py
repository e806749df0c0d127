"""The trace of access rules: the first condition that failed, for each rule and reading."""

import pytest

from gatewall.engine.access_rules.conditions import Condition
from gatewall.engine.access_rules.table import AccessRuleTable
from gatewall.engine.access_rules.trace import MAX_READINGS, trace_of
from gatewall.engine.addresses import parse_network
from gatewall.engine.hosts import Access
from gatewall.engine.model import Subject, SubjectKind
from tests.support.cast import NOW
from tests.unit.rule_facts import SHOWN, an_access_rule, some_facts

BOB = Subject(SubjectKind.USER, 2, "Bob", user_id=2, group_ids=frozenset({1}))


def traced(rules, facts):
    return trace_of(AccessRuleTable(rules), facts, Access.AUTHENTICATED)


def told(rules, facts):
    """Return the path of each reading, and (id, reached, decides, failed) of each rule."""
    return [
        (reading.path, [(each.rule.id, each.reached, each.decides, each.failed) for each in reading.rules])
        for reading in traced(rules, facts)
    ]


def test_the_trace_lists_every_rule_of_the_host_with_its_first_failed_condition():
    rules = [
        an_access_rule("public", "prefix /b", id=1, methods=frozenset({"POST"})),
        an_access_rule("public", "prefix /a", id=2, methods=frozenset({"POST"})),
        an_access_rule("two_factor", "prefix /a", id=3),
        an_access_rule("denied", id=4, countries=frozenset({"DE"})),
        an_access_rule("denied", id=5, domains=frozenset({"shop.example"})),
    ]

    assert told(rules, some_facts("/a/x", country_code="FR")) == [
        (
            "/a/x",
            [
                (1, True, False, Condition.PATHS),
                (2, True, False, Condition.METHODS),
                (3, True, True, None),
                (4, False, False, Condition.COUNTRIES),
            ],
        )
    ]


@pytest.mark.parametrize(
    ("condition", "failed"),
    [
        ({"expires_at": NOW}, "expired"),
        ({"methods": frozenset({"OPTIONS"})}, "preflight"),
        ({"networks": (parse_network("192.0.2.0/24"),)}, "networks"),
        ({"asns": frozenset({64500})}, "asns"),
        ({"start_minute": 0, "end_minute": 1}, "time"),
        ({"groups": frozenset({9})}, "groups"),
        ({"users": frozenset({9})}, "users"),
        ({"credential_kinds": frozenset({"license"})}, "credential_kinds"),
    ],
)
def test_condition_that_failed_is_named(condition, failed):
    rule = an_access_rule("public", **condition)

    ((_, [(_, reached, decides, told_condition)]),) = told([rule], some_facts(method="OPTIONS", subject=BOB))

    assert (reached, decides, told_condition) == (True, False, failed)


def test_rule_with_a_condition_on_subjects_decides_without_a_subject():
    rule = an_access_rule("two_factor", groups=frozenset({1}))

    assert told([rule], some_facts("/")) == [("/", [(1, True, True, None)])]


def test_reading_of_the_rule_that_decided_comes_first_and_the_others_are_bounded():
    rules = [an_access_rule("public", "prefix /a", id=1), an_access_rule("denied", "prefix /admin", id=2)]

    found = told(rules, some_facts("/a/%2e%2e/x;b//..%2f..%5c..%252fadmin"))

    assert found[0][1][1] == (2, True, True, None)
    assert len(found) == MAX_READINGS
    assert told(rules, some_facts("/a/../b"))[0][0] in {"/a/../b", "/b"}


def test_path_that_was_not_shown_has_no_reading_and_the_invisible_part_is_named():
    rules = [an_access_rule("public", "prefix /a", id=1), an_access_rule("denied", "prefix /b", id=2)]

    (reading,) = traced(rules, some_facts("/a", visible=SHOWN - {"uri"}))

    assert reading.path is None
    assert [(each.decides, each.failed, each.not_visible) for each in reading.rules] == [
        (False, None, ("uri",)),
        (True, None, ("uri",)),
    ]


def test_host_without_rules_has_no_trace():
    assert traced([an_access_rule("denied", domains=frozenset({"shop.example"}))], some_facts("/")) == ()
