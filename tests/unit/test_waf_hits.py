"""The place of a rule's first match in the record: part and name, never the value."""

import pytest

from gatewall.engine.evaluate import evaluate
from gatewall.engine.rule_match import RuleMatch
from gatewall.engine.waf.judge import COMPILED_NOW, builtin_rules, request_of
from gatewall.engine.waf.matcher import RuleSet
from gatewall.engine.waf.rules import Exclusion, Target, Transform
from gatewall.gate.record import rules_of
from tests.support.cast import BOBS_GIT_TOKEN, a_policy, a_ports, a_request, a_rule

ATTACK = "' UNION SELECT password FROM users--"
QUOTED = ATTACK.replace(" ", "+")
JSON_BODY = b'{"posts": [{"title": "a"}, {"html": "' + ATTACK.encode() + b'"}]}'
FORM_DATA = b'--x\r\nContent-Disposition: form-data; name="bio"\r\n\r\n' + ATTACK.encode() + b"\r\n--x--\r\n"
SENT = {
    "argument": (f"/?q={QUOTED}", {}, b"", ("args", "q")),
    "header": ("/", {"x-note": ATTACK}, b"", ("headers", "x-note")),
    "cookie": ("/", {"cookie": f"a=1; theme={QUOTED.replace('+', '%20')}"}, b"", ("cookies", "theme")),
    "JSON path": ("/", {"content-type": "application/json"}, JSON_BODY, ("body", "$.posts[*].html")),
    "part": ("/", {"content-type": "multipart/form-data; boundary=x"}, FORM_DATA, ("body", "bio")),
    "user agent": ("/", {"user-agent": "curl " + ATTACK}, b"", ("user-agent", None)),
}


def places(rules, uri, headers, body):
    lines = [(name.encode(), value.encode()) for name, value in {"host": "a.example", **headers}.items()]
    request = request_of(b"POST", uri.encode(), lines, body or None)
    return {hit.rule.name: (hit.target.value, hit.name) for hit in rules.hits(request, None, 5)}


@pytest.mark.parametrize("engine", ["re2", "hyperscan"])
@pytest.mark.parametrize("where", SENT)
def test_a_built_in_rule_reports_part_and_name(where, engine):
    uri, headers, body, place = SENT[where]
    rules = RuleSet(builtin_rules(), COMPILED_NOW if engine == "hyperscan" else None)

    found = places(rules, uri, headers, body)

    assert found["sqli-union-select"] == place, found


def test_a_custom_rule_reports_part_and_name():
    rules = RuleSet(
        [a_rule("union", targets=(Target.ARGS, Target.HEADERS, Target.COOKIES), transforms=(Transform.LOWERCASE,))]
    )

    assert list(places(rules, "/?q=1", {"x-note": ATTACK}, b"").values()) == [("headers", "x-note")]
    assert list(places(rules, f"/?a=1&q={QUOTED}", {"x-note": ATTACK}, b"").values()) == [("args", "q")]


def test_a_value_that_is_excluded_is_not_the_place():
    rules = [a_rule("attack", targets=(Target.ARGS,), exclusions=(Exclusion(argument="a"),))]

    (match,) = evaluate(a_request(uri="/?a=attack&b=attack"), a_policy(rules=rules), a_ports()).rules

    assert match.place == ("args", "b")


def test_the_record_has_the_place_without_secrets():
    matches = [
        RuleMatch(1, "one", "sqli", 5, enforced=True, place=("cookies", "theme")),
        RuleMatch(2, "two", "sqli", 5, enforced=False, place=("args", BOBS_GIT_TOKEN)),
        RuleMatch(3, "three", "sqli", 5, enforced=False, place=("body", "n" * 900)),
        RuleMatch(4, "four", "sqli", 5, enforced=False, place=("uri", None)),
    ]

    found = [rule["place"] for rule in rules_of(matches)]

    assert found[0] == {"target": "cookies", "name": "theme"}
    assert BOBS_GIT_TOKEN not in found[1]["name"]
    assert len(found[2]["name"]) == 100
    assert found[3] == {"target": "uri", "name": None}


def test_a_decision_has_the_places_of_its_rules():
    policy = a_policy(rules=[a_rule("attack", targets=(Target.COOKIES,))])

    (match,) = evaluate(a_request(cookies={"theme": "attack"}), policy, a_ports()).rules

    assert match.place == ("cookies", "theme")
