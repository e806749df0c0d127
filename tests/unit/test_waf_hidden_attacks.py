"""Invalid bytes, exhausted bounds and odd beginnings hide no attack: regression tests of former bypasses."""

import json
from base64 import b64encode
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewall.engine.waf.body import charsets
from gatewall.engine.waf.body.texts import as_wire
from gatewall.engine.waf.decoding import form_base64_decoded
from gatewall.engine.waf.judge import COMPILED_NOW, builtin_rules
from gatewall.engine.waf.matcher import RuleSet
from tests.support.cast import a_request
from tests.unit.body_requests import FORM, PARTS, request

RULES = RuleSet(builtin_rules(), COMPILED_NOW)
SQL = "1' union select password,2 from users where 'a'='a"
UTF_7 = b"+" + b64encode(SQL.encode("utf-16-be")).rstrip(b"=")
NOTE = "protocol-not-inspected"


def part(charset, content):
    head = f'--b\r\nContent-Disposition: form-data; name="a"\r\nContent-Type: text/plain; charset={charset}\r\n\r\n'
    return head.encode() + content + b"\r\n--b--\r\n", PARTS


BODIES = {
    "a bad end of a shift of UTF-7": part("utf-7", UTF_7 + b"B-"),
    "many invalid bytes before EBCDIC": part("cp424", b"\x70" * 200 + SQL.encode("cp424")),
    "many invalid bytes before UTF-7": part("utf-7", b"\xff" * 200 + UTF_7 + b"-"),
    "a surrogate behind a byte order mark": (
        b"\xff\xfe" + '{"v":"'.encode("utf-16-le") + b"\0\xd8" + (SQL + '"}').encode("utf-16-le"),
        "application/octet-stream",
    ),
    "very many lines of JSON": (b'{ "v":"\xff' + SQL.encode() + b'"}' + b"\n" * 321 + b"{}", "application/json"),
    "JSON before a text": (b'{ "v":"\xff' + SQL.encode() + b'"} x', "application/json"),
}


@pytest.mark.parametrize("name", BODIES)
def test_an_attack_in_such_a_body_is_found(name):
    assert [rule.name for rule in RULES.inspect(request(*BODIES[name]), None) if rule.name.startswith("sqli-")]


@pytest.mark.parametrize("kind", ["text/plain", FORM, "application/json"])
def test_a_charset_is_decoded_though_the_first_of_several_types_is_xml(kind):
    rules = RULES.inspect(request(UTF_7 + b"-", f"application/xml; charset=utf-7, {kind}; charset=utf-7"), None)

    assert [rule.name for rule in rules if rule.name.startswith("sqli-")]


@pytest.mark.parametrize("charset", ["utf-7", "cp424"])
def test_an_open_shift_before_an_invalid_byte_is_no_error(charset):
    body = b"+ADwAcwBj2Aw\xffAHI-"

    RULES.inspect(request(*part(charset, body)), None)
    RULES.inspect(request(body, f"text/plain; charset={charset}"), None)


@pytest.mark.parametrize("number", [31, 32, 33])
def test_json_behind_used_up_strings_of_arguments_is_opened_or_noted(number):
    many, attack = json.dumps(["a-"] * number), json.dumps({"v": b64encode(SQL.encode()).decode()})
    uri = f"/?a={quote(many)}&b={quote(attack)}"

    found = {rule.name for rule in RULES.inspect(a_request(uri=uri), None)}
    assert NOTE in found or any(name.startswith("sqli-") for name in found)


@pytest.mark.parametrize("digits", [4_299, 5_500])
@pytest.mark.parametrize("kind", ["text/plain", "application/json"])
def test_a_reference_of_more_digits_than_python_converts_is_decoded(kind, digits):
    body = json.dumps({"a": f"&#{'0' * digits}60;img src=x onerror=alert(1)>"})

    assert [rule for rule in RULES.inspect(request(body, kind), None) if rule.category == "xss"]


def test_long_base64_with_padding_inside_is_decoded():
    coded = b64encode((SQL + " " + "some words " * 1_000).encode()[:6_075]).decode()
    coded = coded[:40] + "==" + coded[40:]
    text = "\r".join([coded[at : at + 76] for at in range(0, len(coded), 76)])

    assert form_base64_decoded(text) is not None
    assert [rule for rule in RULES.inspect(request(f"a={text}", FORM), None) if rule.name.startswith("sqli-")]


@pytest.mark.parametrize("junk", [b"+\xff", b"+ ", b"+A ", b"+AGF'", b"+2AA-+"])
@pytest.mark.parametrize("of", [part, lambda charset, content: (content, f"text/plain; charset={charset}")])
def test_very_many_invalid_sequences_of_utf_7_are_refused(of, junk):
    rules = RULES.inspect(request(*of("utf-7", junk * 1_300 + UTF_7)), None)

    assert {"protocol-too-long", NOTE} <= {rule.name for rule in rules}


PIECES = [
    *(bytes([each]) for each in b"+-A/\xff '"),
    b"AGE",
    b"ADw",
    b"2AA",
    b"3AA",
    b"Q" * 700,
    b"x" * 900,
    b"AGEA" * 400,
]


@given(st.lists(st.sampled_from(PIECES), max_size=90))
def test_utf_7_is_decoded_as_python_does_in_pieces_of_any_length(pieces):
    data = b"".join(pieces)
    found = charsets.decoded(data.decode("latin-1"), "utf-7")

    assert found.is_whole
    assert found.text == as_wire(data.replace(b"\xff", b"\x7f").decode("utf-7", "replace"))


@given(st.lists(st.sampled_from([b"+ ", b"+AGF'", b"a", b"+AGE-"]), min_size=20, max_size=40))
def test_mostly_invalid_utf_7_is_decoded_to_a_limit_and_marked_as_incomplete(pieces):
    data = b"".join(pieces) * 60
    found, expected = charsets.decoded(data.decode("latin-1"), "utf-7"), as_wire(data.decode("utf-7", "replace"))

    assert expected.startswith(found.text)
    assert found.is_whole or found.text.count(as_wire("\ufffd")) > 128


@given(st.binary(max_size=80), st.sampled_from(["cp037", "cp273", "cp424", "cp500", "cp875", "cp1026", "cp1140"]))
def test_a_charset_is_decoded_as_its_codec_does(data, codec):
    found, expected = charsets.decode(data, codec), data.decode(codec, "replace")

    assert found.replace("\x7f", "\ufffd") == expected.replace("\x7f", "\ufffd")
