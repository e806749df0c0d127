"""The matchers against a plain reference: RE2, one rule and one value after the other, without precomputation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewall.engine.model import Action
from gatewall.engine.paths import possible_paths
from gatewall.engine.waf import custom_matcher
from gatewall.engine.waf.builtin import BUILTIN_RULES
from gatewall.engine.waf.builtin.regions import regions_of
from gatewall.engine.waf.canaries import ATTACKS as CANARIES
from gatewall.engine.waf.canaries import misread
from gatewall.engine.waf.exclusions import Exclusion
from gatewall.engine.waf.forms import Views
from gatewall.engine.waf.judge import builtin_rules
from gatewall.engine.waf.matcher import RuleSet
from gatewall.engine.waf.patterns import compile_pattern
from gatewall.engine.waf.prefilter import expression_of
from gatewall.engine.waf.reading import raw_uri, values_of
from gatewall.engine.waf.rules import BodyRegion, Operator, Target, Transform, WafRule
from gatewall.engine.waf.scanning import OneByOne
from gatewall.engine.waf.transforms import apply
from gatewall.engine.waf.vector import AVAILABLE, CompiledNow, VectorScanner
from tests.support.cast import NOW, a_request, a_rule
from tests.support.patterns import scanner_of
from tests.unit.attacks import ATTACKS as FIRST_ATTACKS
from tests.unit.look_alikes import HARMLESS as FIRST_HARMLESS
from tests.unit.waf_examples import ATTACKS_OF_NAMED, HARMLESS_OF_NAMED

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="hyperscan is not available on this machine")
ATTACKS = {**FIRST_ATTACKS, **ATTACKS_OF_NAMED}
HARMLESS = {**FIRST_HARMLESS, **HARMLESS_OF_NAMED}
BUILTIN = builtin_rules()


@pytest.fixture(scope="module")
def compiled():
    return RuleSet(BUILTIN, CompiledNow())


@pytest.fixture(autouse=True)
def every_rule_is_scanned_for(monkeypatch):
    monkeypatch.setattr(custom_matcher, "WORTH_A_SCAN", 1)


def plainly(rules, request, domain):
    """Return the matching rules by trying every pattern on every value, without groups or needs."""
    paths, everything = possible_paths(request.uri.partition("?")[0].encode("latin-1")), everything_of(request)
    return tuple(rule for rule in rules if plainly_matches(rule, request, domain, paths, everything))


def plainly_matches(rule, request, domain, paths, everything):
    if rule.domain not in {None, domain}:
        return False
    if rule.path_prefix is not None and not any(below(path, rule.path_prefix) for path in paths):
        return False
    domains = {domain, request.host.name}
    matches = compile_pattern(rule.pattern, rule.operator)
    return any(
        matches(apply(rule.transforms, value))
        and not any(spares(exclusion, region, name, paths, domains) for exclusion in rule.exclusions)
        for region, name, value in values_for(rule, request, everything)
    )


def everything_of(request):
    """Return all texts that the built-in rules inspect."""
    uri = raw_uri(request)
    found = values_of(request) + ([(Target.URI, None, uri)] if uri else [])
    return [(region, name, text.encode("latin-1")) for region, name, text in found]


def values_for(rule, request, everything):
    if rule.builtin:
        regions = regions_of(rule)
        return [each for each in everything if each[0] in regions]
    return [(target, *pair) for target in rule.targets for pair in Views(request).of(target)]


def spares(exclusion, region, name, paths, domains):
    return (
        (exclusion.expires_at is None or exclusion.expires_at > NOW)
        and exclusion.domain in {None, *domains}
        and is_named(exclusion, region, name)
        and (exclusion.path_prefix is None or all(below(path, exclusion.path_prefix) for path in paths))
    )


def is_named(exclusion, region, name):
    wanted = {"argument": exclusion.argument, "header": exclusion.header, "cookie": exclusion.cookie}
    (kind, value), *others = [pair for pair in wanted.items() if pair[1] is not None] or [(None, None)]
    assert not others
    if kind is None or isinstance(name, tuple):
        return kind is None or name == (kind, value)
    if region in {Target.USER_AGENT, Target.REFERER}:
        return (kind, value) == ("header", region)
    return name == value and region in REGIONS[kind]


def below(path, prefix):
    return (path + b"/").startswith(prefix.rstrip("/").encode() + b"/")


REGIONS = {
    "argument": {Target.ARGS, Target.ARG_NAMES, Target.BODY, *BodyRegion},
    "header": {Target.HEADERS},
    "cookie": {Target.COOKIES},
}
DOMAINS = st.sampled_from([None, "office.example", "shop.example"])
PREFIXES = st.sampled_from([None, "/", "/a", "/a/b/"])
EXCLUSIONS = st.builds(
    lambda named, *others, expires_at: Exclusion(*others, **dict([named]), expires_at=expires_at),
    st.tuples(st.sampled_from([*REGIONS]), st.sampled_from([None, "", "a", "b", "user-agent", "referer"])),
    DOMAINS,
    PREFIXES,
    expires_at=st.sampled_from([None, NOW, NOW + 1]),
)
CUSTOM = [
    "a",
    "^a",
    "b$",
    "<",
    "(?i)A.b",
    "a|b",
    r"\ba\b",
    r"a\s",
    r"a\z",
    r"\Aa",
    r"[^\s]b",
    "a*",
    "ü",
    r"(?i)\xe4",
    "a.b",
    "/",
]
PATTERNS = st.one_of(
    st.tuples(st.sampled_from(CUSTOM), st.sampled_from(Operator)),
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
    builtin=st.booleans(),
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
def test_matcher_agrees_with_a_plain_one(rules, request, domain):
    assert RuleSet(rules).inspect(request, domain) == plainly(rules, request, domain)


class OneByOneFirst:
    """Scanners of RE2, so that the scan of the custom rules uses the same code."""

    def want(self, patterns, ready):
        ready(scanner_of(tuple(patterns)) if len(patterns) < 9 else OneByOne(patterns))


@given(st.lists(RULES, max_size=4), KNOWN | MADE_UP, DOMAINS)
def test_scan_agrees_with_a_plain_matcher(rules, request, domain):
    assert RuleSet(rules, OneByOneFirst()).inspect(request, domain) == plainly(rules, request, domain)


@pytest.mark.no_cover
def test_built_in_rules_agree_with_a_plain_matcher_on_all_examples(compiled):
    requests = [a_request(**each) for examples in EXAMPLES for each in examples]
    found = [plainly(BUILTIN, each, None) for each in requests]

    for rules in (RuleSet(BUILTIN), compiled):
        assert [rules.inspect(each, None) for each in requests] == found


@given(request=MADE_UP)
def test_built_in_rules_agree_with_a_plain_matcher(compiled, request):
    assert compiled.inspect(request, None) == plainly(BUILTIN, request, None)


@given(
    operator=st.sampled_from(Operator),
    pattern=st.sampled_from(CUSTOM),
    value=st.text("ab \n\t\x0b\xe4\xc4/<ü", max_size=8),
)
def test_the_expression_matches_wherever_re2_does(operator, pattern, value):
    rule = a_rule(pattern, operator=operator)
    expression = expression_of(rule)
    data = value.encode("utf-8")

    if expression is not None and compile_pattern(pattern, operator)(data):
        assert VectorScanner.compiled([expression]).scan(b"x\n" + data + b"\nx")


@pytest.mark.parametrize(
    "pattern", [r"\Aa", r"a\z", r"\S", r"[^\s]", r"\pL", "é", r"(?i)\xe4", "(?-s:.)", "[[:word:]]", "a{,2}"]
)
def test_pattern_that_the_engines_read_differently_is_left_to_re2(pattern):
    assert expression_of(a_rule(pattern)) is None


def test_canaries_tell_an_empty_database_from_a_sound_one():
    patterns = [b"(?i)union\\s+all", b"etc/passwd"]

    assert not misread(VectorScanner.compiled(patterns), patterns)
    assert misread(VectorScanner.compiled([b"nothing of it", b"nor that"]), patterns)


def test_every_class_of_attack_has_a_canary():
    found = {
        BUILTIN[number].category
        for number, _ in OneByOne([r.pattern.encode() for r in BUILTIN]).scan(b"\n".join(CANARIES))
    }

    assert found >= {"sqli", "xss", "traversal", "rce", "injection", "ssrf"}
