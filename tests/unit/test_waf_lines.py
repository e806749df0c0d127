"""Patterns that stay on their line, databases that are refused, and the judge of raw requests."""

import pytest

from gatewall.engine.waf.builtin import BUILTIN_RULES
from gatewall.engine.waf.judge import Judge, request_of
from gatewall.engine.waf.lines import on_one_line
from gatewall.engine.waf.prefilter import expression_of
from gatewall.engine.waf.rules import Operator
from gatewall.engine.waf.vector import AVAILABLE, CompiledNow, DatabaseRefused, VectorScanner
from tests.support.cast import a_rule

needs_the_engine = pytest.mark.skipif(not AVAILABLE, reason="hyperscan is not available on this machine")


@pytest.mark.parametrize(
    ("pattern", "rewritten"),
    [
        (r"a\sb", r"a[\t\r\f ]b"),
        (r"[\sa]", r"[\t\r\f a]"),
        (r"[^a]", r"[^\na]"),
        (r"[^\s]", r"[^\n\t\r\f ]"),
        (r"\S\W\D", r"[^\t\n\r\f ][^\w\n][^\d\n]"),
        (r"\w\[\]\\", r"\w\[\]\\"),
        ("[[]a", "[[]a"),
    ],
)
def test_pattern_is_kept_on_its_line(pattern, rewritten):
    assert on_one_line(pattern) == rewritten


@pytest.mark.parametrize("pattern", [r"\n", r"\Aa", r"a\z", r"\pL", r"[\S]", r"[^\W]", r"[[:alpha:]]", r"\Qa\E", r"\C"])
def test_pattern_that_cannot_be_kept_on_its_line_is_refused(pattern):
    with pytest.raises(ValueError, match="line"):
        on_one_line(pattern)


def test_every_built_in_pattern_stays_on_its_line():
    assert all(on_one_line(rule.pattern) for rule in BUILTIN_RULES)


def test_class_that_leaves_out_white_space_is_left_to_re2():
    assert expression_of(a_rule(r"[^a\s]")) is None
    assert expression_of(a_rule(r"[^a]b")) == b"[^a]b"


@needs_the_engine
@pytest.mark.parametrize("pattern", [b"(", b"a*", rb"(a)\1"])
def test_pattern_that_the_engine_does_not_take_is_left_out(pattern):
    assert VectorScanner.compiled([pattern]).left_out == {0}


@needs_the_engine
@pytest.mark.parametrize("data", [b"x", b"\0" * 40, (5).to_bytes(8, "big") + b"hello"])
def test_bytes_that_are_no_database_are_refused(data):
    with pytest.raises(DatabaseRefused, match="not a database"):
        VectorScanner.loaded(data)


@needs_the_engine
def test_compiled_now_gives_a_scanner_at_once():
    given = []
    CompiledNow().want([b"a+"], given.append)

    assert given[0].scan(b"xaa") == [(0, 2)]


def test_judge_takes_raw_requests():
    judge = Judge(None)
    headers = [(b"Host", b"office.example"), (b"Cookie", b"a=<script>alert(1)</script>; b")]

    assert judge(b"GET", b"/", headers)
    assert judge(b"POST", b"/", [], b"<script>alert(1)</script>")
    assert not judge(b"GET", b"/", [(b"Host", b"office.example"), (b"Cookie", b"b; a=c")])
    assert not judge(b"GET", b"/?a=%3Cb%3E", [])  # one element scores less than the threshold
    assert request_of(b"GET", b"/", headers).cookies == (("a", "<script>alert(1)</script>"), ("", "b"))


@pytest.mark.parametrize(
    ("operator", "expression"),
    [
        (Operator.CONTAINS, rb"a\x2e\x20\xc3\xbc"),
        (Operator.EQUALS, rb"^a\x2e\x20\xc3\xbc$"),
        (Operator.STARTS_WITH, rb"^a\x2e\x20\xc3\xbc"),
        (Operator.ENDS_WITH, rb"a\x2e\x20\xc3\xbc$"),
        (Operator.REGEX, None),
    ],
)
def test_operator_has_its_expression(operator, expression):
    assert expression_of(a_rule("a. ü", operator=operator)) == expression
