"""The parsers of bodies: names, headers, regions, and any bytes in bounded time."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewall.engine.waf.body import charsets, content_type, json_reader, multipart, xml_reader
from gatewall.engine.waf.body.texts import BODY_MARK, BodyText, field_text
from gatewall.engine.waf.builtin.regions import regions_of
from gatewall.engine.waf.exclusions import Part
from gatewall.engine.waf.judge import Judge
from gatewall.engine.waf.reading import MAX_BODY, values_of
from gatewall.engine.waf.rules import BodyRegion, Target, WafRule
from tests.unit.body_requests import FORM, PARTS, SHORT, field, form_data, request, texts


def test_values_have_the_names_of_their_place():
    body = {"a": [{"b c": "some words"}, "more words here"], "d": "yet more words"}
    assert {(*name, text) for _, name, text in texts(json.dumps(body), "application/json")} == {
        (Part.JSON_PATH, "$.a[*]", "b c"), (Part.JSON_PATH, "$.a[*]['b c']", "some words"),
        (Part.JSON_PATH, "$.a[*]", "more words here"), (Part.JSON_PATH, "$.d", "yet more words"),
    }  # fmt: skip
    assert texts('<x:a xmlns:x="urn:x"><b c="some words">and more words</b> </x:a>', "text/xml") == [
        (Target.BODY, (Part.XML_PATH, "/a/@xmlns:x"), "urn:x"),
        (Target.BODY, (Part.XML_PATH, "/a/b/@c"), "some words"),
        (Target.BODY, (Part.XML_PATH, "/a/b"), "and more words"),
        (Target.BODY, None, "x:a"),
    ]
    assert texts(form_data((field("name"), "some words"))[0], PARTS) == [
        (Target.BODY, (Part.MULTIPART_FIELD, "name"), "some words")
    ]


def test_list_in_a_list_has_two_pairs_of_brackets():
    assert json_reader.read('[["some words"]]') == [BodyText((None, "$[*][*]"), "some words", is_field=True)]


def test_string_that_is_cut_is_read_up_to_its_end():
    assert json_reader.read_loosely('{"a": "some words and mo') == [BodyText(None, "some words and mo", is_field=True)]
    assert json_reader.read_loosely('{"a": "some words \\u003cand \\u00')[0].text == "some words <and \\u00"
    assert json_reader.read_loosely('{"a": "x\\q and more') == [BodyText(None, '{ :  "x\\q and more')]


@pytest.mark.parametrize(
    ("header", "value", "parameters", "is_ambiguous"),
    [
        ("Text/Plain", "text/plain", {}, False),
        ("a/b; C=d ;e", "a/b", {"c": "d", "e": ""}, True),
        ('a/b; c="d;e"; f="g\\"h"', "a/b", {"c": "d;e", "f": 'g"h'}, False),
        ('a/b; c="d', "a/b", {"c": "d"}, False),
        ('a/b; c="d\\', "a/b", {"c": "d"}, False),
        ("a/b; c=d; c=e", "a/b", {"c": "d"}, True),
        ("a/b; c*0=d", "a/b", {"c*0": "d"}, True),
        ("a/b; c*=d;", "a/b", {"c*": "d"}, False),
    ],
)
def test_header_with_parameters_is_parsed(header, value, parameters, is_ambiguous):
    assert content_type.parse(header) == content_type.HeaderValue(value, parameters, is_ambiguous)


def test_parameters_over_the_limit_are_ambiguous():
    assert content_type.parse("a" + ";b=c" * 40).is_ambiguous
    assert content_type.parse('a; b="c"' + ";b=c" * 40).is_ambiguous
    assert content_type.parse('a; b="c;d"' + " " * content_type.MAX_LENGTH).parameters["b"] == "c"
    assert [each.value for each in content_type.media_types('a/b; c="d,e", f\ng,')] == ["a/b", "f", "g"]


def test_a_text_is_decoded_by_its_charset():
    assert charsets.decoded("\xe9", "ISO-8859-1") == ("\xe9", True)
    assert charsets.decoded("x", "") == ("x", True)
    assert charsets.decoded("x", "klingon") is None
    assert charsets.decoded("<\x00\xe9\x00", "utf-16le") == ("<\xc3\xa9", True)


def test_parts_that_are_unusual_show_their_heads():
    heads = [text for name, text, _, _ in multipart.read(
        form_data(
            (field("a"), ""), (field("a-b"), ""), (field("a", '; filename="x"'), ""), ("Content-Type: text/plain", ""),
            ("Content-Type: text/plain; x=y", ""), ("X-A: b", ""),
        )[0].decode(), content_type.parse(PARTS),
    ) if text]  # fmt: skip

    assert heads == ["Content-Disposition: form-data; name=a; filename=x", "Content-Type: text/plain; x=y", "X-A: b"]


def test_invalid_base64_in_a_part_is_read_as_sent():
    body, kind = form_data((field("a") + "\r\nContent-Transfer-Encoding: base64", f"{SHORT}="))

    assert Judge(None).refusing(request(body, kind))


@pytest.mark.parametrize(
    ("text", "region"),
    [
        ("some words", Target.BODY),
        ("a\nb\nc\nd", Target.BODY),
        ("some words\n" * 10, BodyRegion.TEXT),
        ("some words\r" * 10, BodyRegion.TEXT),
        ("<b>x</b>", BodyRegion.TEXT),
        ("x < y", Target.BODY),
        ('"><b>x</b>', Target.BODY),
        ("<b", Target.BODY),
        ("<input>", Target.BODY),
        ("<b/*x*/>", Target.BODY),
        ("\x00\x01\x02\x03", BodyRegion.TEXT),
        ("a\x00b", Target.BODY),
        ("a: b\r\nc-d: e", BodyRegion.TEXT),
        ("a b: c\r\nd: e", Target.BODY),
        ("a: b\r\nc", Target.BODY),
        ("a: b\x01", Target.BODY),
        ("a\xa0b", Target.BODY),
    ],
)
def test_region_of_a_value(text, region):
    assert field_text(None, text).region is region


def test_rule_of_an_older_release_inspects_every_region():
    old = WafRule(1, "x", "an old pattern", targets=(Target.BODY,), builtin=True)

    assert regions_of(old) == {Target.BODY, *BodyRegion}
    assert regions_of(WafRule(1, "x", "y", targets=(Target.BODY,))) == {Target.BODY}
    assert regions_of(WafRule(1, "x", "y", targets=(Target.URI,), builtin=True)) == {Target.URI, BodyRegion.RAW}
    assert regions_of(WafRule(1, "x", "y", targets=(Target.PATH,), builtin=True)) == {Target.PATH}


@pytest.mark.parametrize("kind", ["", FORM, "application/json", "text/xml", PARTS, "text/plain"])
@given(data=st.binary(max_size=80) | st.text('<a b="&;%25 {}[]\\\n-\r:\x00\xff', max_size=60).map(str.encode))
def test_any_bytes_are_read(kind, data):
    assert not any("\n" in value for _, _, value in texts(data, kind))


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'"' * MAX_BODY, "application/json"),
        (b'{"":' * 16_000, "application/json"),
        (b"[" * MAX_BODY, "application/json"),
        (b'["\\u003c",' * 7_000, "application/json"),
        (b"<a>" * 21_000, "text/xml"),
        (b"<a b=''" * 9_000, "text/xml"),
        (b"--b\r\n" * 13_000, PARTS),
        (b"--b\n\n" * 13_000, PARTS),
        (b"<b>" * 21_000, "text/plain"),
        (b"<a>" + b"<b/>" * 16_000 + b"</a>", "text/xml"),
        (b'{"' * 32_000, "application/json"),
        (b"x", "multipart/form-data" + ';a="\\"' * 2000),
    ],
)
def test_hostile_body_has_an_answer_in_bounded_time(body, kind):
    began = time.process_time()
    values_of(request(body, kind))

    assert time.process_time() - began < 2


def test_documents_of_very_many_elements_are_read_as_raw_text_from_there_on():
    few = xml_reader.read("<a>" + "<b/>" * 200 + "<c>some words</c></a>")
    many = xml_reader.read("<a>" + "<b/>" * 3_000 + "<c>some words</c></a>")

    assert few == [BodyText((None, "/a/c"), "some words", is_field=True)]
    assert [each.region for each in many] == [BodyRegion.TEXT, Target.BODY]
    assert many[0].text.endswith("<c>some words</c></a>")
    assert many[1].text == BODY_MARK


def test_body_mark_is_the_prefix_that_the_rule_looks_for():
    assert multipart.raw("x")[1].text == BODY_MARK
    assert xml_reader.read("<a>") is None
