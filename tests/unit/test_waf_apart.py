"""A pattern that the multi-pattern engine does not support slows no others, and matches as in RE2."""

from dataclasses import replace

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from gatewall.engine.waf import vector
from gatewall.engine.waf.judge import builtin_rules
from gatewall.engine.waf.matcher import RuleSet
from gatewall.engine.waf.patterns import PatternRefused, compile_pattern
from gatewall.engine.waf.prefilter import READ_OTHERWISE, expression_of, why_apart
from gatewall.engine.waf.rules import Operator, Target
from gatewall.engine.waf.scanning import OneByOne
from gatewall.engine.waf.vector import AVAILABLE, CompiledNow, DatabaseRefused, VectorScanner, why_refused
from tests.support.cast import a_request, a_rule

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="hyperscan is not available on this machine")
OTHERS = [a_rule(f"other{number}x", id=number, targets=(Target.ARGS,)) for number in range(1, 9)]
NOT_TAKEN = [
    "a$b",
    "a^b",
    "(a$|b)c",
    r"a\b$b",
    "a*",
    "$^",
    "([ab].{1,30}c?){30}",
    "(.a|b.){400}",
    r"a\S",
    r"\pL",
    "[[.a.]]",
]


def rules_with(*patterns):
    return [*OTHERS, *(a_rule(each, id=100 + at, targets=(Target.ARGS,)) for at, each in enumerate(patterns))]


def ids(rules, **parts):
    return [rule.id for rule in rules.inspect(a_request(**parts), None)]


@pytest.mark.parametrize("pattern", NOT_TAKEN)
def test_a_pattern_that_the_engine_does_not_take_leaves_the_others_in_one_scan(pattern):
    rules = RuleSet(rules_with(pattern), CompiledNow())

    assert rules.check() == ""
    assert rules._custom.scanner.name == "hyperscan"
    assert [rule.id for rule in rules.apart] == [100]
    assert 3 in ids(rules, uri="/?x=other3x")


def test_built_in_rules_are_scanned_in_one_pass_beside_them_all():
    rules = RuleSet([*builtin_rules(), *rules_with(*NOT_TAKEN)], CompiledNow())

    assert (rules.engine, rules.check()) == ("hyperscan", "")
    assert [rule.id for rule in rules.apart] == [100 + number for number in range(len(NOT_TAKEN))]


def test_rule_that_is_scanned_apart_matches():
    rules = RuleSet(rules_with(r"a\b$b|needle"), CompiledNow())

    assert ids(rules, uri="/?x=needle") == [100]
    assert ids(rules, uri="/?x=nothing") == []
    assert [rule.id for rule in rules.apart] == [100]


def test_supported_rules_and_rules_of_small_sets_are_not_scanned_apart():
    assert list(RuleSet(rules_with("a.b"), CompiledNow()).apart) == []
    assert list(RuleSet([a_rule("a$b")], CompiledNow()).apart) == []
    assert list(RuleSet(builtin_rules()).apart) == []


def test_reason_is_in_words():
    assert why_apart(a_rule("a$b")) == "Embedded end anchors not supported."
    assert "RE2" in why_apart(a_rule(r"a\S"))
    assert why_apart(a_rule("a$b", operator=Operator.CONTAINS)) == ""
    assert why_apart(a_rule("a.b")) == ""


def test_without_the_engine_no_rule_is_apart(monkeypatch):
    monkeypatch.setattr(vector, "AVAILABLE", False)
    why_refused.cache_clear()

    assert why_apart(a_rule("a$b")) == why_apart(a_rule(r"\S")) == ""
    why_refused.cache_clear()


def test_omitted_patterns_are_stored_with_the_databases():
    scanner = VectorScanner.compiled([b"needle", b"a$b", b"hay"])
    loaded = VectorScanner.loaded(scanner.dumped())

    assert loaded.left_out == scanner.left_out == {1}
    assert sorted(number for number, _ in loaded.scan(b"hay needle")) == [0, 2]


def test_pattern_that_the_engine_matches_differently_from_re2_is_left_out():
    assert VectorScanner.compiled([rb"\v", b"needle"]).left_out == {
        0
    }  # any vertical space to the one, one to the other


@pytest.mark.parametrize("value", ["a\rb", "a\fb", "a\x85b"])
def test_all_but_a_vertical_tab_is_read_as_re2_reads_it(value):
    """In the engine ``\\v`` is any vertical space, so its complement matches less than RE2's."""
    pattern = rb"a[^\v]b"

    assert OneByOne([pattern]).scan(value.encode("latin-1"))
    assert why_apart(a_rule(pattern.decode())) == READ_OTHERWISE


@pytest.mark.parametrize("most", [1, 3, 5, 11])
def test_patterns_too_large_for_one_database_are_split(monkeypatch, most):
    """The engine's own limits take gigabytes to reach, so a lower one stands in for them."""
    compile_all = vector._compile

    def within(numbered):
        if len(numbered) > most:
            raise DatabaseRefused("Resource limit exceeded.")
        return compile_all(numbered)

    monkeypatch.setattr(vector, "_compile", within)
    patterns = [b"needle%dx" % number for number in range(10)] + [b"a$b"]
    scanner = VectorScanner.compiled(patterns)

    assert scanner.left_out == {10}
    for number in range(10):
        assert [found for found, _ in scanner.scan(b"a needle%dx" % number)] == [number]


