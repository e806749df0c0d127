"""A domain whose WAF only monitors until a time: attacks are refused from that time on, and not before."""

from dataclasses import replace

import pytest

from gatewall.engine.evaluate import evaluate
from gatewall.engine.hosts import Domain, DomainTable
from gatewall.engine.model import Reason
from tests.support.cast import NOW, OFFICE, a_policy, a_ports, a_request, a_rule

MONITORED = Domain(1, OFFICE, waf_monitor_until=NOW + 60)
OTHER = Domain(2, "other.example")


def reason(at=NOW, host=OFFICE, **settings):
    policy = replace(a_policy(rules=[a_rule("attack")], **settings), domains=DomainTable([MONITORED, OTHER]))
    decision = evaluate(a_request(uri="/attack", host=host, at=at), policy, a_ports())
    return decision.reason, [match.enforced for match in decision.rules]


@pytest.mark.parametrize(
    ("at", "host", "mode", "expected"),
    [
        (NOW, OFFICE, "block", (Reason.CREDENTIAL_MISSING, [False])),
        (NOW + 59, OFFICE, "block", (Reason.CREDENTIAL_MISSING, [False])),
        (NOW + 60, OFFICE, "block", (Reason.WAF_RULE, [True])),
        (NOW, "other.example", "block", (Reason.WAF_RULE, [True])),
        (NOW, "unknown.example", "block", (Reason.WAF_RULE, [True])),
        (NOW + 60, OFFICE, "monitor", (Reason.CREDENTIAL_MISSING, [False])),
        (NOW, OFFICE, "off", (Reason.CREDENTIAL_MISSING, [])),
    ],
)
def test_monitoring_replaces_block_for_one_domain_until_its_time(at, host, mode, expected):
    assert reason(at, host, waf_mode=mode) == expected
