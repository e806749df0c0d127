"""Settings, domains, countries and WAF rules of a policy in the decision about one request."""

import pytest

from gatewall.engine.evaluate import evaluate
from gatewall.engine.model import Action, DecidedBy, Effect, Reason
from gatewall.engine.waf.rules import Category
from tests.support.cast import OFFICE, a_policy, a_ports, a_request, a_rule, an_allowed


def decide(policy, *, country=None, **request):
    return evaluate(a_request(credentials=["bob"], **request), policy, a_ports(country=country))


# Hosts.


@pytest.mark.parametrize("host", ["unregistered.example", None])
def test_host_that_nobody_registered_passes_in_mode_any(host):
    assert decide(a_policy(authorized_domains_mode="any"), host=host).effect is Effect.ALLOW


@pytest.mark.parametrize("host", ["unregistered.example", "evil-office.example", "office.example.evil.test", None])
def test_host_that_nobody_registered_is_refused_in_mode_registered(host):
    policy = a_policy(domains={OFFICE: "authenticated"}, authorized_domains_mode="registered")

    assert decide(policy, host=host).reason is Reason.HOST_NOT_AUTHORIZED


@pytest.mark.parametrize("mode", ["any", "registered"])
def test_denied_domain_is_refused_in_either_mode(mode):
    decision = decide(a_policy(domains={OFFICE: "denied"}, authorized_domains_mode=mode))

    assert decision.reason is Reason.HOST_NOT_AUTHORIZED
    assert decision.verdict.decided_by == DecidedBy("authorized-domains", 1)


def test_exact_domain_takes_precedence_over_the_wildcard():
    policy = a_policy(domains={"*.office.example": "denied", "wiki.office.example": "public"})

    assert decide(policy, host="wiki.office.example").reason is Reason.HOST_PUBLIC


def test_longest_wildcard_takes_precedence_over_a_shorter_one():
    policy = a_policy(domains={"*.example": "denied", "*.office.example": "public"})

    assert decide(policy, host="a.b.office.example").reason is Reason.HOST_PUBLIC


def test_wildcard_does_not_match_its_own_name():
    policy = a_policy(domains={"*.office.example": "denied"})

    assert decide(policy, host="office.example").effect is Effect.ALLOW


def test_decision_names_the_public_domain():
    assert decide(a_policy(domains={OFFICE: "public"})).verdict.decided_by == DecidedBy("authorized-domains", 1)


# Countries.


def test_blocked_country_is_refused_and_its_rule_named():
    decision = decide(a_policy(countries=["FR", "DE"]), country="DE")

    assert decision.reason is Reason.COUNTRY_BLOCKED
    assert decision.verdict.decided_by == DecidedBy("geo-block-rules", 2)


def test_other_country_passes_and_is_recorded():
    decision = decide(a_policy(countries=["FR"]), country="DE")

    assert decision.effect is Effect.ALLOW
    assert decision.country_code == "DE"


@pytest.mark.parametrize("mode", ["monitor", "off"])
def test_blocked_country_passes_unless_the_mode_is_block(mode):
    assert decide(a_policy(countries=["DE"], geo_mode=mode), country="DE").effect is Effect.ALLOW


def test_country_of_a_refused_client_is_recorded():
    assert decide(a_policy(blocked=["198.51.100.7"]), country="DE").country_code == "DE"


def test_unknown_country_passes_by_default():
    assert decide(a_policy(countries=["DE"]), country=None, client="8.8.8.8").effect is Effect.ALLOW


@pytest.mark.parametrize("client", ["8.8.8.8", "2606:4700::1"])
def test_unknown_country_of_a_public_address_can_be_refused(client):
    decision = decide(a_policy(unknown_country="block"), country=None, client=client)

    assert decision.reason is Reason.COUNTRY_BLOCKED


@pytest.mark.parametrize("client", ["10.1.2.3", "192.168.0.9", "100.64.0.9", "127.0.0.1", "::1", "fd00::1"])
def test_unknown_country_of_a_private_address_passes(client):
    assert decide(a_policy(unknown_country="block"), country=None, client=client).effect is Effect.ALLOW


