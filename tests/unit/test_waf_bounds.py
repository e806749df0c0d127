"""Very many arguments, cookies or headers cost no more than a few, and hide nothing."""

import pytest

from gatewall.engine.waf.exclusions import Exclusion
from gatewall.engine.waf.forms import MAX_SEPARATE, Views
from gatewall.engine.waf.judge import builtin_rules
from gatewall.engine.waf.matcher import RuleSet
from gatewall.engine.waf.rules import Target
from tests.support.cast import a_request, a_rule

BUILTIN = RuleSet(builtin_rules())
IN_ARGS = {"targets": (Target.ARGS,)}


def matches(rule, **parts):
    return bool(RuleSet([rule]).inspect(a_request(**parts), None))


def many(count, last):
    return [f"a{number}=1" for number in range(count)] + [last]


@pytest.mark.parametrize("count", [0, MAX_SEPARATE - 1, MAX_SEPARATE, MAX_SEPARATE + 1, 1000])
@pytest.mark.parametrize(("target", "last"), [(Target.ARGS, "z=at%74ack"), (Target.ARG_NAMES, "at%74ack=z")])
def test_argument_behind_very_many_is_not_hidden(count, target, last):
    assert matches(a_rule(r"attack\b", targets=(target,)), uri=f"/?{'&'.join(many(count, last))}")


@pytest.mark.parametrize(("target", "part"), [(Target.COOKIES, "cookies"), (Target.HEADERS, "headers")])
def test_cookie_or_header_behind_very_many_is_not_hidden(target, part):
    pairs = {f"a{number}": "1" for number in range(100)} | {"z": "at%74ack"}

    assert matches(a_rule("attack", targets=(target,)), **{part: pairs})


@pytest.mark.parametrize("target", [Target.ARGS, Target.ARG_NAMES, Target.COOKIES, Target.HEADERS])
def test_number_of_values_is_bounded(target):
    pairs = {f"a{number}": "1" for number in range(1000)}
    request = a_request(uri="/?" + "a=1&" * 4000, cookies=pairs, headers=pairs)

    assert len(Views(request).of(target)) == MAX_SEPARATE + 1


def test_the_last_separately_matched_argument_keeps_its_name():
    spared = a_rule("attack", exclusions=(Exclusion(argument="html"),), **IN_ARGS)

    assert not matches(spared, uri=f"/?{'&'.join(many(MAX_SEPARATE - 1, 'html=attack'))}")
    assert matches(spared, uri=f"/?{'&'.join(many(MAX_SEPARATE, 'html=attack'))}")


def test_arguments_matched_together_keep_their_starts_and_ends():
    uri = f"/?{'&'.join([*many(MAX_SEPARATE, 'b'), '../x', 'c'])}"

    assert BUILTIN.inspect(a_request(uri=uri), None)
