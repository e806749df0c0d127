"""Decoding terminates, never lengthens a text and leaves nothing encoded; the inspected values of a request."""

import time
from base64 import b64encode
from urllib.parse import quote, unquote_to_bytes

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gatewall.engine.waf.decoding import base64_decoded, loosened, split_query, unquoted
from gatewall.engine.waf.judge import builtin_rules, request_of
from gatewall.engine.waf.matcher import RuleSet
from gatewall.engine.waf.percent import ROUNDS, _bytes_decoded, decoded_once, percent_decoded
from gatewall.engine.waf.reading import MAX_SEPARATE, values_of
from gatewall.engine.waf.rules import BodyRegion, Target
from tests.support.cast import a_request

OF_BODY = {Target.BODY: (BodyRegion.TEXT, BodyRegion.FILE)}
RULES = RuleSet(builtin_rules())
BYTES = st.binary(max_size=60).map(lambda data: data.decode("latin-1"))
WRAPPED = st.text("ab%25uU0cfFe&;#x\\/*!'\"$ {}<\0\n\xc0\xef\xbc", max_size=40)


@given(BYTES | WRAPPED)
def test_decoding_never_lengthens_a_text(text):
    for undo in (percent_decoded, loosened, unquoted):
        assert len(undo(text)) <= len(text)


@given(st.binary(max_size=40) | st.text("%2f\\\nx0", max_size=30).map(str.encode))
@example(b"%5c%0a\\\n%")
def test_decoding_in_c_is_that_of_the_library(data):
    for is_valid in (True, False):
        assert _bytes_decoded(data, is_valid=is_valid)[0].encode("latin-1") == unquote_to_bytes(data)


@given(st.text("ab <'\xe9", max_size=20), st.integers(0, ROUNDS))
def test_percent_encoding_is_decoded_up_to_the_bound_of_rounds(text, rounds):
    encoded = text
    for _ in range(rounds):
        encoded = quote(encoded.encode("latin-1"), safe="")

    assert percent_decoded(encoded) == text
    assert percent_decoded(percent_decoded(encoded)) == text


@given(BYTES | WRAPPED)
def test_percent_decoding_ends_at_text_that_it_leaves_alone_or_at_its_bound(text):
    for _ in range(len(text) + 1):
        text = percent_decoded(text)

    assert percent_decoded(text) == text


@given(BYTES | WRAPPED)
def test_the_inspected_values_of_any_request_are_bounded(text):
    values = values_of(a_request(uri=f"/{text}?{text}={text}", headers={"x": text}, cookies={text: text}, body=None))

    assert sum(len(value) for _, _, value in values) <= 60 * (len(text) + 10)
    assert not any("\n" in value for _, _, value in values)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("%3Ca%3E", "<a>"),
        ("%253Ca", "<a"),
        ("%u003ca", "<a"),
        ("%uff1ca", "<a"),
        ("%u4e2da", "?a"),
        ("%u00zz", "%zz"),
        ("%U003Ca", "<a"),
        ("%u4e2" + "%u4e2d" * 2, "%u4e2??"),
        ("%41" * 200 + "%u003ca", "A" * 200 + "<a"),
        ("%41" * 200 + "%uff1ca", "A" * 200 + "<a"),
        ("%u0041" * 200 + "%uff1ca", "A" * 200 + "<a"),
        ("%u4e2d" * 200 + "%u003ca", "?" * 128 + "?u4e2d" * 72 + "<a"),
        ("%", "%"),
        ("100%", "100%"),
    ],
)
def test_percent_decoding_reads(text, read):
    assert percent_decoded(text) == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("&lt;a&#62;&#x26;", "<a>&"),
        ("&#x4e2d;", "?"),
        (r"\x3ca\u003e\u{3c}\74\074", r"<a><\74<"),
        (r"\xzz\u00\u{zz}\u{3c\q", r"\xzz\u00\u{zz}\u{3c\q"),
        ("union/**/select", "union select"),
        ("/*!50000union*/x", " unionx"),
        ("a/*b", "a/*b"),
        ("scr\0ipt", "script"),
        ("\xef\xbc\x9cscript", "<script"),
        ("plain", "plain"),
        ("1\xa0or\xa01", "1 or 1"),
        ("1\xc2\xa0or", "1 or"),
        ("\xc3\xa0 \xc2\xa0x", "\xc3  x"),
    ],
)
def test_loosening_reads(text, read):
    assert loosened(text) == read


