"""WAF rules: values, limits, and the fixed parts of built-in rules."""

import pytest

from gatewall.policy import revisions
from policies import services
from policies.history import rollback
from policies.models import WafRule
from policies.rules.builtin import seed_waf_rules
from tests.api.resources import fields_refused

pytestmark = pytest.mark.django_db


@pytest.fixture
def builtin(db):
    seed_waf_rules(actor="seed")
    return WafRule.objects.filter(builtin_key__isnull=False).first()


def test_a_rule_has_its_defaults(admin):
    body = admin.post("/waf-rules", {"name": "env", "pattern": r"/\.env$"}).json()

    expected = {
        "operator": "regex",
        "targets": ["uri"],
        "transforms": [],
        "category": "custom",
        "score": 5,
        "action": "block",
        "priority": 100,
        "enabled": True,
        "domain": None,
        "path_prefix": None,
        "exclusions": [],
        "description": "",
        "builtin": False,
    }
    assert {name: body[name] for name in expected} == expected


def test_a_pattern_keeps_its_spaces(admin):
    body = admin.post("/waf-rules", {"name": "spaces", "pattern": " a "}).json()

    assert body["pattern"] == " a "


def test_an_invalid_expression_is_accepted_as_plain_text(admin):
    body = {"name": "bracket", "pattern": "(", "operator": "contains"}

    assert admin.post("/waf-rules", body).status_code == 201


def test_a_plain_text_cannot_become_an_invalid_expression(admin):
    id_ = admin.post("/waf-rules", {"name": "bracket", "pattern": "(", "operator": "contains"}).json()["id"]

    assert fields_refused(admin.put(f"/waf-rules/{id_}", {"operator": "regex"})) == {"pattern"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("operator", "glob"),
        ("targets", []),
        ("targets", "uri"),
        ("targets", ["uri", "nowhere"]),
        ("targets", {"uri": 1}),
        ("targets", None),
        ("targets", [["uri"]]),
        ("transforms", ["rot13"]),
        ("transforms", ["lowercase"] * 11),
        ("category", "unknown"),
        ("severity", "fatal"),
        ("score", 0),
        ("score", 11),
        ("score", 5.5),
        ("action", "allow"),
        ("priority", -1),
        ("priority", "1"),
        ("domain", "nobody.example"),
        ("path_prefix", "admin"),
        ("path_prefix", "/a/../b"),
        ("path_prefix", "//a"),
        ("path_prefix", ""),
        ("exclusions", {}),
        ("exclusions", [{}]),
        ("exclusions", ["/a"]),
        ("exclusions", [{"path": "/a"}]),
        ("exclusions", [{"domain": None}]),
        ("exclusions", [{"domain": "Office.Example"}]),
        ("exclusions", [{"path_prefix": "a"}]),
        ("exclusions", [{"argument": 5}]),
        ("exclusions", [{"argument": "a\0b"}]),
        ("exclusions", [{"argument": "a\x1fb"}]),
        ("exclusions", [{"argument": "a"}] * 51),
        ("exclusions", [{"header": 5}]),
        ("exclusions", [{"body": "a"}]),
        ("exclusions", [{"argument": "a", "expires_at": "2026-01-31T12:00:00"}]),
        ("exclusions", [{"argument": "a", "expires_at": "soon"}]),
        ("exclusions", [{"argument": "a", "expires_at": 1893456000}]),
        ("exclusions", [{"argument": "a", "expires_at": "9999-12-31T23:59:59-12:00"}]),
        ("exclusions", [{"argument": None, "expires_at": "2030-01-31T12:00:00Z"}]),
        ("builtin", True),
    ],
)
def test_a_field_of_a_wrong_type_is_refused(admin, name, value):
    body = {"name": "env", "pattern": "env", name: value}

    assert fields_refused(admin.post("/waf-rules", body)) == {name}


def test_exclusions_are_shown_as_they_were_sent(admin):
    exclusions = [{"domain": "office.example", "path_prefix": "/editor", "argument": "html"}, {"argument": "q"}]
    exclusions += [{"argument": "r", "expires_at": "2030-01-31T12:00:00Z"}, {"argument": "s", "expires_at": None}]
    exclusions += [{"header": "X-Editor", "path_exact": "/a"}, {"cookie": "editor[draft]", "path_glob": "/*/edit/**"}]
    exclusions += [{"json_path": "$.posts[*]['a b'].html"}, {"xml_path": "/Envelope/Body/note/@x:title"}]
    exclusions += [{"multipart_field": "attachment[0]"}]

    body = admin.post("/waf-rules", {"name": "env", "pattern": "env", "exclusions": exclusions}).json()

    assert body["exclusions"] == exclusions


