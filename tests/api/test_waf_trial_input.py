"""Input of ``POST /waf-rules/test``: rule drafts, and invalid requests and rules."""

import pytest

from gatewall.policy import revisions
from policies.models import WafRule
from tests.api.resources import fields_refused
from tests.api.waf_trials import places, rule

pytestmark = pytest.mark.django_db


def test_a_draft_is_tried_with_the_others_and_not_saved(tried):
    saved = rule("saved", "att", score=3)
    before = revisions.current()

    answer = tried("/attack", rule={"name": "new", "pattern": "tack", "score": 2})

    assert answer["blocked"] is True
    assert [(each["name"], each["id"], each["draft"]) for each in answer["rules"]] == [
        ("saved", saved.pk, False),
        ("new", None, True),
    ]
    assert places(answer, "new")[0]["text"] == "tack"
    assert (revisions.current(), WafRule.objects.count()) == (before, 1)


def test_a_draft_replaces_the_saved_rule_of_the_same_name(tried):
    saved = rule(score=3)

    answer = tried("/attack", rule={"name": "mine", "pattern": "tack", "score": 5, "action": "monitor"})
    off = tried("/attack", rule={"name": "mine", "pattern": "tack", "enabled": False})

    assert [(each["id"], each["draft"], each["score"]) for each in answer["rules"]] == [(saved.pk, True, 5)]
    assert places(answer)[0]["text"] == "tack"
    assert (answer["blocked"], off["rules"]) == (False, [])


def test_a_draft_that_matches_everything_is_tried_with_a_warning(tried):
    answer = tried("/", rule={"name": "all", "pattern": ".*"})

    assert answer["blocked"] is True
    (warning,) = answer["warnings"]
    assert "force" in warning


@pytest.mark.parametrize(
    ("draft", "field"),
    [
        ({"pattern": "a"}, "rule.name"),
        ({"name": "new"}, "rule.pattern"),
        ({"name": "new", "pattern": "(?=a)b"}, "rule.pattern"),
        ({"name": "new", "pattern": r"(a)\1"}, "rule.pattern"),
        ({"name": "new", "pattern": "x" * 4097}, "rule.pattern"),
        ({"name": "new", "pattern": "a", "targets": ["nowhere"]}, "rule.targets"),
        ({"name": "new", "pattern": "a", "score": 11}, "rule.score"),
        ({"name": "new", "pattern": "a", "domain": "nobody.example"}, "rule.domain"),
        ({"name": "new", "pattern": "a", "id": 1}, "rule.id"),
        ({"name": "xss-script-tag", "pattern": "a"}, "rule.name"),
        ("a", "rule"),
        (None, "rule"),
    ],
    ids=str,
)
def test_a_draft_that_could_not_be_saved_is_refused(admin, draft, field):
    WafRule.objects.create(name="xss-script-tag", pattern="a", builtin_key="xss-script-tag")

    assert fields_refused(admin.post("/waf-rules/test", {"uri": "/", "rule": draft})) == {field}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "uri"),
        ({"uri": 5}, "uri"),
        ({"uri": "/" * 16_385}, "uri"),
        ({"uri": "/", "method": None}, "method"),
        ({"uri": "/", "headers": []}, "headers"),
        ({"uri": "/", "headers": {"Host": "a"}}, "headers"),
        ({"uri": "/", "headers": {"A": "b\nc"}}, "headers"),
        ({"uri": "/", "body": {"a": 1}}, "body"),
        ({"uri": "/", "body": "x" * 131_073}, "body"),
        ({"uri": "/", "client_ip": "192.0.2.1"}, "client_ip"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_an_invalid_request_is_refused(admin, body, field):
    assert fields_refused(admin.post("/waf-rules/test", body)) == {field}


@pytest.mark.parametrize(
    "parts", [{"uri": "no path"}, {"uri": "/a#b"}, {"method": "get"}, {"host": "a b"}, {"uri": "/\n"}], ids=str
)
def test_rules_do_not_see_malformed_requests(tried, parts):
    rule(pattern="^", force=True)

    answer = tried(**{"uri": "/", **parts})

    assert answer["fault"]
    assert (answer["rules"], answer["blocked"]) == ([], False)
