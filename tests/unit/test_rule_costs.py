"""Cost of access rules in function calls: rules for other hosts and paths cost a request nothing."""

import gc
import sys

import pytest

from gatewall.engine.evaluate import evaluate
from gatewall.engine.hosts import Access
from tests.support.cast import OFFICE, a_policy, a_ports, a_request
from tests.unit.rule_facts import SHOWN, an_access_rule


def calls_with(rules):
    """Return the calls of the decision about a request under these rules, after an equal request."""
    policy = a_policy(domains={OFFICE: "authenticated"}, access_rules=rules)
    request = a_request(uri="/api/v1/items", credentials=["bob"], visible=SHOWN)
    ports, counted = a_ports(country="DE"), 0

    def count(frame, event, argument):
        nonlocal counted
        counted += event in {"call", "c_call"}

    evaluate(request, policy, ports)
    gc.disable()
    sys.setprofile(count)
    try:
        evaluate(request, policy, ports)
    finally:
        sys.setprofile(None)
        gc.enable()
    return counted


def rules_for(number, pattern, domain=OFFICE):
    return [
        an_access_rule(Access.TWO_FACTOR, pattern.format(each), id=each + 1, domains=frozenset({domain}))
        for each in range(number)
    ]


def test_rules_of_other_hosts_cost_one_look_up():
    assert calls_with(rules_for(1000, "prefix /api/v1", "shop.example")) == calls_with([])


@pytest.mark.parametrize("pattern", ["prefix /api/v2/part{}", "exact /section{}", "glob /area{}/**"])
def test_rules_of_other_paths_cost_nothing_however_many_they_are(pattern):
    assert calls_with(rules_for(1000, pattern)) <= calls_with(rules_for(20, pattern))


def test_rules_of_the_path_are_judged_up_to_the_one_that_decides():
    assert calls_with(rules_for(1000, "prefix /api/v1")) == calls_with(rules_for(1, "prefix /api/v1"))
