"""Detection of rules that cover every request of a later rule, without false positives."""

from dataclasses import replace
from ipaddress import ip_network

import pytest

from gatewall.engine.access_rules.rules import AccessRule, PathMatch, PathPattern
from gatewall.engine.hosts import Access
from policies.access_rules.coverage import covers

ANY = AccessRule(1, "any", Access.AUTHENTICATED)
NARROW = replace(
    ANY,
    domains=frozenset({"a.example"}),
    paths=(PathPattern(PathMatch.EXACT, "/api/v1"),),
    methods=frozenset({"GET"}),
    networks=(ip_network("192.0.2.0/25"),),
    countries=frozenset({"DE"}),
    asns=frozenset({64500}),
    weekdays=frozenset({1}),
    start_minute=60,
    end_minute=120,
    groups=frozenset({1}),
    users=frozenset({1}),
    credential_kinds=frozenset({"session"}),
    expires_at=100.0,
)
WIDER = {
    "domains": frozenset({"a.example", "b.example"}),
    "paths": (PathPattern(PathMatch.EXACT, "/other"), PathPattern(PathMatch.PREFIX, "/api")),
    "methods": frozenset({"GET", "HEAD"}),
    "networks": (ip_network("2001:db8::/32"), ip_network("192.0.2.0/24")),
    "countries": frozenset({"DE", "NZ"}),
    "asns": frozenset({64500, 64501}),
    "weekdays": frozenset({1, 2}),
    "groups": frozenset({1, 2}),
    "users": frozenset({1, 2}),
    "credential_kinds": frozenset({"session", "license"}),
    "expires_at": 101.0,
}
OTHER = {
    "domains": frozenset({"b.example"}),
    "paths": (PathPattern(PathMatch.PREFIX, "/ap"),),
    "methods": frozenset({"POST"}),
    "networks": (ip_network("192.0.2.128/25"),),
    "countries": frozenset({"NZ"}),
    "asns": frozenset({64501}),
    "weekdays": frozenset({2}),
    "start_minute": 61,
    "end_minute": 121,
    "time_zone": "Europe/Berlin",
    "groups": frozenset({2}),
    "users": frozenset({2}),
    "credential_kinds": frozenset({"license"}),
    "expires_at": 99.0,
}


def test_a_rule_without_conditions_covers_everything():
    assert covers(ANY, NARROW)
    assert covers(NARROW, NARROW)
    assert not covers(NARROW, ANY)


@pytest.mark.parametrize("name", WIDER)
def test_a_wider_condition_covers_a_narrower_one(name):
    wider = replace(NARROW, **{name: WIDER[name]})

    assert covers(wider, NARROW)
    assert not covers(NARROW, wider)


@pytest.mark.parametrize("name", OTHER)
def test_a_rule_with_one_narrower_condition_does_not_cover(name):
    assert not covers(replace(NARROW, **{name: OTHER[name]}), NARROW)


@pytest.mark.parametrize("name", set(OTHER) - {"start_minute", "end_minute", "time_zone"})
def test_a_rule_with_a_condition_does_not_cover_one_without_it(name):
    none = getattr(ANY, name)

    assert not covers(replace(ANY, **{name: getattr(NARROW, name)}), replace(NARROW, **{name: none}))


@pytest.mark.parametrize(
    ("earlier", "later", "is_covered"),
    [
        ("exact /a", "exact /a", True),
        ("exact /a", "glob /a", True),
        ("exact /a", "prefix /a", False),
        ("prefix /", "glob /**", True),
        ("prefix /a", "exact /a/b", True),
        ("prefix /a", "prefix /a/b", True),
        ("prefix /a", "prefix /ab", False),
        ("prefix /a", "glob /a/*/c", True),
        ("prefix /a/b", "glob /a/*/b", False),
        ("glob /a/**", "prefix /a", True),
        ("glob /**", "prefix /", True),
        ("glob /a/*", "exact /a/b", True),
        ("glob /a/*", "prefix /a/b", False),
        ("glob /a/*", "glob /a/*", True),
        ("glob /*/b/**", "prefix /a/b", False),
        ("glob /**/b/**", "exact /a/b/c", True),
    ],
)
def test_path_patterns_are_compared_by_the_paths_that_they_match(earlier, later, is_covered):
    earlier, later = (
        replace(ANY, paths=(PathPattern(PathMatch(match), value),))
        for match, value in (text.split() for text in (earlier, later))
    )

    assert covers(earlier, later) is is_covered


def test_a_rule_for_preflights_covers_no_other_options_request():
    preflight = replace(ANY, access=Access.PUBLIC, methods=frozenset({"OPTIONS"}))

    assert covers(preflight, preflight)
    assert not covers(preflight, replace(preflight, access=Access.DENIED))
