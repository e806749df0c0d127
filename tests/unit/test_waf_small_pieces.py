"""Very many small pieces cost little and hide nothing: beyond the bounds they are inspected as one text and noted."""

import json
from base64 import b64encode
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewall.engine.waf import percent
from gatewall.engine.waf.body import charsets, json_reader, texts, xml_reader
from gatewall.engine.waf.body.texts import field_text, readable
from gatewall.engine.waf.decoding import base64_decoded, form_base64_decoded
from gatewall.engine.waf.judge import COMPILED_NOW, builtin_rules
from gatewall.engine.waf.matcher import RuleSet
from gatewall.engine.waf.percent import percent_decoded
from gatewall.engine.waf.rules import BodyRegion, Target
from gatewall.engine.waf.uncommon import COMMON
from gatewall.engine.waf.vector import AVAILABLE, VectorScanner
from tests.unit.body_requests import FORM, PARTS, field, request

RULES = RuleSet(builtin_rules(), COMPILED_NOW)
NOTE = "protocol-not-inspected"
SCRIPT = "<script>alert(1)</script>"
ESCAPED = SCRIPT.replace("<", "&lt;")
ATTRIBUTES = " ".join([f'a{number}="x y"' for number in range(2_000)])


def names(body, kind, **parts):
    return {rule.name for rule in RULES.inspect(request(body, kind, **parts), None)}


XML = {
    "comments": f"<r>{'<!--x y-->' * 3_000}<!--{SCRIPT}--></r>",
    "text behind comments": f"<r>{'<!--x y-->' * 64}{ESCAPED}<!--x y--></r>",
    "instructions": f"<r>{'<?a b c?>' * 3_000}<?a {SCRIPT}?></r>",
    "attributes": f'<r {ATTRIBUTES} b="{ESCAPED}"/>',
    "attribute at the bound": f"<r>{'<a>x y</a>' * 64}<a b='{ESCAPED}'/></r>",
    "texts behind ends": f"<r>{'<a>' * 200}{'</a>x y' * 199}{ESCAPED}</a></r>",
}


@pytest.mark.parametrize("name", XML)
def test_attack_behind_many_pieces_of_xml_is_found_and_noted(name):
    found = xml_reader.read(XML[name])

    assert len(found) <= 2 * xml_reader.MAX_VALUES + 3
    assert {NOTE, "xss-script-tag"} <= names(XML[name], "text/xml")


@pytest.mark.parametrize("escaped", [json.dumps({"a": SCRIPT}), json.dumps({"a": SCRIPT}).replace("<", "\\u003c")])
def test_attack_in_json_behind_many_values_of_json_is_found_and_noted(escaped):
    many = quote(json.dumps(["x y"] * 40))

    assert {NOTE, "xss-script-tag"} <= names(f"a={many}&b={quote(escaped)}", FORM)


@pytest.mark.parametrize("length", [4_000, 9_000])
def test_attack_in_long_base64_is_found(length):
    text = b64encode((SCRIPT + "some words " * 1_000).encode()[:length]).decode().rstrip("=")

    assert "xss-script-tag" in names(f"a={text}", FORM)


def test_attributes_and_comments_within_the_bounds_are_read_one_by_one():
    attributes = " ".join([f'a{number}="x {number}"' for number in range(50)])
    found = xml_reader.read(f"<r {attributes}>{'<!--x y-->' * 14}</r>")

    assert len(found) == 64
    assert {each.is_field for each in found} == {True}


@pytest.mark.parametrize("before", [0, 3_000, 20_000])
@pytest.mark.parametrize("behind", [0, 500, 30_000])
@pytest.mark.parametrize("kind", ["<!--{}-->", "<a b='{}'/>", "{}", "<![CDATA[{}]]>"])
def test_long_document_is_read_in_pieces_as_it_is_at_once(before, behind, kind):
    text = (
        f"<r>{'some words, ' * (before // 12)}<a>b c</a>{kind.format('x = y ; ' * 2_500)}{'d e ' * (behind // 4)}</r>"
    )
    whole, pieces = (xml_reader._Reader(may_be_html=True, is_only_xml=False, is_markup=False, most=4_096) for _ in "ab")
    whole.parser.Parse(text.encode(), True)
    pieces.parse(text.encode(), is_whole=True)

    assert pieces.result() == whole.result()


