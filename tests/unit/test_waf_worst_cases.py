"""A hostile request costs little more than an ordinary one, counted in calls, and hides nothing without a note."""

import json
import sys
from dataclasses import replace

import pytest

from bench.waf import browser_requests, exclusions, worst_requests
from gatewall.engine.model import Action
from gatewall.engine.waf.judge import builtin_rules, request_of
from gatewall.engine.waf.matcher import RuleSet
from gatewall.engine.waf.places import Places
from gatewall.engine.waf.rules import THRESHOLD, Target
from gatewall.engine.waf.values import MAX_SIGNS
from gatewall.engine.waf.vector import AVAILABLE, CompiledNow
from tests.support.cast import a_request

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="no hyperscan on this platform")
RULES = RuleSet(builtin_rules(), CompiledNow() if AVAILABLE else None)
WORST = worst_requests()
MOST_TIMES = 50
ORDINARY = 117
"""Calls for an ordinary request that is not plain (gatewall/engine/waf/plain_request.py), on average."""
ATTACK = "<script>alert(1)</script>"
ESCAPED_ATTACK = "\\u003cscript\\u003ealert(1)\\u003c/script\\u003e"
NOTE = "protocol-not-inspected"


def calls(request, rules=RULES):
    """Return how many functions, Python's and C's, the WAF step calls for a request."""
    count = 0

    def note(frame, event, argument):
        nonlocal count
        count += event in {"call", "c_call"}

    rules.inspect(request, None, THRESHOLD)  # caches are filled
    sys.setprofile(note)
    try:
        rules.inspect(request, None, THRESHOLD)
    finally:
        sys.setprofile(None)
    return count


def places(**parts):
    rule = next(rule for rule in builtin_rules() if rule.name == "xss-script-tag")
    return Places(a_request(**parts), None).of(rule)


def matched(**parts):
    return {rule.name for rule in RULES.inspect(a_request(**parts), None)}


@pytest.mark.parametrize("name", WORST)
def test_worst_case_takes_at_most_fifty_times_the_calls_of_an_ordinary_request(name):
    assert calls(WORST[name]) <= MOST_TIMES * ORDINARY


def test_an_ordinary_request_takes_at_most_the_recorded_number_of_calls():
    ordinary = browser_requests(10)

    assert sum(map(calls, ordinary)) <= ORDINARY * len(ordinary)


@pytest.mark.parametrize("name", ["form of many arguments, attacks", "64 KiB of JSON, attack words"])
@pytest.mark.parametrize(
    "change", [{"action": Action.MONITOR}, {"exclusions": exclusions(50)}], ids=["monitor", "excl"]
)
def test_worst_case_takes_few_calls_with_monitored_rules_and_with_exclusions(name, change):
    rules = RuleSet([replace(rule, **change) for rule in builtin_rules()], CompiledNow())
    ordinary = browser_requests(10)

    assert calls(WORST[name], rules) <= 2 * MOST_TIMES * sum(map(calls, ordinary)) / len(ordinary)


@pytest.mark.parametrize("uri", ["/?a={}", "/{}"])
def test_attack_behind_very_many_escapes_is_found_as_sent_and_the_rest_is_noted(uri):
    escapes = "\\x61" * MAX_SIGNS

    assert {NOTE, "xss-script-tag"} <= matched(uri=uri.format(escapes + "\\x61" + ATTACK))
    assert NOTE in matched(uri=uri.format(escapes + ESCAPED_ATTACK))
    assert "xss-script-tag" in matched(uri=uri.format(ESCAPED_ATTACK + escapes))


def test_values_share_the_decoding_limit_and_ordinary_ones_are_not_noted():
    assert NOTE not in matched(uri="/?a=" + "\\x61" * MAX_SIGNS)
    assert NOTE in matched(uri="/?a=" + "\\x61" * MAX_SIGNS, headers={"x-a": "\\x61"})


def test_escapes_of_a_file_are_no_reason_to_note_it():
    head = b'--b\r\nContent-Disposition: form-data; name="a"; filename="a.py"\r\n\r\n'
    body = head + b"\\x61 " * (MAX_SIGNS + 1) + b"\r\n--b--\r\n"
    request = request_of(b"POST", b"/", [(b"content-type", b"multipart/form-data; boundary=b")], body)

    assert NOTE not in {rule.name for rule in RULES.inspect(request, None)}


