"""The engine and the oracle of access rules decide the same: cases written by hand, and random ones."""

from collections import Counter

import pytest

from tests.access_rules.gateway import Site, differs
from tests.access_rules.generator import pairs
from tests.access_rules.oracle import decide
from tests.access_rules.rule_cases import RULE_CASES
from tests.access_rules.step_cases import STEP_CASES
from tests.support.form import by_form

CASES = [*RULE_CASES, *STEP_CASES]


def compared(cases):
    """Return the differences, each with all data for debugging, and the number of decisions by reason."""
    found, reasons, last, site = [], Counter(), None, None
    for policy, request in cases:
        if policy is not last:
            last, site = policy, Site(policy)
        answered, decision = site.decide(request), decide(policy, request)
        reasons[answered.reason] += 1
        if differs(answered, decision):
            found.append((answered, decision, request, policy))
    return found, reasons


def test_handwritten_cases_agree():
    assert compared([(case.policy, case.request) for case in CASES])[0] == []


@pytest.mark.no_cover
@pytest.mark.parametrize("count", [by_form(full=20_000, default=6_000)])
def test_random_cases_agree(count):
    found, reasons = compared(pairs(seed=22, count=count))

    assert found[:3] == []
    assert len(reasons) == 13, reasons


@pytest.mark.no_cover
def test_random_cases_with_odd_paths_agree():
    assert compared(pairs(seed=23, count=2_000, odd=True))[0][:3] == []


def test_another_order_of_the_rules_is_detected():
    cases = list(pairs(seed=24, count=1_000))[::20]
    reversed_sites = [Site({**policy, "rules": policy["rules"][::-1]}) for policy, _ in cases]

    assert any(
        differs(site.decide(request), decide(policy, request))
        for site, (policy, request) in zip(reversed_sites, cases, strict=True)
    )


@pytest.mark.full
@pytest.mark.parametrize("seed", range(100, 110))
def test_a_million_random_cases_agree(seed):
    assert compared(pairs(seed=seed, count=100_000, odd=seed % 5 == 0))[0][:3] == []
