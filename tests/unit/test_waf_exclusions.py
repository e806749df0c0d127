"""Exclusions by a named part of a request: they spare that part, and never another one."""

import json
from dataclasses import replace

import pytest

from gatewall.engine.waf.body.json_path import MAX_PATH, canonical_json_path
from gatewall.engine.waf.body.json_reader import read
from gatewall.engine.waf.exclusions import Exclusion, Part
from gatewall.engine.waf.judge import builtin_rules
from gatewall.engine.waf.matcher import RuleSet
from gatewall.engine.waf.places import Places
from gatewall.engine.waf.rules import Target
from tests.support.cast import a_request, a_rule
from tests.unit.body_requests import FORM, PARTS, field, form_data, request

(RULE,) = [rule for rule in builtin_rules() if rule.name == "sqli-union-select"]
ATTACK = "1 union select password from users"
JSON, XML = "application/json", "text/xml"


def found(sent, **exclusion):
    """Say whether the rule matches the request, with one exclusion; the explanation must agree."""
    rule = RULE if not exclusion else excluding(**exclusion)
    matches = bool(RuleSet([rule]).inspect(sent, None))
    assert bool(Places(sent, None).of(rule)) is matches
    return matches


def excluding(**exclusion):
    return replace(RULE, exclusions=(Exclusion(**exclusion),))


def xml(text):
    return f'<s:Envelope xmlns:s="urn:s"><s:Body><note title="{text}">x</note></s:Body></s:Envelope>'


SENT = {
    "argument": (a_request(uri=f"/?q={ATTACK}".replace(" ", "+")), {"argument": "q"}),
    "argument of a form": (request(f"q={ATTACK}".replace(" ", "+"), FORM), {"argument": "q"}),
    "argument with an escaped name": (a_request(uri=f"/?%71={ATTACK}".replace(" ", "+")), {"argument": "q"}),
    "argument beyond ASCII": (a_request(uri=f"/?gr%C3%B6%C3%9Fe={ATTACK}".replace(" ", "+")), {"argument": "größe"}),
    "header": (a_request(headers={"x-note": ATTACK}), {"header": "x-note"}),
    "user agent": (a_request(headers={"user-agent": ATTACK}), {"header": "User-Agent"}),
    "cookie": (a_request(cookies={"note": ATTACK}), {"cookie": "note"}),
    "JSON": (request(json.dumps({"a": [{"b c": ATTACK}]}), JSON), {"json_path": "$.a[*]['b c']"}),
    "JSON in Russian": (request(json.dumps({"ключ": ATTACK}), JSON), {"json_path": "$.ключ"}),
    "attribute of XML": (request(xml(ATTACK), XML), {"xml_path": "/Envelope/Body/note/@title"}),
    "element of XML": (request(f"<a><b>{ATTACK}</b></a>", XML), {"xml_path": "/a/b"}),
    "multipart": (request(*form_data((field("note"), ATTACK))), {"multipart_field": "note"}),
}
OTHERS = [
    *({part.value: name} for part in (Part.ARGUMENT, Part.COOKIE, Part.HEADER, Part.MULTIPART_FIELD) for name in "qn"),
    *({part: name} for part in ("argument", "header", "cookie", "multipart_field") for name in ("note", "x-note")),
    *({part: "user-agent"} for part in ("argument", "cookie", "multipart_field")),
    *({"argument": path} for path in ("$.a[*]['b c']", "$.ключ", "/a/b", "/Envelope/Body/note/@title")),
    *({"json_path": path} for path in ("$.q", "$.note", "$.a", "$.a[*].b", "$.a[*]", "$")),
    *({"xml_path": path} for path in ("/note", "/q", "/a", "/Envelope/Body/note", "/b")),
]


@pytest.mark.no_cover
@pytest.mark.parametrize("name", SENT)
def test_an_exclusion_spares_the_part_that_it_names_and_no_other(name):
    sent, exclusion = SENT[name]

    assert found(sent)
    assert not found(sent, **exclusion)
    for other in OTHERS:
        assert (other == exclusion) or found(sent, **other), other


