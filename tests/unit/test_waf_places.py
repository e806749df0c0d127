"""Places of matches agree with the matchers: a place for every match, and no other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewall.engine.waf.exclusions import Exclusion
from gatewall.engine.waf.judge import builtin_rules, request_of
from gatewall.engine.waf.matcher import RuleSet
from gatewall.engine.waf.patterns import compile_find, compile_pattern
from gatewall.engine.waf.places import MAX_PLACES, Form, Places
from gatewall.engine.waf.rules import Operator, Target, Transform
from tests.support.cast import OFFICE, a_request, a_rule
from tests.unit.attacks import ATTACKS
from tests.unit.look_alikes import HARMLESS

BUILTIN = builtin_rules()
RULES = RuleSet(BUILTIN)
TARGETS = st.lists(st.sampled_from(Target), min_size=1, max_size=3, unique=True).map(tuple)
TEXTS = st.text(st.sampled_from("ab%2561&=+/'\\\x00ÿ "), max_size=12)


@pytest.mark.no_cover
@pytest.mark.parametrize("examples", [ATTACKS, HARMLESS], ids=["attacks", "look-alikes"])
def test_a_built_in_rule_has_a_place_where_it_matches_and_nowhere_else(examples):
    for parts in [each for found in examples.values() for each in found]:
        request = a_request(**parts)
        found = RULES.inspect(request, None)
        places = Places(request, None)

        assert {rule.name for rule in BUILTIN if places.of(rule)} == {rule.name for rule in found}, parts


@given(st.sampled_from(Operator), TARGETS, st.lists(st.sampled_from(Transform), max_size=2).map(tuple), TEXTS, TEXTS)
def test_a_custom_rule_has_a_place_exactly_where_it_matches(operator, targets, transforms, pattern, text):
    needle = pattern.replace("\\", "") or "a"
    if operator is Operator.REGEX:
        needle = needle.replace("+", ".")
    rule = a_rule(pattern=needle, operator=operator, targets=targets, transforms=transforms)
    request = a_request(
        uri=f"/{text}?{text}&x={text}", headers={"user-agent": text, "x-other": text}, cookies={"c": text}, body=None
    )

    matches = bool(RuleSet([rule]).inspect(request, None))

    assert bool(Places(request, None).of(rule)) is matches


@given(st.sampled_from(Operator), TEXTS, TEXTS)
def test_the_span_of_a_match_matches_again(operator, pattern, value):
    needle = (pattern.replace("\\", "") or "a").replace("+", ".")
    raw = value.encode("utf-8")

    span = compile_find(needle, operator)(raw)

    assert (span is not None) is compile_pattern(needle, operator)(raw)
    if span is not None:
        assert compile_pattern(needle, operator)(raw[span[0] : span[1]])


def test_places_respect_scope_and_exclusions():
    request = a_request(uri="/editor?q=attack&r=attack")

    def names(**parts):
        return [
            place.name
            for place in Places(request, OFFICE).of(a_rule(pattern="attack", targets=(Target.ARGS,), **parts))
        ]

    assert names() == ["q", "r"]
    assert names(domain="shop.example") == []
    assert names(path_prefix="/admin") == []
    assert names(exclusions=(Exclusion(argument="q"),)) == ["r"]
    assert names(exclusions=(Exclusion(OFFICE, "/editor", "q"), Exclusion(argument="r"))) == []


def test_a_part_is_one_place_and_few_are_shown():
    many = a_request(uri="/?" + "&".join(f"x{n}=attack" for n in range(20)))
    rule = a_rule(pattern="attack", targets=(Target.ARGS,))

    assert len(Places(many, None).of(rule)) == MAX_PLACES
    assert len(Places(a_request(uri="/?q=attack&q=attack"), None).of(rule)) == 1


@pytest.mark.parametrize(
    ("sent", "form"),
    [
        (b"1 union select", Form.AS_SENT),
        (b"1+union+select", Form.DECODED),
        (b"1%20union%20select", Form.DECODED),
        (b"1%2520union%2520select", Form.DECODED),
        (b"1/**/union/**/select", Form.REWRITTEN),
        (b"MSB1bmlvbiBzZWxlY3Qg", Form.REWRITTEN),
    ],
)
def test_a_place_names_the_form_in_which_its_text_was_read(sent, form):
    rule = a_rule(pattern=r"union\s+select", targets=(Target.ARGS,), builtin=True)

    (place,) = Places(request_of(b"GET", b"/?q=" + sent, []), None).of(rule)

    assert (place.form, place.name) == (form, "q")
    assert place.text == "union select"


@pytest.mark.parametrize(
    ("target", "parts"),
    [
        (Target.METHOD, {"method": "ATTACK"}),
        (Target.HOST, {"host": "attack.example"}),
        (Target.BODY, {"body": b"an attack"}),
        (Target.COOKIES, {"cookies": {"a": "attack"}}),
        (Target.USER_AGENT, {"headers": {"user-agent": "attack"}}),
    ],
)
def test_every_part_may_be_as_it_was_sent(target, parts):
    (place,) = Places(a_request(**parts), None).of(a_rule(pattern="(?i)attack", targets=(target,)))

    assert (place.target, place.form, place.text.lower()) == (target, Form.AS_SENT, "attack")


@pytest.mark.parametrize(
    ("target", "parts"),
    [
        (Target.BODY, {"headers": {"content-type": "application/json"}, "body": b'{"q": "1 union select 2"}'}),
        (Target.BODY, {"headers": {"content-type": "text/plain"}, "body": b"x" * 4000 + b" 1 union select 2"}),
        (Target.ARGS, {"uri": "/?q=1+union+select+2"}),
        (Target.COOKIES, {"cookies": {"c": "1 union select 2 " + "x" * 4000}}),
        (Target.HEADERS, {"headers": {"x-search": "x" * 4000 + " 1 union select 2 "}}),
    ],
)
def test_a_built_in_rule_has_the_part_of_each_match(target, parts):
    rule = a_rule(pattern=r"union\s+select", targets=tuple(Target), builtin=True)

    assert target in {place.target for place in Places(a_request(**parts), None).of(rule)}
