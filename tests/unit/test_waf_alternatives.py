"""Every alternative of every built-in pattern matches a text that the rest of the pattern does not match."""

from itertools import islice
from random import Random

import pytest

from gatewall.engine.waf.builtin import BUILTIN_RULES
from gatewall.engine.waf.patterns import compile_pattern
from gatewall.engine.waf.rules import Operator, Target
from tests.support.alternatives import Pattern
from tests.support.form import by_form

TRIES = 3_000
RULES = {rule.key: rule for rule in BUILTIN_RULES}


def example_of(pattern, alternative, whole, is_path):
    """Return a text that the pattern matches only with the alternative; None if none was drawn."""
    rest = compile_pattern(pattern.without(alternative), Operator.REGEX)
    random = Random(alternative.number)  # noqa: S311 - the same texts each time
    for text in islice(pattern.samples(alternative, random), TRIES):
        value = text.encode("latin-1")
        if whole(value) and not rest(value) and not (is_path and "?" in text):
            return text
    return None


def dead(key, each):
    """Return the alternatives of a rule's pattern without an example; only every ``each``-th one is tried."""
    rule = RULES[key]
    pattern, whole = Pattern(rule.pattern), compile_pattern(rule.pattern, Operator.REGEX)
    is_path = rule.targets == (Target.PATH,)
    chosen = pattern.alternatives()[::each]
    return [pattern.text_of(one) for one in chosen if example_of(pattern, one, whole, is_path) is None]


@pytest.mark.no_cover
@pytest.mark.parametrize("each", [by_form(full=1, default=16)])
def test_every_alternative_of_a_built_in_pattern_has_a_text_that_only_it_matches(each):
    found = {key: texts for key in RULES if (texts := dead(key, each))}

    assert found == {}


def test_built_in_patterns_have_thousands_of_alternatives():
    assert sum(len(Pattern(rule.pattern).alternatives()) for rule in BUILTIN_RULES) > 5_000


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a|b", []),
        ("ab|a|c", ["ab"]),
        ("(?i)x(?:a|A)y", ["a", "A"]),
        (r"\d(?:b|c\s*|[c])z", [r"[c]"]),
        (r"a(?:b|c)?", ["b", "c"]),
        (r"^(?:https?|[^a-h]{1,3}x|\x41\\|.\bq|\W+)$|k{2}", []),
    ],
)
def test_useless_alternatives_are_found(source, expected):
    pattern, whole = Pattern(source), compile_pattern(source, Operator.REGEX)

    assert [
        pattern.text_of(one) for one in pattern.alternatives() if example_of(pattern, one, whole, is_path=False) is None
    ] == expected


def test_end_of_a_pattern_that_was_not_parsed_is_an_error():
    with pytest.raises(ValueError, match="not parsed"):
        Pattern("a)b")