@pytest.mark.parametrize(
    ("text", "read"),
    [("c'a't", "cat"), ('w"h"o', "who"), ("c\\at", "cat"), ("who$@ami", "whoami"), ("a${IFS}b", "a b")],
)
def test_unquoting_reads_text_as_a_shell_does(text, read):
    assert unquoted(text) == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (b64encode(b"<script>alert").decode(), "<script>alert"),
        (b64encode(b"<script>alert").decode().rstrip("="), "<script>alert"),
        (b64encode(b"??>>~~<script>??").decode().replace("+", "-").replace("/", "_"), "??>>~~<script>??"),
        (b64encode(bytes(range(128, 160))).decode(), None),
        ("short", None),
        ("not base64 at all", None),
        ("a" * 13, None),
        ("====" * 4, ""),
    ],
)
def test_base64_is_decoded_if_it_contains_text(text, read):
    assert base64_decoded(text) == read


def seen(target, **parts):
    return [value for where, _, value in values_of(a_request(**parts)) if where in {target, *OF_BODY.get(target, ())}]


def test_argument_is_seen_through_base64_and_json_and_both():
    inner = b64encode(b"<script>alert(1)</script>").decode()

    assert "<script>alert(1)</script>" in seen(Target.ARGS, uri=f"/?a={inner}")
    assert "<script>alert(1)</script>" in seen(Target.ARGS, uri=f'/?a={{"b":["{inner}"]}}')
    assert "<script>alert(1)</script>" in seen(Target.PATH, uri=f"/x/{inner}")


def test_decoding_of_nested_layers_is_bounded():
    text = "<script>alert(1)</script>"
    for _ in range(3):
        text = b64encode(text.encode()).decode()
    assert "<script>alert(1)</script>" in seen(Target.ARGS, uri=f"/?a={text}")

    text = b64encode(text.encode()).decode()
    assert "<script>alert(1)</script>" not in seen(Target.ARGS, uri=f"/?a={text}")


def test_names_of_arguments_are_inspected_unless_they_are_words():
    assert seen(Target.ARG_NAMES, uri="/?page=1&user_id=2&__proto__=3&a[$ne]=4") == ["__proto__", "a[$ne]"]


def test_json_of_numbers_has_nothing_to_inspect():
    assert seen(Target.ARGS, uri='/?a=[1,2,null,{"b":true}]') == ['[1,2,null,{"b":true}]', "[1,2,null,{b:true}]"]


def test_cookies_are_not_inspected_as_a_header():
    assert seen(Target.HEADERS, headers={"cookie": "a=<b>"}, cookies={"a": "<b>"}) == []


@pytest.mark.parametrize("text", ["{", "[" * 3000, '{"a":', "[1,2", "{}"])
def test_invalid_json_is_inspected_as_sent(text):
    assert text in seen(Target.ARGS, uri=f"/?a={text}")


def test_headers_of_browsers_are_not_inspected_and_others_are():
    headers = {"accept": "*/*", "sec-fetch-mode": "navigate", "x-a": "b", "accept-language": "../../x"}

    assert seen(Target.HEADERS, headers=headers) == ["x-a: b", "accept-language: ../../x"]


@pytest.mark.parametrize("name", ["accept", "accept-language", "origin", "if-none-match", "x-real-ip", "via"])
@pytest.mark.parametrize(
    ("value", "rule"),
    [
        (b"() { :;}; /bin/bash -c id", "rce-shellshock"),
        (b"<script>alert(1)</script>", "xss-script-tag"),
        (b"x' or 1=1--", "sqli-tautology"),
        (b"../x", "traversal-dot-dot"),
    ],
)
def test_attack_in_a_header_that_browsers_fill_in_is_found(name, value, rule):
    assert rule in names(headers=[(b"accept-encoding", b"gzip"), (name.encode(), value)])