def test_attack_in_a_header_behind_very_many_is_found_and_noted():
    headers = {f"x-a{number}": "some text" for number in range(200)} | {"x-b": ATTACK}

    assert {NOTE, "xss-script-tag"} <= matched(headers=headers)


def test_malformed_escapes_of_a_long_value_are_decoded_all_the_same():
    assert "xss-script-tag" in matched(uri="/?a=" + "%61" * 2000 + "%3Cscript%3E" + "%61" * 600 + "%3")


def test_full_width_letters_are_read_as_ascii():
    assert "xss-script-tag" in matched(uri="/?a=%EF%BC%9Cscript%EF%BC%9Ex%E4%B8%AD")


def test_beginning_of_a_long_body_that_suffices_is_enough():
    body = (f'{{"a":"{ATTACK}' + "b c " * 3_500 + '../../etc/passwd"}').encode()
    request = request_of(b"POST", b"/", [(b"content-type", b"application/json")], body)
    names = {rule.name for rule in RULES.inspect(request, None, THRESHOLD)}

    assert {NOTE, "xss-script-tag"} <= names
    assert "traversal-in-text" not in names
    assert "traversal-in-text" in {rule.name for rule in RULES.inspect(request, None)}


def test_rule_with_a_match_outside_its_targets_is_searched_in_them():
    referer = "https://cloud.example/?q=1 union select 1"
    both = matched(uri="/?q=1%20union%20select%201", headers={"referer": referer})

    assert "sqli-select-list" not in matched(headers={"referer": referer})
    assert both >= matched(uri="/?q=1%20union%20select%201")


@pytest.mark.no_cover
@pytest.mark.parametrize("name", WORST)
def test_worst_case_is_decided_the_same_by_both_engines_and_noted_or_refused(name):
    by_re2 = RuleSet(builtin_rules()).inspect(WORST[name], None)

    assert set(RULES.inspect(WORST[name], None)) == set(by_re2)
    is_harmless = name.endswith("words") or name.startswith("beginnings of")
    assert by_re2 or is_harmless or name in {"binary", "runs of a file", "runs of packed bytes"}


def test_rest_of_a_long_value_is_inspected_as_text_and_keeps_its_name():
    padding = "some words " * 800
    found = {(place.target, place.name) for place in places(uri=f"/?q={padding}{ATTACK}")}
    of_cookie = {(place.target, place.name) for place in places(cookies={"c": f"{padding[:7000]} {ATTACK}"})}
    of_header = {(place.target, place.name) for place in places(headers={"x-a": f"{padding[:7000]} {ATTACK}"})}

    assert found == {(Target.URI, "q")}
    assert of_cookie == {(Target.COOKIES, "c")}
    assert of_header == {(Target.HEADERS, "x-a")}


def test_fields_behind_a_long_form_are_decoded_together_and_keep_their_names_while_they_are_few():
    words = "a+few+ordinary+words+" * 25
    few = f"a={words * 8}&html={words}{ATTACK}"
    many = "&".join([f"a{number}={words}" for number in range(30)]) + f"&html={words}{ATTACK}&short={ATTACK}"
    kind = {"content-type": "application/x-www-form-urlencoded"}
    rule = next(rule for rule in builtin_rules() if rule.name == "xss-script-tag")
    found = {}
    for name, body in (("few", few), ("many", many)):
        request = request_of(
            b"POST", b"/", [(key.encode(), value.encode()) for key, value in kind.items()], body.encode()
        )
        found[name] = {place.name for place in Places(request, None).of(rule)}

    assert found == {"few": {"html"}, "many": {None, "short"}}


def test_strings_behind_long_ones_are_inspected_together():
    body = json.dumps([f"{'some ordinary words, ' * 40}{number}" for number in range(40)] + [ATTACK]).encode()
    request = request_of(b"POST", b"/", [(b"content-type", b"application/json")], body)

    assert {NOTE, "xss-script-tag"} <= {rule.name for rule in RULES.inspect(request, None)}