@pytest.mark.parametrize("before", [0, 9_000, 30_000])
def test_tag_of_very_many_attributes_is_not_parsed(before):
    found = xml_reader.read(f"<r>{'some words, ' * (before // 12)}<a {ATTRIBUTES} b='{ESCAPED}'/></r>")

    assert len([each for each in found if each.is_field]) == bool(before)
    assert SCRIPT in found[-2].text


def test_element_of_html_with_very_many_attributes_is_no_document():
    text = f"<img {ATTRIBUTES}/>"

    assert xml_reader.read(text, is_declared=False) is None
    assert xml_reader.read(text, is_declared=False, most=0) is None
    assert xml_reader.read(f"<img {ATTRIBUTES[:3_000]}/>", is_declared=False, most=0) is None
    assert xml_reader.read(f'<r {ATTRIBUTES[:3_000]}"/>', is_declared=False, most=0) is not None


def test_json_in_lines_has_few_blank_lines():
    lines = '{"a":"b c"}\n\n' * 30

    assert len(json_reader.read_lines(lines)) == 30
    assert json_reader.read_lines('{"a":"b c"}\n' + "\n" * 400 + '{"a":"b c"}') is None
    assert "xss-script-tag" in names('{"a":1}' + "\n" * 30_000 + json.dumps({"a": SCRIPT}), "application/json")


def test_lines_of_headers_end_as_lines_of_text_do():
    assert field_text(None, "a: b\r\nc-d: e").region is BodyRegion.TEXT
    assert field_text(None, "1:\x0c" * 9_000).region is Target.BODY


@pytest.mark.parametrize("line", [SCRIPT, f"x: {SCRIPT}"])
def test_attack_behind_many_lines_in_the_head_of_a_part_is_found_and_noted(line):
    body = f"--b\r\n{field('a')}\r\n" + "x:y z\r\n" * 100 + f"{line}\r\n\r\nc\r\n--b--\r\n"

    assert {NOTE, "xss-script-tag"} <= names(body, PARTS)


STRINGS = json.dumps([*["a b"] * 60, SCRIPT])
TEXTS = b64encode(f"<r>{'<a>x y</a>' * 60}<a>{ESCAPED}</a></r>".encode()).decode()
INSIDE = {
    "form": (FORM, "&".join([f"a={quote(json.dumps(['a b'] * 60))}"] * 6) + f"&b={quote(STRINGS)}"),
    "JSON": ("application/json", json.dumps([json.dumps(["a b"] * 60)] * 9 + [STRINGS])),
    "XML in base64": (FORM, f"a={TEXTS}&b={TEXTS}"),
}


@pytest.mark.parametrize("name", INSIDE)
def test_attack_in_one_of_many_strings_inside_of_values_is_found_and_noted(name):
    kind, body = INSIDE[name]

    assert {NOTE, "xss-script-tag"} <= names(body, kind)


INVALID = {
    "utf-16-le": b"\0\xdc",
    "utf-16-be": b"\xdc\0",
    "utf-32-le": b"\xff" * 4,
    "utf-32-be": b"\xff" * 4,
    "utf-7": b"+\xff",
}
MARKED = {"utf-16": "utf-16-le", "utf-32": "utf-32-le"}


@pytest.mark.parametrize("codec", [*INVALID, *MARKED])
@pytest.mark.parametrize("count", [0, 1, 20])
def test_invalid_bytes_of_a_charset_hide_nothing(codec, count):
    order = MARKED.get(codec, codec)
    coded = "with a mark".encode(codec) + INVALID[order] * count + SCRIPT.encode(order)

    assert charsets.decode(coded, codec).endswith(SCRIPT)


@given(st.sampled_from(["utf-16-le", "utf-32-be", "cp037", "cp424"]), st.binary(max_size=40))
def test_charset_is_decoded_as_by_python_if_it_is_valid_and_without_fail_if_not(codec, data):
    try:
        expected = data.decode(codec)
    except UnicodeDecodeError:
        assert isinstance(charsets.decode(data * 9, codec), str)
    else:
        assert charsets.decode(data, codec) == expected


@pytest.mark.parametrize("number", [127, 128])
def test_invalid_sequences_of_utf_7_hide_nothing_behind_them(number):
    found = charsets.decoded("+\xff" * number + "+ADw-script+AD4-", "utf-7")

    assert found.text.endswith("<script>")
    assert found.is_whole