@pytest.mark.parametrize("mode", ["monitor", "off"])
def test_unknown_country_passes_unless_the_mode_is_block(mode):
    policy = a_policy(unknown_country="block", geo_mode=mode)

    assert decide(policy, country=None, client="8.8.8.8").effect is Effect.ALLOW


# WAF scores.

URI = "/?q=one+two+three"


def rules(*scores, category=Category.SQLI, **parts):
    words = ("one", "two", "three")
    return [
        a_rule(words[number], id=number + 1, score=score, category=category, **parts)
        for number, score in enumerate(scores)
    ]


def test_one_rule_at_the_threshold_refuses():
    decision = decide(a_policy(rules=rules(5)), uri=URI)

    assert decision.reason is Reason.WAF_RULE
    assert decision.verdict.decided_by == DecidedBy("waf-rules", 1)


def test_one_rule_below_the_threshold_passes_and_is_recorded():
    decision = decide(a_policy(rules=rules(4)), uri=URI)

    assert decision.effect is Effect.ALLOW
    assert [match.rule_id for match in decision.rules] == [1]


def test_scores_within_a_category_add_up():
    decision = decide(a_policy(rules=rules(2, 3)), uri=URI)

    assert decision.reason is Reason.WAF_RULE
    assert decision.verdict.decided_by == DecidedBy("waf-rules", 2)


def test_scores_of_different_categories_do_not_add_up():
    policy = a_policy(rules=[*rules(4), a_rule("two", id=2, score=4, category=Category.XSS)])

    assert decide(policy, uri=URI).effect is Effect.ALLOW


def test_all_rules_that_match_are_recorded_not_only_those_up_to_the_threshold():
    decision = decide(a_policy(rules=rules(5, 5, 5)), uri=URI)

    assert [match.rule_id for match in decision.rules] == [1, 2, 3]


@pytest.mark.parametrize(("threshold", "effect"), [(9, Effect.DENY), (10, Effect.ALLOW)])
def test_threshold_is_a_setting(threshold, effect):
    assert decide(a_policy(rules=rules(4, 5), waf_threshold=threshold), uri=URI).effect is effect


def test_monitored_rule_is_recorded_and_not_enforced():
    decision = decide(a_policy(rules=rules(10, action=Action.MONITOR)), uri=URI)

    assert decision.effect is Effect.ALLOW
    assert [(match.rule_id, match.enforced) for match in decision.rules] == [(1, False)]


def test_score_of_a_monitored_rule_does_not_count():
    policy = a_policy(rules=[*rules(4), a_rule("two", id=2, category=Category.SQLI, action=Action.MONITOR)])

    decision = decide(policy, uri=URI)

    assert decision.effect is Effect.ALLOW
    assert [(match.rule_id, match.enforced) for match in decision.rules] == [(1, True), (2, False)]


def test_waf_in_mode_monitor_records_and_enforces_nothing():
    decision = decide(a_policy(rules=rules(10), waf_mode="monitor"), uri=URI)

    assert decision.effect is Effect.ALLOW
    assert [(match.rule_id, match.enforced) for match in decision.rules] == [(1, False)]


def test_waf_in_mode_off_records_nothing():
    decision = decide(a_policy(rules=rules(10), waf_mode="off"), uri=URI)

    assert decision.effect is Effect.ALLOW
    assert decision.rules == ()


@pytest.mark.parametrize("position", range(5))
def test_position_of_the_rule_that_refuses_does_not_matter(position):
    harmless = [a_rule(f"harmless-{number}", id=number) for number in range(4)]
    harmless.insert(position, a_rule("attack", id=99))

    assert decide(a_policy(rules=harmless), uri="/attack").reason is Reason.WAF_RULE


def test_waf_rules_do_not_apply_to_an_allowed_client():
    decision = decide(a_policy(rules=rules(10), allowed=["198.51.100.7"]), uri=URI)

    assert decision.reason is Reason.CLIENT_ALLOWED
    assert decision.rules == ()


def test_waf_rules_apply_to_an_allowed_client_with_inspection():
    policy = a_policy(rules=rules(10), allowed=[an_allowed("198.51.100.7", inspect=True)])

    assert decide(policy, uri=URI).reason is Reason.WAF_RULE
