"""WAF rules scan recorded requests once if these are equal in all inspected parts."""

from dataclasses import replace

import pytest

from gatewall.engine.waf.matcher import RuleSet
from gatewall.replay import remembered_matches
from gatewall.replay.redecision import recorded_request
from gatewall.replay.remembered_matches import RememberedMatches
from tests.support.cast import NOW, OFFICE
from tests.support.records import a_record
from tests.unit.recorded import a_rule_for


class Counting(RuleSet):
    """A rule set that counts its scans."""

    asked = 0

    def inspect(self, request, domain, stop_at=0):
        self.asked += 1
        return super().inspect(request, domain, stop_at)


RECORD = a_record(query="q=attack", visible=["for", "host", "method", "uri", "headers"], credential=None)


def matches(rules, record, domain=OFFICE):
    return [rule.id for rule in rules.inspect(recorded_request(record, NOW), domain)]


def test_equal_requests_are_scanned_once():
    counting = Counting([a_rule_for("query", id=9)])
    rules = RememberedMatches(counting)

    later = replace(RECORD, decision_id="x", at=NOW + 5, subject=None, client_ip="192.0.2.77")
    assert [matches(rules, each) for each in (RECORD, later)] == [[9], [9]]
    assert counting.asked == 1
    assert [rule.id for rule in rules.rules] == [9]


@pytest.mark.parametrize(
    ("target", "parts", "expected"),
    [
        ("query", {"query": "q=1"}, []),
        ("uri", {"path": "/attack", "query": ""}, [9]),
        ("path", {"path": "/attack"}, [9]),
        ("user-agent", {"user_agent": "attack"}, [9]),
        ("method", {"method": "ATTACK"}, []),
        ("host", {"host": "attack.example"}, [9]),
    ],
)
def test_requests_that_differ_in_inspected_parts_are_scanned_again(target, parts, expected):
    counting = Counting([a_rule_for(target, id=9)])
    rules, other = RememberedMatches(counting), replace(RECORD, **parts)

    matches(rules, RECORD)
    assert matches(rules, other) == matches(RuleSet(counting.rules), other) == expected
    assert counting.asked == 2


def test_a_rule_of_one_domain_is_not_remembered_for_another():
    rules = RememberedMatches(RuleSet([replace(a_rule_for("query", id=9), domain=OFFICE)]))

    assert [matches(rules, RECORD, domain) for domain in (OFFICE, "other.example", OFFICE)] == [[9], [], [9]]


def test_the_cache_of_matches_is_bounded(monkeypatch):
    monkeypatch.setattr(remembered_matches, "_KEPT", 2)
    counting = Counting([a_rule_for("query", id=9)])
    rules = RememberedMatches(counting)

    for number in (1, 2, 3, 3, 1):
        matches(rules, replace(RECORD, path=f"/{number}"))

    assert counting.asked == 4