def test_referer_shows_its_query_and_an_odd_address():
    assert seen(Target.REFERER, headers={"referer": "https://a.test/b?c=<d>"}) == ["<d>"]
    assert seen(Target.REFERER, headers={"referer": "https://a.test/<b>"}) == ["https://a.test/<b>"]
    assert seen(Target.REFERER, headers={"referer": "https://a.test/b"}) == []


def test_cookie_with_a_token_is_not_inspected():
    assert seen(Target.COOKIES, cookies={"a": "abc-123_4.5", "b": "x y", "c<": "1"}) == ["x y", "c<"]


BODIES = [
    ("application/x-www-form-urlencoded", b"a=%3Cb%3E", "<b>"),
    ("application/json", b'{"a": ["<b>"]}', "<b>"),
    ("multipart/form-data; boundary=x", b'--x\r\ncontent-disposition: form-data; name="a"\r\n\r\n<b>\r\n--x--', "<b>"),
    ("multipart/form-data", b"<b>", "<b>"),
    ("text/plain", b"<b>", "<b>"),
    ("", b"{<b>", "{<b>"),
]


@pytest.mark.parametrize(("media_type", "body", "value"), BODIES)
def test_body_is_read_by_its_content_type(media_type, body, value):
    assert value in seen(Target.BODY, headers={"content-type": media_type}, body=body)


# Bad input: an answer in bounded time, and a note about parts that were not inspected.


def names(uri="/", headers=(), body=None):
    found = RULES.inspect(request_of(b"GET", uri.encode("latin-1"), headers, body), None)
    return {rule.name for rule in found}


@pytest.mark.parametrize(
    "uri",
    [
        "/?a=\0",
        "/?a=\xff\xfe\x80",
        "/%c0%ae%c0%ae/%00",
        "/?" + "&".join(f"a{number}={number}" for number in range(10_000)),
        "/?a=" + "<" * 1_048_576,
        "/?a=" + "%25" * 10_000,
        "/?a=" + "/*" * 16_000,
        "/?a=" + "\\u003c" * 5_000,
        "/?a=" + "[" * 30_000,
    ],
)
def test_bad_input_has_an_answer_in_bounded_time(uri):
    began = time.process_time()
    names(uri)

    assert time.process_time() - began < 5


def test_overlong_parts_are_noted_as_not_inspected():
    assert "protocol-not-inspected" in names("/?a=" + "x" * 40_000)
    assert "protocol-not-inspected" in names(headers=[(b"x-a", b"y" * 9_000)])
    assert "protocol-not-inspected" in names(headers=[(b"x-%d" % each, b"y" * 8_000) for each in range(20)])
    assert "protocol-not-inspected" in names(body=b"x" * 70_000)
    assert "protocol-not-inspected" not in names("/?a=" + "x" * 1_000, [(b"x-a", b"y" * 1_500)], b"x" * 2_500)


def test_attack_behind_very_many_arguments_is_seen():
    assert "xss-script-tag" in names("/?" + "&".join(["a=1"] * (2 * MAX_SEPARATE)) + "&b=<script>")


@given(
    st.lists(st.sampled_from(["%", "%4", "%41", "%3d", "%3D", "=", "\n", "%0D", "%%", "%u0041", "\x03", "%05", "\xff"]))
)
def test_a_text_is_decoded_once_as_by_the_standard_library(pieces):
    data = "".join(pieces).encode("latin-1")
    long = data * 100 + b"x" * 1_024

    assert decoded_once(data) == unquote_to_bytes(data)
    assert decoded_once(long) == unquote_to_bytes(long)


@given(st.lists(st.sampled_from(["&", "a", "a=b&", "x" * 9_000])), st.integers(1, 4))
def test_a_long_query_is_split_as_a_short_one(pieces, most):
    query = "".join(pieces)

    assert split_query(query, most) == query.split("&", most)