@pytest.mark.parametrize(
    ("exclusion", "why"),
    [
        ({"json_path": "posts[].html"}, "a JSON path begins with $, like $.posts[*].html"),
        ({"json_path": "$.posts[0].html"}, "and [*] for every index; no index"),
        ({"json_path": "$..html"}, "write a name with other than letters, digits and _ in quotes"),
        ({"json_path": "$.a-b"}, "in quotes, like $['a-b']"),
        ({"json_path": "$['a-b"}, "is in quotes and brackets"),
        ({"json_path": "$['a']"}, "write '$.a'"),
        ({"json_path": '$["a-b"]'}, "write \"$['a-b']\""),
        ({"json_path": "$." + "a" * 126}, "at most 127 characters"),
        ({"xml_path": "Envelope/Body"}, "names of elements without prefix"),
        ({"xml_path": "/soap:Envelope"}, "names of elements without prefix"),
        ({"xml_path": "/a/@b/c"}, "names of elements without prefix"),
        ({"xml_path": "//a"}, "names of elements without prefix"),
        ({"xml_path": "/a/*"}, "names of elements without prefix"),
        ({"xml_path": "/" + "a" * 127}, "at most 127 characters"),
        ({"header": "X-Editor:"}, "the name of a header has no blank and no colon"),
        ({"cookie": "a=b"}, "the name of a cookie has no blank, no ="),
        ({"path_exact": "/a/"}, "write '/a'"),
        ({"path_exact": "/a/../b"}, "write '/b'"),
        ({"path_exact": "/a/*"}, "* stands for a segment only in a glob"),
        ({"path_glob": "/a*"}, "* and ** stand for whole segments"),
        ({"path_glob": "/a.*"}, "a path is not a regular expression"),
        ({"path_glob": "/a", "path_prefix": "/b"}, "at most one of path_prefix, path_exact, path_glob"),
        ({"argument": "a", "header": "b"}, "at most one of argument, header, cookie"),
    ],
)
def test_an_exclusion_that_names_nothing_is_refused_with_a_reason(admin, exclusion, why):
    answer = admin.post("/waf-rules", {"name": "env", "pattern": "env", "exclusions": [exclusion]})

    assert fields_refused(answer) == {"exclusions"}
    assert why in answer.json()["errors"][0]["message"]


def test_two_rules_of_one_name_are_a_duplicate(admin):
    admin.post("/waf-rules", {"name": "env", "pattern": "a"})

    assert admin.post("/waf-rules", {"name": "env", "pattern": "b"}).json()["code"] == "duplicate"


def test_rules_are_listed_by_priority(admin):
    for name, priority in (("late", 200), ("early", 1), ("middle", 100)):
        admin.post("/waf-rules", {"name": name, "pattern": name, "priority": priority})

    assert [rule["name"] for rule in admin.get("/waf-rules").json()["results"]] == ["early", "middle", "late"]


@pytest.mark.parametrize("body", [{"pattern": "other"}, {"operator": "contains"}], ids=["pattern", "operator"])
def test_a_builtin_rule_keeps_its_pattern(admin, builtin, body):
    response = admin.put(f"/waf-rules/{builtin.pk}", body)

    assert (response.status_code, response.json()["code"]) == (409, "builtin-rule")


def test_a_builtin_rule_cannot_be_deleted(admin, builtin):
    response = admin.delete(f"/waf-rules/{builtin.pk}")

    assert (response.status_code, response.json()["code"]) == (409, "builtin-rule")


def test_everything_else_of_a_builtin_rule_may_be_changed(admin, builtin):
    change = {"enabled": False, "score": 3, "action": "monitor", "priority": 7, "exclusions": [{"argument": "q"}]}

    body = admin.put(f"/waf-rules/{builtin.pk}", change).json()

    assert {name: body[name] for name in change} == change


def test_a_builtin_rule_may_be_sent_back_as_it_was_shown(admin, builtin):
    path = f"/waf-rules/{builtin.pk}"

    assert admin.put(path, admin.get(path).json()).status_code == 200


def test_the_exclusions_of_a_rule_are_bounded_together(admin):
    exclusions = [{"argument": "ä" * 256}] * 9

    assert fields_refused(admin.post("/waf-rules", {"name": "env", "pattern": "env", "exclusions": exclusions})) == {
        "exclusions"
    }
    assert admin.post("/waf-rules", {"name": "env", "pattern": "env", "exclusions": exclusions[:8]}).status_code == 201


def test_the_number_of_custom_rules_is_limited(admin, builtin, monkeypatch):
    monkeypatch.setattr(services, "MAX_CUSTOM_RULES", 2)
    ids = [admin.post("/waf-rules", {"name": name, "pattern": name}).json()["id"] for name in ("one", "two")]

    refused = admin.post("/waf-rules", {"name": "three", "pattern": "three"})

    assert (refused.status_code, refused.json()["code"]) == (409, "too-many-waf-rules")
    assert admin.put(f"/waf-rules/{ids[0]}", {"score": 1}).status_code == 200
    assert admin.delete(f"/waf-rules/{ids[0]}").status_code == 204
    assert admin.post("/waf-rules", {"name": "three", "pattern": "three"}).status_code == 201


def test_a_restore_above_the_rule_limit_is_refused(admin, monkeypatch):
    first = admin.post("/waf-rules", {"name": "one", "pattern": "one"}).json()["id"]
    number = revisions.current().revision
    admin.delete(f"/waf-rules/{first}")
    admin.post("/waf-rules", {"name": "two", "pattern": "two"})
    monkeypatch.setattr(rollback, "MAX_CUSTOM_RULES", 0)

    refused = admin.post(f"/policy/revisions/{number}/restore")

    assert (refused.status_code, refused.json()["code"]) == (409, "cannot-restore")
    assert [rule.name for rule in WafRule.objects.all()] == ["two"]
