"""A long attack in the URI is refused by its beginning: the same answer, fewer rules, a note about the rest."""

from dataclasses import replace
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewall.engine.facts import Facts
from gatewall.engine.model import Action
from gatewall.engine.snapshot import EnforcementMode
from gatewall.engine.waf.exclusions import Exclusion
from gatewall.engine.waf.judge import Judge, builtin_rules, request_of
from gatewall.engine.waf.matcher import RuleSet
from gatewall.engine.waf.reading import BEGINNING, LONG_URI
from gatewall.engine.waf.rules import THRESHOLD
from gatewall.engine.waf.vector import AVAILABLE, CompiledNow
from tests.support.cast import a_policy, a_request, a_rule

BUILTIN = builtin_rules()
REST = "protocol-not-inspected"
PADDING = "&b=" + "x" * (LONG_URI + 1)
ATTACK = "/?a=<script>alert(1)</script>" + PADDING


@pytest.fixture(scope="module", params=["re2", "hyperscan"])
def rules(request):
    if request.param == "hyperscan" and not AVAILABLE:
        pytest.skip("hyperscan is not available on this machine")
    return RuleSet(BUILTIN, CompiledNow() if request.param == "hyperscan" else None)


def names(rules, uri, stop_at=THRESHOLD):
    return {rule.name for rule in rules.inspect(a_request(uri=uri), None, stop_at)}


def refuses(found):
    return any(sum(each.score for each in found if each.category == rule.category) >= THRESHOLD for rule in found)


PIECES = "<script>|' or 1=1|select |a|&|=|/|..|%|25|%3c|%253cscript|%0a|\n|+|'|/*|&lt;|\\x3c|;cat /etc|$(id)|union"
WORDS = st.sampled_from([*PIECES.split("|"), "x" * 60, quote(quote("<svg/onload=alert(1)>"))])


@given(st.lists(WORDS, min_size=1, max_size=60), st.integers(0, 40))
def test_answer_is_that_of_the_whole_request_and_every_rule_matches_it(rules, pieces, shift):
    uri = ("/" + "y" * shift + "?a=" + "".join(pieces)).ljust(BEGINNING, "z") + PADDING
    request = a_request(uri=uri)
    whole, early = rules.inspect(request, None), rules.inspect(request, None, THRESHOLD)

    assert {rule.name for rule in early} - {REST} <= {rule.name for rule in whole}
    assert refuses(early) == refuses(whole)


def test_after_an_early_refusal_the_rest_is_noted_as_not_inspected(rules):
    behind = ATTACK + "&c=../../etc/passwd"

    assert {"traversal-dot-dot", "xss-script-tag"} <= names(rules, behind, stop_at=0)
    assert "traversal-dot-dot" not in names(rules, behind)
    assert {"xss-script-tag", REST} <= names(rules, behind)


def test_attack_behind_the_beginning_is_found(rules):
    assert "traversal-dot-dot" in names(rules, f"/?{PADDING}&c=../../etc/passwd")


def test_short_request_names_every_rule(rules):
    assert names(rules, "/?a=<script>&b=../../etc/passwd") == names(rules, "/?a=<script>&b=../../etc/passwd", stop_at=0)


@pytest.mark.parametrize("text", ["'", "%2", "%252", "..", "%25u003"])
def test_the_end_of_the_inspected_beginning_is_no_end_of_a_value(rules, text):
    start = "/?a=" + "x" * (BEGINNING - 4 - len(text)) + text

    assert names(rules, start + "x" * LONG_URI) == names(rules, start + "x" * LONG_URI, stop_at=0)


def test_rules_that_only_monitor_stop_nothing():
    rules = RuleSet([replace(rule, action=Action.MONITOR) for rule in BUILTIN])

    assert names(rules, ATTACK + "&c=../../etc/passwd") == names(rules, ATTACK + "&c=../../etc/passwd", stop_at=0)


LONG_TEXT = f"<script>alert(1)</script>{' words' * 2_000} ${{jndi:ldap://x.example/a}}"


def names_of_text(actions, default=Action.MONITOR):
    """Return the matching rules of a long text, with the actions of some rules by name."""
    rules = RuleSet([replace(rule, action=actions.get(rule.name, default)) for rule in BUILTIN])
    request = request_of(b"POST", b"/", [(b"content-type", b"text/plain")], LONG_TEXT.encode())
    return {rule.name for rule in rules.inspect(request, None, THRESHOLD)}


def test_scan_of_texts_ends_where_monitored_rules_would_suffice_to_refuse():
    found = names_of_text({})

    assert {"xss-script-tag", REST} <= found
    assert "injection-jndi-lookup" not in found


def test_monitored_matches_end_no_scan_for_an_enforced_rule():
    assert "injection-jndi-lookup" in names_of_text({"injection-jndi-lookup": Action.BLOCK})


def test_monitored_matches_in_the_beginning_hide_no_path_from_an_enforced_rule():
    enforced = {"scanner-secret-file": Action.BLOCK}
    rules = RuleSet([replace(rule, action=enforced.get(rule.name, Action.MONITOR)) for rule in BUILTIN])
    uri = f"/a<script>alert(1)</script>{'/words' * 300}/.git/config"

    assert "scanner-secret-file" in names(rules, uri)


def test_exclusion_applies_in_the_beginning():
    rules = RuleSet([replace(rule, exclusions=(Exclusion(argument="a"),)) for rule in BUILTIN])

    assert names(rules, ATTACK) == set()


def test_rule_of_another_domain_stops_nothing():
    rules = RuleSet([replace(rule, domain="shop.example") for rule in BUILTIN])

    assert names(rules, ATTACK) == set()


def test_scores_below_the_threshold_stop_nothing():
    together = RuleSet([*BUILTIN, a_rule("needle", id=1000)])

    assert "needle" in names(together, ATTACK + "needle", stop_at=1000)
    assert "needle" not in names(together, ATTACK + "needle")


@pytest.mark.parametrize("mode", [EnforcementMode.BLOCK, EnforcementMode.MONITOR])
def test_step_stops_at_a_sufficient_score_in_every_mode(mode):
    policy = a_policy(rules=BUILTIN, waf_mode=mode)
    found = {rule.name for rule in Facts(a_request(uri=ATTACK + "&c=../../x"), policy, None).matching_rules()}

    assert REST in found
    assert "traversal-dot-dot" not in found


def test_judge_refuses_long_attacks_and_no_harmless_padding():
    judge = Judge()

    assert judge(b"GET", ATTACK.encode(), [])
    assert not judge(b"GET", PADDING.encode(), [])


def test_a_short_uri_is_read_whole(rules):
    both = "/?a=<script>alert(1)</script>&c=../../etc/passwd"

    assert names(rules, both) == names(rules, both, stop_at=0) >= {"traversal-dot-dot", "xss-script-tag"}
