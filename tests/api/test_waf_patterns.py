"""Refused patterns of WAF rules: not matchable in linear time, or matching everything without force."""

import pytest

from gatewall.policy import revisions
from policies.models import WafRule
from tests.api.resources import fields_refused

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a)\1",
        "(?=a)b",
        "(?!a)b",
        "(?<=a)b",
        "(?<!a)b",
        "(a",
        "[a",
        "a**",
        r"\8",
        "(?P<n",
        "a{1001}",
        "x" * 4097,
        "é" * 2049,
    ],
    ids=lambda pattern: pattern[:8],
)
def test_a_pattern_that_cannot_be_matched_in_linear_time_is_refused(admin, pattern):
    if pattern.startswith("é"):
        pattern += "ſ"  # outside latin-1, so that every letter counts its bytes of UTF-8  # noqa: RUF001

    assert fields_refused(admin.post("/waf-rules", {"name": "bad", "pattern": pattern})) == {"pattern"}


@pytest.mark.parametrize("pattern", ["(a+)+$", "(x+x+)+y", "(.*)*=.*=", "(a|aa)+$"])
def test_a_pattern_that_is_slow_elsewhere_is_not_refused_here(admin, pattern):
    assert admin.post("/waf-rules", {"name": "slow", "pattern": pattern}).status_code == 201


@pytest.mark.parametrize("pattern", ["", None, 5, ["a"]], ids=repr)
def test_an_invalid_pattern_is_refused(admin, pattern):
    assert fields_refused(admin.post("/waf-rules", {"name": "bad", "pattern": pattern})) == {"pattern"}


EVERYTHING = [
    {"pattern": ".*"},
    {"pattern": ".*", "targets": ["referer"]},
    {"pattern": "a?"},
    {"pattern": "(?i)x*"},
    {"pattern": "|union"},
    {"pattern": "^"},
    {"pattern": "$"},
    {"pattern": r"\b|x"},
    {"pattern": "."},
    {"pattern": "/"},
    {"pattern": "^/.+"},
    {"pattern": "/", "operator": "starts-with"},
    {"pattern": "/", "operator": "contains", "targets": ["uri"]},
    {"pattern": "[a-z]"},
    {"pattern": r"\w", "targets": ["args", "host"]},
    {"pattern": ".", "targets": ["query"]},
    {"pattern": ".", "targets": ["cookies"]},
    {"pattern": ".", "targets": ["body"]},
    {"pattern": "^[A-Z]+$", "targets": ["method"]},
    {"pattern": "(?i)mozilla|curl|okhttp|git|wget", "targets": ["user-agent"]},
    {"pattern": "^", "path_prefix": "/admin"},
    {"pattern": ".", "exclusions": [{"argument": "q"}]},
    {"pattern": "/", "transforms": ["lowercase", "url-decode"]},
]
SOMETHING = [
    {"pattern": "GET", "operator": "equals", "targets": ["method"]},
    {"pattern": "Mozilla/", "operator": "starts-with", "targets": ["user-agent"]},
    {"pattern": r"\?"},
    {"pattern": "^/$"},
    {"pattern": "^/admin"},
    {"pattern": "=", "targets": ["query"]},
    {"pattern": "example", "targets": ["host"]},
    {"pattern": "id", "operator": "equals", "targets": ["arg-names"]},
    {"pattern": ".", "action": "monitor"},
    {"pattern": ".*", "enabled": False},
]


@pytest.mark.parametrize("body", EVERYTHING, ids=str)
def test_a_pattern_that_matches_everything_must_be_asked_for_by_force(admin, body):
    refused = admin.post("/waf-rules", {"name": "all", **body})
    rows = WafRule.objects.count()
    forced = admin.post("/waf-rules", {"name": "all", **body, "force": True})

    assert (refused.status_code, refused.json()["code"], rows) == (409, "matches-everything", 0)
    assert forced.status_code == 201
    assert "force" not in forced.json()


@pytest.mark.parametrize("body", SOMETHING, ids=str)
def test_a_pattern_that_matches_much_is_not_refused(admin, body):
    assert admin.post("/waf-rules", {"name": "much", **body}).status_code == 201


@pytest.mark.parametrize(
    ("first", "change"),
    [
        ({"pattern": "env"}, {"pattern": ".*"}),
        ({"pattern": ".", "action": "monitor"}, {"action": "block"}),
        ({"pattern": ".", "enabled": False}, {"enabled": True}),
        ({"pattern": "\\.", "operator": "contains"}, {"pattern": ".", "operator": "regex"}),
        ({"pattern": "^/a|^$", "operator": "contains"}, {"operator": "regex"}),
        ({"pattern": "[A-Z]{3}"}, {"targets": ["method"]}),
        ({"pattern": "ETS|GET|POST|HEAD|PUT|OPTIONS"}, {"targets": ["method"]}),
        ({"pattern": "INDEX|REPORTS|STATIC|ITEMS|/Q"}, {"transforms": ["lowercase"], "pattern": "x|[sqe]"}),
    ],
    ids=str,
)
def test_a_rule_that_comes_to_match_everything_must_be_forced_too(admin, first, change):
    shown = admin.post("/waf-rules", {"name": "mine", **first}).json()
    path = f"/waf-rules/{shown['id']}"

    refused = admin.put(path, change)

    assert (refused.status_code, refused.json()["code"]) == (409, "matches-everything")
    assert admin.get(path).json() == shown
    assert admin.put(path, {**change, "force": True}).status_code == 200


def test_a_forced_rule_needs_no_force_for_unrelated_changes(admin):
    shown = admin.post("/waf-rules", {"name": "all", "pattern": ".*", "force": True}).json()

    sent_back = admin.put(f"/waf-rules/{shown['id']}", {**shown, "description": "maintenance", "score": 7})

    assert sent_back.status_code == 200


def test_a_refused_pattern_leaves_no_revision(admin):
    before = revisions.current()

    admin.post("/waf-rules", {"name": "all", "pattern": ".*"})

    assert revisions.current() == before
