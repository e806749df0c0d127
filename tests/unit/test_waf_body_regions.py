"""Which values of a body are documents: packed bytes, lines of JSON, source code, scrambled text, nested JSON."""

import json
import random
import string

import pytest

from gatewall.engine.waf.judge import Judge
from tests.unit.body_requests import FORM, form_data, request

JUDGE = Judge(None)
DRAWN = random.Random(7)  # noqa: S311 - harmless bytes
PACKED = "".join(chr(DRAWN.randrange(256)) for _ in range(2_500)) + "{{[a}\x01${jx\xf0n\x03d\xa0i:"
SCRAMBLED = "".join(DRAWN.choice(string.ascii_letters + "!#$*+,-./:;<=>?@[]^_`{|}~") for _ in range(3_000)) + "<a/b@c@d"
FUNCTION = "function(){var found=[];for(var i=0;i<this.length;i++){if(!found[i]){found.push(i)}}return found}"
PAGE = '<p></p><h2 class="a">Some news</h2><img src="https://cdn.example/it/a.jpg?w=280&h=180">'
ESCAPED = f'{{"page": "{PAGE}"}}'.replace('="', '=\\\\"')
CALL = "<script>alert(1)</script>"


def nested(text, times):
    for _ in range(times):
        text = json.dumps([text])
    return text


def refused(body, kind):
    return bool(JUDGE.refusing(request(body, kind)))


DOCUMENTS = {
    "packed bytes in JSON": (json.dumps({"data": PACKED}), "application/json"),
    "packed bytes in a field": form_data(('Content-Disposition: form-data; name="a"', PACKED)),
    "packed bytes in JSON beyond the limit": (json.dumps({"data": PACKED * 9}), "application/json"),
    "lines of JSON as text": ('{"u": "{\\"a\\":1}"}\n{"v": "a b c"}\n', "text/plain"),
    "source of a function": (f"unique={FUNCTION}&size=3", FORM),
    "source of a function in JSON": (json.dumps([{"value": "function(t){e(t)}"}]), "application/json"),
    "text scrambled by a script": (json.dumps({"sensor": SCRAMBLED}), "text/plain"),
    "formatted text in JSON in JSON": (nested(json.dumps({"page": PAGE}), 4), "application/json"),
    "JSON escaped once too often": (json.dumps({"m": ESCAPED}), "application/json"),
    "a void action": ("domain=example.org&action%3Alogin=", FORM),
}  # fmt: skip
ATTACKS = {
    "a script in packed bytes": (json.dumps({"data": PACKED + CALL}), "application/json"),
    "a short script among control characters": (
        json.dumps({"data": "\x01\x02\x03\x04\x05\x06\x07\x08" * 40 + "<script>"}), "application/json"
    ),
    "a script in lines of JSON": (f'{{"a": 1}}\n{{"b": "{CALL}"}}\n', "text/plain"),
    "a quote in lines of JSON": ('{"a": "x"}\n{"b": "x\' or 1=1--"}\n', "text/plain"),
    "a function that is called": ("a=function(){require('child_process').exec('id')}()", FORM),
    "a script behind a function": (json.dumps({"a": f"function(){{}}{CALL}"}), "application/json"),
    "a script in scrambled text": (json.dumps({"a": SCRAMBLED + CALL}), "text/plain"),
    "a script in nested JSON": (nested(CALL, 6), "application/json"),
    "an event handler in JSON escaped too often": (
        json.dumps({"m": '{"page": "<img src=\\\\"x\\\\" onerror=\\\\"alert(1)\\\\">"}'}), "application/json"
    ),
    "an expression of Nexus": (json.dumps({"roles": ["admin$\\\\B{233*233}"]}), "application/json"),
    "a callback of Drupal": ("mail[#post_render][]=exec&mail[#type]=markup&mail[#markup]=id", FORM),
}  # fmt: skip


@pytest.mark.parametrize("name", DOCUMENTS)
def test_document_is_not_refused(name):
    assert not refused(*DOCUMENTS[name])


@pytest.mark.parametrize("name", ATTACKS)
def test_attack_in_a_document_is_refused(name):
    assert refused(*ATTACKS[name])


def test_too_many_lines_of_json_are_read_as_text():
    lines = '{"a": 1}\n' * 1500

    assert not refused(lines, "application/x-ndjson")
    assert refused(lines + f'{{"b": "{CALL}"}}', "application/x-ndjson")