@pytest.mark.parametrize("name", SENT)
def test_the_place_of_a_match_is_the_part_that_an_exclusion_must_name(name):
    sent, exclusion = SENT[name]
    place = Places(sent, None).of(RULE)[0]

    assert Exclusion(**exclusion).part == place.part


HIDDEN = {
    "another argument": (a_request(uri=f"/?q=1&r={ATTACK}".replace(" ", "+")), {"argument": "q"}),
    "a name that is escaped twice": (a_request(uri=f"/?%2571={ATTACK}".replace(" ", "+")), {"argument": "q"}),
    "a name escaped as in old IIS": (a_request(uri=f"/?%u0071={ATTACK}".replace(" ", "+")), {"argument": "q"}),
    "a form's name escaped twice": (request(f"%2571={ATTACK}".replace(" ", "+"), FORM), {"argument": "q"}),
    "an argument in another case": (a_request(uri=f"/?Q={ATTACK}".replace(" ", "+")), {"argument": "q"}),
    "another cookie": (a_request(cookies={"a": "1", "b": ATTACK}), {"cookie": "a"}),
    "an escaped cookie": (a_request(cookies={"%61": ATTACK}), {"cookie": "a"}),
    "cookie header in a header": (a_request(cookies={"a": ATTACK}), {"header": "cookie"}),
    "a duplicate key": (request(f'{{"a": {{"b": "x"}}, "a": {{"c": "{ATTACK}"}}}}', JSON), {"json_path": "$.a.b"}),
    "a name with dots": (request(json.dumps({"a.b": ATTACK}), JSON), {"json_path": "$.a.b"}),
    "dots where a name has some": (request(json.dumps({"a": {"b": ATTACK}}), JSON), {"json_path": "$['a.b']"}),
    "a name with brackets": (request(json.dumps({"a[*]": ATTACK}), JSON), {"json_path": "$.a[*]"}),
    "a name with quotes": (request(json.dumps({"a']['b": ATTACK}), JSON), {"json_path": "$.a.b"}),
    "a list in a list": (request(json.dumps({"a": [[ATTACK]]}), JSON), {"json_path": "$.a[*]"}),
    "an object in place of a text": (request(json.dumps({"a": {"x": ATTACK}}), JSON), {"json_path": "$.a"}),
    "JSON that may be a form": (request(json.dumps({"a": ATTACK}), FORM), {"json_path": "$.a"}),
    "JSON that is a form, too": (request(f'{{"a": "x&b={ATTACK}"}}', FORM), {"json_path": "$.a"}),
    "JSON declared as text": (request(json.dumps({"a": ATTACK}), "text/plain"), {"json_path": "$.a"}),
    "JSON of two types": (request(json.dumps({"a": ATTACK}), f"{JSON}, {FORM}"), {"json_path": "$.a"}),
    "JSON that is cut": (request(f'{{"a": "{ATTACK}', JSON), {"json_path": "$.a"}),
    "XML declared as text": (request(f"<a>{ATTACK}</a>", "text/plain"), {"xml_path": "/a"}),
    "an element below": (request(f"<a><b>{ATTACK}</b></a>", XML), {"xml_path": "/a"}),
    "an attribute": (request(f'<a b="{ATTACK}"/>', XML), {"xml_path": "/a"}),
    "a comment": (request(f"<a><!-- {ATTACK} --></a>", XML), {"xml_path": "/a"}),
    "a field named like a header": (request(*form_data((field("x-note"), ATTACK))), {"header": "x-note"}),
    "a field named like an argument": (request(*form_data((field("q"), ATTACK))), {"argument": "q"}),
    "two names": (request(*form_data((field("a", '; name="b"'), ATTACK))), {"multipart_field": "a"}),
    "an extended name": (request(*form_data((field("a", "; name*=utf-8''b"), ATTACK))), {"multipart_field": "a"}),
    "a name with a backslash": (request(*form_data((field("\\a"), ATTACK))), {"multipart_field": "a"}),
    "two dispositions": (
        request(*form_data((f"{field('a')}\r\n{field('b')}", ATTACK))),
        {"multipart_field": "a"},
    ),
    "parts that are not told apart": (
        request(f"--b\r\n{field('a')}\r\n\r\n{ATTACK} --b\r\n--b--", PARTS),
        {"multipart_field": "a"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HIDDEN)
def test_nothing_hides_behind_an_exclusion(name):
    sent, exclusion = HIDDEN[name]

    assert found(sent)
    assert found(sent, **exclusion)


def test_the_name_of_a_header_is_compared_without_case():
    assert not found(SENT["header"][0], header="X-Note")


def test_a_cookie_that_is_sent_twice_is_that_cookie():
    sent = replace(a_request(), cookies=(("a", "x"), ("a", ATTACK)))

    assert not found(sent, cookie="a")
    assert found(sent, cookie="b")


@pytest.mark.parametrize(
    ("parts", "exclusion"),
    [
        ({"cookies": {"a": "x " * 3_000 + ATTACK}}, {"cookie": "a"}),
        ({"headers": {"a": "x " * 3_000 + ATTACK}}, {"header": "a"}),
        ({"uri": "/?a=" + "x+" * 3_000 + ATTACK.replace(" ", "+")}, {"argument": "a"}),
    ],
)
def test_text_beyond_the_bounds_keeps_the_name_of_its_part(parts, exclusion):
    rule = excluding(**exclusion)
    kinds = ("argument", "header", "cookie")
    assert [place.part for place in Places(a_request(**parts), None).of(rule)] == []
    for kind in kinds:
        other = Places(a_request(**parts), None).of(excluding(**{kind: "a"}))
        assert bool(other) is ({kind: "a"} != exclusion)


@pytest.mark.parametrize("target", [Target.ARGS, Target.ARG_NAMES, Target.COOKIES, Target.HEADERS])
def test_an_exclusion_of_a_custom_rule_is_for_one_kind_of_parts(target):
    parts = {"uri": "/?attack=attack", "cookies": {"attack": "attack"}, "headers": {"attack": "attack"}}
    own = {Target.ARGS: "argument", Target.ARG_NAMES: "argument", Target.COOKIES: "cookie", Target.HEADERS: "header"}
    for kind in ("argument", "cookie", "header", "multipart_field"):
        rule = a_rule("attack", targets=(target,), exclusions=(Exclusion(**{kind: "attack"}),))
        assert bool(RuleSet([rule]).inspect(a_request(**parts), None)) is (kind != own[target])


@pytest.mark.parametrize("kind", ["argument", "json_path", "multipart_field"])
def test_a_custom_rule_inspects_the_whole_body_despite_exclusions(kind):
    name = "$.a" if kind == "json_path" else "a"
    rule = a_rule("union", targets=(Target.BODY,), exclusions=(Exclusion(**{kind: name}),))

    assert RuleSet([rule]).inspect(request(json.dumps({"a": ATTACK}), JSON), None)


@pytest.mark.parametrize(
    "values", [{"a": {"b": {"c d": [["x y"]]}}}, {"it's": "x y"}, {"a\\'": "x y"}, ["x y"], {"é": "x y"}]
)
def test_the_path_of_a_string_is_its_own_canonical_form(values):
    for each in read(json.dumps(values)):
        assert canonical_json_path(each.name[1]) == each.name[1]


def test_a_path_that_is_cut_is_longer_than_any_exclusion():
    deep = {"x" * 40: {"y" * 40: {"z" * 40: {"bcd": {"e": ATTACK}}}}}
    (each,) = [each for each in read(json.dumps(deep)) if each.text == ATTACK]

    assert len(each.name[1]) == MAX_PATH
    with pytest.raises(ValueError, match="at most 127"):
        canonical_json_path("$." + "x" * 126)


@pytest.mark.parametrize("path", ["", "posts", "$[0]", "$..a", "$.a-b", "$['a", "$['a'", "$a", "$." + "x" * 126])
def test_invalid_json_paths_are_refused(path):
    with pytest.raises(ValueError, match=r"JSON path|in quotes"):
        canonical_json_path(path)


DETOURS = [
    "/public/../admin", "/public/%2e%2e/admin", "/public/..%5cadmin", "/public/%252e%252e/admin", "/public;a/admin",
    "/admin/%252e%252e/public", "/admin/../public/x", "/public/..;/admin", "/publicity", "//public/admin",
    "/public%00/x",
]  # fmt: skip


@pytest.mark.parametrize("uri", DETOURS)
@pytest.mark.parametrize("path", [{"path_exact": "/public"}, {"path_glob": "/public/*"}, {"path_prefix": "/public"}])
def test_a_path_that_some_server_reads_otherwise_is_not_excluded(uri, path):
    rule = a_rule("attack", targets=(Target.ARGS,), exclusions=(Exclusion(**path),))

    assert RuleSet([rule]).inspect(a_request(uri=f"{uri}?q=attack"), None)


@pytest.mark.parametrize(
    ("path", "uri", "is_spared"),
    [
        ({"path_exact": "/a"}, "/a", True),
        ({"path_exact": "/a"}, "/a/", True),
        ({"path_exact": "/a"}, "/%61", True),
        ({"path_exact": "/a"}, "/a/b", False),
        ({"path_exact": "/a"}, "/A", False),
        ({"path_glob": "/*/b"}, "/x/b", True),
        ({"path_glob": "/*/b"}, "/b", False),
        ({"path_glob": "/*/b"}, "/x/y/b", False),
        ({"path_glob": "/*/b"}, "/x/../b", False),
        ({"path_glob": "/**/b"}, "/x/y/b", True),
        ({"path_glob": "/**/b"}, "/x/y/b/../c", False),
        ({"path_glob": "/dav/**"}, "/dav", True),
        ({"path_prefix": "/a/"}, "/a/b", True),
        ({"path_exact": "/bücher"}, "/b%C3%BCcher", True),
    ],
)
def test_a_path_is_matched_as_by_access_rules(path, uri, is_spared):
    rule = a_rule("attack", targets=(Target.ARGS,), exclusions=(Exclusion(**path, argument="q"),))

    assert bool(RuleSet([rule]).inspect(a_request(uri=f"{uri}?q=attack"), None)) is not is_spared


def test_a_domain_of_an_exclusion_is_the_registered_one_or_the_host_itself():
    rule = a_rule("attack", exclusions=(Exclusion(domain="a.office.example"),))
    rules = RuleSet([rule])

    assert not rules.inspect(a_request(uri="/attack", host="a.office.example"), "*.office.example")
    assert not rules.inspect(a_request(uri="/attack", host="a.office.example"), None)
    assert rules.inspect(a_request(uri="/attack", host="b.office.example"), "*.office.example")


def test_an_exclusion_of_other_parts_changes_nothing_where_the_first_match_is_not_targeted():
    rules = [replace(rule, exclusions=(Exclusion(cookie="other"),)) for rule in builtin_rules()]
    request = a_request(
        uri="/?q=1%20union%20select%201", headers={"referer": "https://cloud.example/?q=1 union select 1"}
    )

    assert {rule.name for rule in RuleSet(rules).inspect(request, None)} == {
        rule.name for rule in RuleSet(builtin_rules()).inspect(request, None)
    }


def test_an_exclusion_has_a_part_and_a_test_of_paths():
    test = Exclusion(path_prefix="/a").compiled[1]

    assert test
    assert (test("/a/b"), test("/b"), Exclusion(cookie="c").compiled[1]) == (True, False, None)
    assert Exclusion(cookie="c").part == (Part.COOKIE, "c")
