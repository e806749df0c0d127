"""A row that the engine refuses, so that the policy cannot be compiled."""

from policies import services
from policies.models import WafRule


def a_rule_that_cannot_be_published() -> int:
    """Create a WAF rule and give it a target that does not exist; return how many rows were changed."""
    rule = services.create_waf_rule(actor="alice", name="broken", pattern="x")
    return WafRule.objects.filter(pk=rule.pk).update(targets=["nothing"])