def test_inconsistent_support_of_a_pattern_is_refused(monkeypatch):
    monkeypatch.setattr(vector, "why_refused", lambda _pattern: "")

    with pytest.raises(DatabaseRefused):
        VectorScanner.compiled([b"needle", b"a$b", b"hay"])


def test_built_in_rules_refuse_a_scanner_that_omits_a_pattern():
    class Lacking:
        trouble = ""

        def want(self, patterns, ready):
            scanner = VectorScanner.compiled(patterns[:20])
            scanner.left_out = frozenset({3})
            ready(scanner)

    rules = RuleSet(builtin_rules(), Lacking())
    assert rules.engine == "re2"


LITERALS = st.sampled_from([*"abAB<'/ =%.-~\t\n\0", "ab", "é", "\\", "{", "}", "{,", "[", "]"])
ESCAPES = st.sampled_from(
    [
        *(r"\b", r"\B", r"\A", r"\z", r"\C", r"\d", r"\D", r"\s", r"\S", r"\w", r"\W", r"\pL", r"\PN", r"\p{Greek}"),
        *(r"\x41", r"\xe4", r"\x{e4}", r"\344", r"\101", r"\n", r"\t", r"\v", r"\a", r"\f", r"\.", r"\-", r"\/"),
        *(r"\Qa.b\E", "^", "$"),
    ]
)
CLASSES = st.sampled_from(
    [
        *(
            "[ab]",
            "[^a]",
            "[a-z]",
            "[^a-z\n]",
            r"[\w-]",
            r"[^\s]",
            r"[^\W]",
            "[[:alpha:]]",
            "[[:^space:]]",
            "[]a]",
            "[^]a]",
        ),
        *(r"[\x00-\x7f]", r"[^\x80-\xff]", "[é]", "[[a]", r"[\d\s]", "[.]", "[a&&b]", "[[=a=]]", r"[\344]", "[ -~]"),
    ]
)
REPEATS = st.sampled_from(
    ["*", "+", "?", "*?", "+?", "??", "{0}", "{2}", "{0,3}", "{3,}", "{1,30}", "{40}", "{200,1000}", "{1000}"]
)
FLAGS = st.sampled_from(["(?i)", "(?s)", "(?m)", "(?U)", "(?i-m)", "(?is)", "(?-m)", "(?m-s)", "(?im-s)"])
GROUPS = st.sampled_from(["(", "(?:", "(?i:", "(?-m:", "(?i-m:", "(?s:", "(?P<n>", "(?<n>"])
PATTERNS = st.recursive(
    LITERALS | ESCAPES | CLASSES | FLAGS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=4).map("".join),
        st.lists(inner, min_size=2, max_size=3).map("|".join),
        st.tuples(inner, REPEATS).map("".join),
        st.tuples(GROUPS, inner).map(lambda parts: f"{parts[0]}{parts[1]})"),
        st.tuples(inner, st.sampled_from([20, 300])).map(lambda parts: (parts[0] * parts[1])[:4096]),
    ),
    max_leaves=8,
)
VALUES = st.text(st.sampled_from("abABéÄä<'/ =%.-~\t\n\r\x0b\0\x7f\xff"), max_size=12)


@example("a$b", ["ab"])
@example("a\0|b", ["b"])
@example(r"(?i)\344", ["Ä"])
@example("(?i-m)^b", ["b"])
@example("a", [])
@given(PATTERNS, st.lists(VALUES, max_size=3))
def test_every_accepted_pattern_keeps_the_scan_and_matches_as_re2(pattern, values):
    """All patterns that the API accepts: anchors, empty matches, classes of Unicode, large repeats."""
    try:
        compile_pattern(pattern, Operator.REGEX)
    except PatternRefused:
        assume(False)
    rules = [replace(rule, targets=(Target.COOKIES,)) for rule in rules_with(pattern)]
    request = a_request(uri="/", cookies={f"c{at}": value for at, value in enumerate([*values, "other5x"])})
    scanned, plain = RuleSet(rules, CompiledNow()), RuleSet(rules)

    assert scanned._custom.scanner.name == "hyperscan"
    assert scanned.check() == ""
    assert scanned.inspect(request, None) == plain.inspect(request, None)


@pytest.mark.parametrize(
    "pattern",
    ["x" * 4096, "a{0,10}b" * 500, r"\b" * 2000 + "a", "(" * 500 + "a" + ")" * 500, "(a|" * 400 + "b" + ")" * 400],
)
def test_very_large_patterns_leave_the_scan(pattern):
    rules = RuleSet(rules_with(pattern), CompiledNow())

    assert rules._custom.scanner.name == "hyperscan"
    assert 3 in ids(rules, uri="/?x=other3x")


@pytest.mark.parametrize("pattern", ["a\0|b", r"(?i)\344", "(?i-m)^b", "(?i-m:^b)"])
def test_pattern_that_the_engine_would_cut_or_fold_otherwise_is_left_to_re2(pattern):
    assert expression_of(a_rule(pattern)) is None
