"""Some rules enforced and others on monitor: enforced ones inspect every text to its end, at a bounded cost."""

from dataclasses import replace

import pytest

from bench.waf import browser_requests, some_monitored, worst_requests
from gatewall.engine.waf.exclusions import Exclusion
from gatewall.engine.waf.judge import COMPILED_NOW, builtin_rules
from gatewall.engine.waf.matcher import RuleSet
from gatewall.engine.waf.rules import THRESHOLD, Target
from tests.support.cast import a_request
from tests.unit.body_requests import request
from tests.unit.test_waf_worst_cases import MOST_TIMES, calls

ENFORCED = "injection-ssi"
RULES = some_monitored(builtin_rules())
MONITORED_ATTACK = "<script>alert(1)</script> "
ATTACK = '<!--#exec cmd="ls" -->'
WORDS = "some ordinary words \n"
COSTLY = (
    "64 KiB of text, attack words",
    "64 KiB of JSON, attack words",
    "1,000 headers, attack words",
    "quoted-printable",
)


@pytest.fixture(scope="module", params=[COMPILED_NOW, None], ids=["hyperscan", "re2"])
def rules(request):
    return RuleSet(RULES, request.param)


def names(rules, text):
    return {rule.name for rule in rules.inspect(request(text, "text/plain"), None, THRESHOLD)}


def test_enforced_rule_matches_behind_matches_of_monitored_rules(rules):
    text = WORDS * 300 + MONITORED_ATTACK + WORDS * 1_000 + ATTACK + WORDS * 500

    assert names(rules, text) >= {ENFORCED, "xss-script-tag"}
    assert ENFORCED not in names(rules, text.replace(ATTACK, ""))


def test_scan_for_monitored_rules_ends_where_their_matches_would_refuse(rules):
    late = "${jndi:ldap://x.example/a}"
    text = WORDS * 300 + MONITORED_ATTACK + WORDS * 1_000 + late

    assert "injection-jndi-lookup" not in names(rules, text)
    assert "injection-jndi-lookup" in names(rules, text.replace(MONITORED_ATTACK, ""))
    assert {rule.name for rule in rules.inspect(request(text, "text/plain"), None)} >= {"injection-jndi-lookup"}


def test_text_is_inspected_to_its_end_if_nothing_matches(rules):
    assert names(rules, WORDS * 1_500 + ATTACK) == {ENFORCED, "protocol-not-inspected"}


@pytest.mark.skipif(COMPILED_NOW is None, reason="no hyperscan on this platform")
@pytest.mark.parametrize("name", COSTLY)
def test_costly_request_takes_at_most_fifty_times_the_calls_of_an_ordinary_one(name):
    some, ordinary = RuleSet(RULES, COMPILED_NOW), browser_requests(10)

    assert calls(worst_requests()[name], some) <= MOST_TIMES * sum(map(calls, ordinary)) / len(ordinary)


def test_default_rules_need_no_scan_of_their_own():
    assert RuleSet(builtin_rules())._builtin._enforced is None
    assert RuleSet(RULES)._builtin._enforced is not None


def test_rule_with_an_exclusion_is_found_where_it_targets_behind_a_match_where_it_does_not():
    rule = next(rule for rule in builtin_rules() if rule.name == "sqli-union-select")
    attack = "1 union select 1"
    asked = a_request(
        uri=f"/?q={attack}".replace(" ", "+"),
        headers={"referer": f"https://cloud.example/?x={attack}"},
        cookies={"c": attack},
    )
    hits = RuleSet([replace(rule, exclusions=(Exclusion(argument="q"),))]).hits(asked, None)

    assert [(hit.target, hit.name) for hit in hits] == [(Target.COOKIES, "c")]
