"""WAF rules limited to a domain, when the domain is removed."""

import pytest

from policies import services
from policies.models import WafRule
from policies.rules.builtin import seed_waf_rules

pytestmark = pytest.mark.django_db


def test_built_in_rule_limited_to_a_removed_domain_is_kept_and_switched_off(office):
    seed_waf_rules(actor="seed")
    rule = WafRule.objects.get(builtin_key="xss-script-tag")
    services.change_waf_rule(rule, domain=office, actor="alice")

    services.remove_domain(office, actor="alice")

    rule.refresh_from_db()
    assert (rule.domain, rule.enabled) == (None, False)


def test_custom_rule_limited_to_a_removed_domain_is_deleted_with_it(office):
    rule = services.create_waf_rule(actor="alice", name="mine", pattern="x", domain=office)

    services.remove_domain(office, actor="alice")

    assert not WafRule.objects.filter(pk=rule.pk).exists()
