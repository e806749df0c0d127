"""Rules: targets, operators, transforms, and exclusions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewall.engine.waf.builtin import BUILTIN_RULES
from gatewall.engine.waf.matcher import RuleSet
from gatewall.engine.waf.patterns import MAX_PATTERN_BYTES, PatternRefused, compile_pattern
from gatewall.engine.waf.rules import Operator, Target, Transform, WafRule
from tests.support.cast import a_request, a_rule

EVERYWHERE = tuple(Target)


def matches(rule, domain=None, **parts):
    return bool(RuleSet([rule]).inspect(a_request(**parts), domain))


def finds(pattern, *targets, transforms=(), **parts):
    return matches(a_rule(pattern, targets=targets, transforms=transforms), **parts)


# Operators.


@pytest.mark.parametrize(
    ("operator", "value", "found"),
    [
        (Operator.REGEX, "xx needle yy", True),
        (Operator.REGEX, "nadel", False),
        (Operator.CONTAINS, "xx needle yy", True),
        (Operator.CONTAINS, "NEEDLE", False),
        (Operator.EQUALS, "needle", True),
        (Operator.EQUALS, "needle ", False),
        (Operator.EQUALS, "a needle", False),
        (Operator.STARTS_WITH, "needle yy", True),
        (Operator.STARTS_WITH, "xx needle", False),
        (Operator.ENDS_WITH, "xx needle", True),
        (Operator.ENDS_WITH, "needle yy", False),
    ],
)
def test_operator_decides_how_a_pattern_is_compared(operator, value, found):
    assert compile_pattern("needle", operator)(value.encode()) is found


@pytest.mark.parametrize("operator", [each for each in Operator if each is not Operator.REGEX])
def test_only_regex_patterns_have_wildcards(operator):
    assert not compile_pattern(".*", operator)(b"abc")
    assert compile_pattern(".*", operator)(b".*")


def test_regex_matches_bytes():
    assert compile_pattern(r"^\xff$", Operator.REGEX)(b"\xff")


def test_regex_ignores_case_of_ascii_letters_only():
    assert not compile_pattern("(?i)^k$", Operator.REGEX)("\u212a".encode())


@pytest.mark.parametrize("operator", Operator)
@pytest.mark.parametrize("text", ["bücher", "日本", "ÿ"])
def test_pattern_beyond_ascii_is_utf_8_as_browsers_send_it(operator, text):
    assert compile_pattern(text, operator)(text.encode())


# Patterns that are refused.


@pytest.mark.parametrize(
    "pattern",
    ["(", "[", "a{2,1}", "*", r"(a)\1", "(?=a)", "(?<=a)b", "(?!a)", "(?P<n>a)(?P=n)", "a{1001}", r"\q", "(?>a)"],
)
def test_pattern_not_supported_by_re2_is_refused_with_a_message(pattern):
    with pytest.raises(PatternRefused, match="not a pattern of RE2 syntax"):
        compile_pattern(pattern, Operator.REGEX)


@pytest.mark.parametrize(
    "pattern", ["((a{1,100}){1,100}){1,100}", "((((a{1,30}){1,30}){1,30}){1,30})", "(.{1000}){999}"]
)
def test_pattern_that_needs_too_much_memory_is_refused(pattern):
    with pytest.raises(PatternRefused):
        compile_pattern(pattern, Operator.REGEX)


def test_a_mebibyte_is_the_border_of_too_much_memory():
    assert compile_pattern("a{1000}" * 80, Operator.REGEX)
    with pytest.raises(PatternRefused, match="too large"):
        compile_pattern("a{1000}" * 95, Operator.REGEX)


@pytest.mark.parametrize("operator", Operator)
@pytest.mark.parametrize("pattern", ["", "a" * (MAX_PATTERN_BYTES + 1), "ü" * (MAX_PATTERN_BYTES // 2 + 1)])
def test_pattern_that_is_empty_or_over_4_kib_is_refused(operator, pattern):
    with pytest.raises(PatternRefused, match="has 1 to 4096 bytes"):
        compile_pattern(pattern, operator)


@pytest.mark.parametrize("operator", Operator)
def test_pattern_with_half_a_character_is_refused(operator):
    with pytest.raises(PatternRefused, match="not text"):
        compile_pattern("\ud800", operator)


def test_longest_pattern_is_taken():
    assert compile_pattern("a" * MAX_PATTERN_BYTES, Operator.CONTAINS)(b"a" * MAX_PATTERN_BYTES)


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*$", "(.*)*x", r"^(\w+\s?)*$"])
def test_pattern_that_is_exponential_elsewhere_is_linear_here(pattern):
    # A backtracking engine would never finish this one.
    compile_pattern(pattern, Operator.REGEX)(b"a" * 50_000 + b"!")


def test_set_with_a_refused_pattern_is_refused():
    with pytest.raises(PatternRefused):
        RuleSet([a_rule("fine"), a_rule("(")])


# Targets.

REQUEST = {
    "host": "host.example",
    "method": "PURGE",
    "uri": "/pa%74h?n%61me=v%61lue&flag",
    "headers": {"user-agent": "agent%41", "referer": "ref%41", "x-other": "oth%41er"},
    "cookies": {"session": "cook%41ie"},
    "body": b"bo%41dy",
}


@pytest.mark.parametrize(
    ("target", "seen"),
    [
        (Target.URI, ["/pa%74h?n%61me=v%61lue&flag"]),
        (Target.PATH, ["/path"]),
        (Target.QUERY, ["n%61me=v%61lue&flag"]),
        (Target.ARGS, ["value", ""]),
        (Target.ARG_NAMES, ["name", "flag"]),
        (Target.HEADERS, ["agentA", "refA", "othAer"]),
        (Target.USER_AGENT, ["agentA"]),
        (Target.COOKIES, ["cookAie"]),
        (Target.REFERER, ["refA"]),
        (Target.METHOD, ["PURGE"]),
        (Target.HOST, ["host.example"]),
        (Target.BODY, ["bo%41dy"]),
    ],
)
def test_a_rule_matches_the_values_of_its_target_only(target, seen):
    values = ["/pa%74h?n%61me=v%61lue&flag", "/path", "n%61me=v%61lue&flag", "value", "", "name", "flag", "agentA"]
    values += ["bo%41dy", "refA", "othAer", "cookAie", "PURGE", "host.example"]

    found = [value for value in values if matches(a_rule(f"^{_escaped(value)}$", targets=(target,)), **REQUEST)]

    assert found == [value for value in values if value in seen]


def _escaped(value):
    return "".join(character if character.isalnum() else rf"\x{ord(character):02x}" for character in value)


@pytest.mark.parametrize(
    "target", [Target.USER_AGENT, Target.REFERER, Target.HOST, Target.COOKIES, Target.HEADERS, Target.BODY]
)
def test_part_that_was_not_sent_matches_nothing(target):
    assert not matches(a_rule(".*", targets=(target,)), host=None)


def test_rule_with_several_targets_needs_one_to_match():
    assert finds("PURGE", Target.PATH, Target.METHOD, **REQUEST)


@pytest.mark.parametrize("position", range(4))
def test_position_of_the_argument_that_matches_does_not_matter(position):
    arguments = ["a=1", "b=2", "c=3"]
    arguments.insert(position, "d=attack")

    assert finds("attack", Target.ARGS, uri=f"/?{'&'.join(arguments)}")


def test_argument_behind_very_many_is_seen():
    assert finds("attack", Target.ARGS, uri="/?" + "a=1&" * 2000 + "z=attack")


@pytest.mark.parametrize(
    "uri",
    ["/?q=attack", "/?q=%61ttack", "/?q=%2561ttack", "/?q=%252561ttack", "/?q=%61%74%74%61%63%6B", "/?q=a=attack"],
)
def test_encoding_up_to_three_times_hides_nothing(uri):
    assert finds("attack", Target.ARGS, uri=uri)


def test_plus_is_a_space_in_arguments_and_a_plus_in_paths():
    assert finds("^a b$", Target.ARGS, uri="/?q=a+b")
    assert finds("^/a[+]b$", Target.PATH, uri="/a+b")


def test_encoded_plus_stays_a_plus():
    assert finds("^a[+]b$", Target.ARGS, uri="/?q=a%2Bb")


@pytest.mark.parametrize("uri", ["/%", "/%4", "/%zz", "/?%=%&%%%", "/?&&=&", "/\xff?\xff=\xff", "*", "/%c0%ae"])
def test_uri_of_any_form_is_inspected(uri):
    assert finds(".", *EVERYWHERE, uri=uri)


@given(st.binary(max_size=60), st.binary(max_size=30))
def test_any_request_is_inspected_without_an_exception(uri, value):
    text = value.decode("latin-1")

    RuleSet(
        WafRule(1, rule.key, rule.pattern, targets=EVERYWHERE, transforms=tuple(Transform))
        for rule in BUILTIN_RULES[:3]
    ).inspect(a_request(uri="/" + uri.decode("latin-1"), headers={"x": text}, cookies={text: text}), None)


def test_refusal_quotes_the_error_of_re2_and_re2_prints_nothing(capfd):
    with pytest.raises(PatternRefused, match=r"RE2 syntax: missing \): \("):
        compile_pattern("(", Operator.REGEX)

    assert capfd.readouterr() == ("", "")


def test_arguments_behind_the_64th_are_one_value_with_white_space_between_them():
    uri = "/?" + "&".join([f"a{number}=b" for number in range(63)] + ["x=one", "y=two", "z=three"])

    assert finds(r"two\sz=three", Target.ARGS, uri=uri)
    assert finds(r"^y=two\s", Target.ARGS, uri=uri)
    assert finds("^one$", Target.ARGS, uri=uri)