WIDE = st.lists(
    st.sampled_from(["%u0041", "%u00zz", "%uzzzz", "%u4e2d", "%uff1c", "%U0027", "%41", "%", "u", "\\u0041", "\xe9"])
)


@given(WIDE.map("".join))
def test_wide_escapes_of_a_short_text_are_decoded_as_those_of_a_long_one(text):
    long = "x" * percent._SHORT

    decoded = percent._wide_decoded(text.encode("latin-1"))
    assert decoded == percent._wide_decoded((text + long).encode("latin-1")).removesuffix(long.encode())


@given(WIDE.map("".join), st.integers(100, 140))
def test_wide_escapes_are_decoded_as_one_by_one_up_to_the_limit(text, number):
    sent = ("%u4e2d" * number + text).replace("%U", "%u").replace("%u00", "%")
    first, *parts = sent.encode("latin-1").split(b"%u", percent._MOST_WIDE)
    expected = [first]
    for place, part in enumerate(parts, 1):
        digits, behind = part[:4], part[4:]
        if place == percent._MOST_WIDE:
            digits, behind = (part.replace(b"%u", b"?u")[at] for at in (slice(4), slice(4, None)))
        byte = percent._wide(digits)
        expected.append((b"%u" + digits if byte is None else byte) + behind)

    assert percent._wide_decoded(("%u4e2d" * number + text).encode("latin-1")) == b"".join(expected)


def test_malformed_wide_escape_hides_no_other_one():
    assert percent_decoded("%uzzzz%u003cscript%u4e2d") == "%uzzzz<script?"


@pytest.mark.parametrize("decode", [base64_decoded, form_base64_decoded])
@pytest.mark.parametrize("times", [1, 30, 2_000])
def test_base64_is_decoded_if_it_is_nothing_else(decode, times):
    text = "some words?>~ of a text" * times
    coded = b64encode(text.encode()).decode()
    is_long = len(coded) > 300

    assert decode(coded) == decode(coded.replace("+", "-").replace("/", "_")) == decode(coded.rstrip("=")) == text
    assert decode(coded + "'") is decode("'" + coded) is decode(coded[:-9] + "'" + coded[-9:]) is None
    assert (decode(coded[:8] + "\r" + coded[8:]) is None) is (decode is base64_decoded)
    assert not is_long or decode(coded.rstrip("=")[: len(text) // 3 * 4] + "A") is None


def test_base64_is_read_to_the_padding_inside_of_it():
    coded = b64encode(b"some words of").decode()

    assert coded.endswith("=")
    assert base64_decoded(coded * 30) == form_base64_decoded(coded * 30) == "some words of"


def test_runs_of_a_file_behind_many_are_all_inspected():
    run = "a" * 30
    text = f"{run}\0" * texts._MAX_RUNS + f"\0\0{run}b\0short\0{run}c\0"

    assert readable(text).count(run) == texts._MAX_RUNS + 2
    assert readable(text).endswith(f"{run}b\x02short\x02{run}c\x02")
    assert "short" not in readable(f"{run}\0short\0{run}")


@pytest.mark.skipif(not AVAILABLE, reason="no hyperscan on this platform")
@given(st.integers(0, 9_000), st.sampled_from(range(0x100)), st.integers(0, 9_000))
def test_uncommon_character_is_found_in_a_long_text(before, code, behind):
    scanner = VectorScanner.compiled([b"ab", b"<|'|\x7f|\\|"])
    text = b"x" * before + bytes([code]) + b"y" * behind
    found = scanner.scan(text + b"\nab")

    assert (0, len(text) + 3) in found
    assert (code in COMMON) == (not text.translate(None, COMMON))


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("<r>" + "<!--x-->" * 8_000 + "<a>{}</a></r>", "text/xml"),
        ("[" + "{{}}," * 12_000 + '{{"a":"{}"}}]\n[]', "application/json"),
    ],
)
def test_an_attack_behind_very_many_empty_pieces_is_found_and_noted(body, kind):
    names = {
        rule.name
        for rule in RULES.inspect(request(body.format("' or 1=1 union select password from users--"), kind), None)
    }

    assert "protocol-not-inspected" in names
    assert any(name.startswith("sqli-") for name in names)
