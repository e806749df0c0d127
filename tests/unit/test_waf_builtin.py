"""The built-in rules: each matches its attacks and not its harmless look-alikes."""

import pytest

from gatewall.engine.waf.builtin import BUILTIN_RULES
from gatewall.engine.waf.judge import builtin_rules
from gatewall.engine.waf.matcher import RuleSet
from tests.support.cast import a_request
from tests.unit.attacks import ATTACKS as FIRST_ATTACKS
from tests.unit.look_alikes import HARMLESS as FIRST_HARMLESS
from tests.unit.waf_examples import ATTACKS_OF_NAMED, HARMLESS_OF_NAMED

ATTACKS = {**FIRST_ATTACKS, **ATTACKS_OF_NAMED}
HARMLESS = {**FIRST_HARMLESS, **HARMLESS_OF_NAMED}

SET = RuleSet(builtin_rules())


def matched(**parts):
    return {rule.name for rule in SET.inspect(a_request(**parts), None)}


KEYS = [rule.key for rule in BUILTIN_RULES]


@pytest.mark.no_cover
@pytest.mark.parametrize("key", KEYS)
def test_rule_finds_its_attacks(key):
    missed = [attack for attack in ATTACKS[key] if key not in matched(**attack)]

    assert missed == []


@pytest.mark.no_cover
@pytest.mark.parametrize("key", KEYS)
def test_rule_does_not_match_its_look_alikes(key):
    mistaken = [look_alike for look_alike in HARMLESS[key] if key in matched(**look_alike)]

    assert mistaken == []


def test_every_rule_has_two_attacks_and_two_look_alikes():
    assert set(ATTACKS) == set(HARMLESS) == set(KEYS)
    assert min(map(len, [*ATTACKS.values(), *HARMLESS.values()])) >= 2


def test_ordinary_requests_match_no_rule():
    ordinary = [
        {"uri": "/"},
        {"uri": "/search?q=caf%C3%A9+au+lait&page=2"},
        {"uri": "/api/v1/items?filter=price%3E10&sort=-name"},
        {"uri": "/wiki/C%2B%2B", "headers": {"user-agent": "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)"}},
        {"cookies": {"session": "eyJhbGciOiJIUzI1NiJ9.e30.x", "theme": "dark"}, "headers": {"accept": "*/*"}},
        {"uri": "/repo.git/info/refs?service=git-upload-pack", "headers": {"user-agent": "git/2.39.5"}},
    ]

    assert [matched(**parts) for parts in ordinary] == [set()] * len(ordinary)


def test_keys_are_unique_and_no_rule_counts_more_than_the_threshold():
    assert len(set(KEYS)) == len(KEYS)
    assert all(2 <= rule.score <= 5 and rule.reason for rule in BUILTIN_RULES)
