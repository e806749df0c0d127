"""Access rules on both planes and in every dialect, compared with the oracle of access rules."""

from collections import Counter
from itertools import count

import pytest

from tests.access_rules.gateway import Site
from tests.access_rules.generator import pairs
from tests.access_rules.oracle import decide
from tests.access_rules.planes import Planes, dialects_for

NAMED = {"path-public", "access-denied", "client-rate-limited", "second-factor-required", "phishing-resistant-required"}
"""The possible reasons of a decision by a rule."""


def differences(cases):
    """Return the answers that differ from the oracle's, and the number of requests by dialect."""
    planes, turn, found, asked = Planes(), count(), [], Counter()
    last, site = None, None
    for policy, request in cases:
        if policy is not last:
            last, site = policy, Site(policy)
        decision, dialects = decide(policy, request), dialects_for(request)
        dialect = dialects[next(turn) % len(dialects)]
        asked[dialect] += 1
        for answer, record in planes.ask(site, request, dialect):
            rule = site.name_of(record.decided_by) if record.reason in NAMED else None
            rules = {decision.rule, *decision.equals} if record.reason in NAMED else {None}
            if answer.verdict != (decision.status, decision.reason) or rule not in rules:
                found.append((dialect, answer.verdict, rule, decision, request, policy))
    return found, asked


def test_both_planes_decide_random_cases_as_the_oracle():
    found, asked = differences(pairs(seed=31, count=2_000))

    assert found[:3] == []
    assert min(asked.values()) > 400, asked


@pytest.mark.full
def test_both_planes_decide_many_random_cases_as_the_oracle():
    assert differences(pairs(seed=32, count=100_000))[0][:3] == []
