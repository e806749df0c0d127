"""What a match needs: the shortcut of the built-in rules never changes a result."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewall.engine.model import Action
from gatewall.engine.waf.builtin import BUILTIN_RULES
from gatewall.engine.waf.matcher import RuleSet, compile_pattern
from gatewall.engine.waf.rules import Exclusion, Operator, Target, Transform, WafRule
from gatewall.engine.waf.transforms import apply
from gatewall.engine.waf.views import Views, readings
from tests.cast import a_request
from tests.unit.attacks import ATTACKS
from tests.unit.look_alikes import HARMLESS

ALL = pytest.mark.parametrize("rule", BUILTIN_RULES, ids=lambda rule: rule.key)


def has_a_need(rule, value):
    return any(need in value.lower() for need in rule.needs)


@ALL
def test_needs_are_in_lower_case_and_not_empty(rule):
    assert rule.needs
    assert all(need and need == need.lower() and need.isascii() for need in rule.needs)


@ALL
def test_whatever_matches_in_an_attack_has_a_need(rule):
    test = compile_pattern(rule.pattern, Operator.REGEX)
    views = [Views(a_request(**attack)) for attack in ATTACKS[rule.key]]
    values = [
        apply(rule.transforms, value) for view in views for target in rule.targets for _, value in view.of(target)
    ]

    assert [value for value in values if test(value) and not has_a_need(rule, value)] == []


@ALL
@given(data=st.data())
def test_whatever_a_pattern_can_match_has_a_need(rule, data):
    matching = st.from_regex(re.compile(rule.pattern, re.ASCII), alphabet=st.characters(max_codepoint=127))

    assert has_a_need(rule, data.draw(matching).encode())


def test_same_pattern_under_another_operator_needs_nothing_else():
    for operator in set(Operator) - {Operator.REGEX}:
        rules = [WafRule(1, rule.key, rule.pattern, operator, (Target.USER_AGENT,)) for rule in BUILTIN_RULES]
        found = [RuleSet([rule]).inspect(a_request(headers={"user-agent": rule.pattern}), None) for rule in rules]
        assert all(found)


# The matcher against a plain one.


def plainly(rules, request, domain):
    """The rules that match, found without groups, needs or anything worked out beforehand."""
    return tuple(rule for rule in rules if plainly_matches(rule, request, domain))


def plainly_matches(rule, request, domain):
    paths = readings(request.uri.partition("?")[0].encode("latin-1"))
    if rule.domain not in {None, domain}:
        return False
    if rule.path_prefix is not None and not any(below(path, rule.path_prefix) for path in paths):
        return False
    return any(
        compile_pattern(rule.pattern, rule.operator)(apply(rule.transforms, value))
        and not any(spares(exclusion, name, paths, domain) for exclusion in rule.exclusions)
        for target in rule.targets
        for name, value in Views(request).of(target)
    )


def spares(exclusion, name, paths, domain):
    return (
        exclusion.domain in {None, domain}
        and exclusion.argument in {None, name}
        and (exclusion.path_prefix is None or all(below(path, exclusion.path_prefix) for path in paths))
    )


def below(path, prefix):
    return (path + b"/").startswith(prefix.rstrip("/").encode() + b"/")


DOMAINS = st.sampled_from([None, "office.example", "shop.example"])
PREFIXES = st.sampled_from([None, "/", "/a", "/a/b/"])
EXCLUSIONS = st.builds(Exclusion, DOMAINS, PREFIXES, st.sampled_from([None, "", "a", "b"]))
PATTERNS = st.one_of(
    st.tuples(st.sampled_from(["a", "^a", "b$", "<", "(?i)A.b", "a|b"]), st.sampled_from(Operator)),
    st.tuples(st.sampled_from([rule.pattern for rule in BUILTIN_RULES]), st.just(Operator.REGEX)),
)
RULES = st.builds(
    lambda compared, **parts: WafRule(1, "x", *compared, **parts),
    PATTERNS,
    targets=st.lists(st.sampled_from(Target), min_size=1, max_size=3, unique=True).map(tuple),
    transforms=st.lists(st.sampled_from(Transform), max_size=2).map(tuple),
    action=st.sampled_from(Action),
    domain=DOMAINS,
    path_prefix=PREFIXES,
    exclusions=st.lists(EXCLUSIONS, max_size=2).map(tuple),
)
EXAMPLES = [each for table in (ATTACKS, HARMLESS) for each in [*table.values()]]
KNOWN = st.sampled_from([a_request(**each) for examples in EXAMPLES for each in examples])
PIECES = [
    "/a",
    "/b",
    "?",
    "&",
    "a=",
    "b=",
    "%3c",
    "%2e%2e",
    "/..",
    ";",
    "script",
    "' or 1=1",
    "%00",
    "${jndi:x}",
    "&" * 70,
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)
MADE_UP = st.builds(
    lambda uri, value: a_request(uri=f"/{uri}", cookies={"a": value}, headers={"b": value, "user-agent": value}),
    TEXTS,
    TEXTS,
)


@given(st.lists(RULES, max_size=4), KNOWN | MADE_UP, DOMAINS)
def test_matcher_finds_what_a_plain_one_finds(rules, request, domain):
    assert RuleSet(rules).inspect(request, domain) == plainly(rules, request, domain)


def test_matcher_finds_what_a_plain_one_finds_in_every_attack_and_look_alike():
    rules = [
        WafRule(number, rule.key, rule.pattern, targets=rule.targets, transforms=rule.transforms)
        for number, rule in enumerate(BUILTIN_RULES)
    ]
    requests = [a_request(**each) for examples in EXAMPLES for each in examples]
    compiled = RuleSet(rules)

    assert [compiled.inspect(each, None) for each in requests] == [plainly(rules, each, None) for each in requests]


@pytest.mark.parametrize(("first", "second"), [("sleep(1)", "x"), ("x", "sleep(1)"), ("sle", "ep(1)")])
def test_need_and_match_may_stand_in_any_value(first, second):
    rules = [
        WafRule(1, "x", next(r.pattern for r in BUILTIN_RULES if r.key == "sqli-time-delay"), targets=(Target.ARGS,))
    ]
    request = a_request(uri=f"/?a={first}&b={second}")

    assert RuleSet(rules).inspect(request, None) == plainly(rules, request, None)
