"""Bounds of the work for a hostile request change no result: early ends of scans, decoders in C, fewer values."""

import json
import re
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gatewall.engine.model import AccessRequest
from gatewall.engine.waf.body import json_reader, multipart, references, xml_reader
from gatewall.engine.waf.body.texts import field, field_text
from gatewall.engine.waf.decoding import form_base64_decoded, is_printable
from gatewall.engine.waf.judge import COMPILED_NOW, builtin_rules
from gatewall.engine.waf.matcher import RuleSet
from gatewall.engine.waf.rules import THRESHOLD, BodyRegion, Target
from gatewall.engine.waf.scanning import OneByOne
from gatewall.engine.waf.values import MAX_FORMED_OF_MANY, Values
from gatewall.engine.waf.vector import AVAILABLE, VectorScanner
from tests.unit.body_requests import FORM, PARTS, form_data, request, texts

RULES = RuleSet(builtin_rules(), COMPILED_NOW)
SCRIPT = "<script>alert(1)</script>"
NOTE = "protocol-not-inspected"
PATTERNS = (b"<a", b"bc", b"x$")
SCANNERS = [OneByOne, *([VectorScanner.compiled] if AVAILABLE else [])]
WORDS = "some words of a text\n"


def names(asked: AccessRequest, stop_at: int = 0):
    return {rule.name for rule in RULES.inspect(asked, None, stop_at)}


@pytest.mark.parametrize("made", SCANNERS)
def test_scan_ends_at_the_first_match_that_is_enough(made):
    scanner = made(PATTERNS)
    text = b"bc bc <a bc x"

    assert len(scanner.scan_until(text, lambda _hit: True)) == 1
    assert (
        sorted(scanner.scan_until(text, lambda _hit: False)) == sorted(scanner.scan(text)) == [(0, 8), (1, 2), (2, 13)]
    )
    assert [number for number, _ in scanner.scan_until(b"bc", lambda _hit: False)] == [1]
    assert [number for number, _ in scanner.scan_until(b"." * 5_000 + b"<a", lambda _hit: False)] == [0]


@pytest.mark.parametrize("made", SCANNERS)
def test_scan_that_ends_early_has_its_own_state_in_each_thread(made):
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(made(PATTERNS).scan_until, b"x bc", lambda _hit: True).result() == [(1, 4)]


def test_attack_in_the_65th_string_of_a_list_is_found_and_noted():
    strings = json.dumps([f"text {number}" for number in range(65)] + [SCRIPT])

    assert {NOTE, "xss-script-tag"} <= names(request(strings, "application/json"))


def test_scan_of_a_long_text_ends_where_the_matches_suffice_and_the_rest_is_noted():
    body = WORDS * 1_000 + SCRIPT + WORDS * 1_000 + "../../etc/passwd"
    asked = request(body, "text/plain")

    assert {"xss-script-tag", NOTE} <= names(asked, THRESHOLD)
    assert "xss-script-tag" in names(asked)
    assert NOTE not in names(request(WORDS * 2_000, "text/plain"), THRESHOLD)


def test_rule_whose_targets_the_operator_extends_to_bodies_inspects_texts():
    scanner = next(rule for rule in builtin_rules() if rule.name == "scanner-user-agent")
    extended = RuleSet([replace(scanner, targets=(*scanner.targets, Target.BODY))], COMPILED_NOW)
    asked = request(WORDS * 20 + "sqlmap/1.0", "text/plain")

    assert [rule.name for rule in extended.inspect(asked, None)] == ["scanner-user-agent"]
    assert RuleSet([scanner], COMPILED_NOW).inspect(asked, None) == ()


@given(st.text(st.characters(max_codepoint=255), max_size=20), st.sampled_from([0, 300]))
def test_printable_text_is_recognized_as_by_python(text, more):
    assert is_printable(text + "a" * more) is (text + "a" * more).isprintable()


NAMES = st.text('ab"\\;= \r\nname:-fi', max_size=12)


@given(NAMES, NAMES, st.sampled_from(["", "text/plain", "a/b; charset=utf-8"]), st.sampled_from(["", "\r\n"]))
@example("content-disposition", "", "", "")
@example("a", "b", "text/plain", "\r\n")
def test_head_as_browsers_write_it_is_read_as_any_other(name, file, media_type, end):
    file = f'; filename="{file}"' if file else ""
    head = f'Content-Disposition: form-data; name="{name}"{file}' + (
        f"\r\nContent-Type: {media_type}" * bool(media_type)
    )
    part = f"{head}\r\n\r\n{SCRIPT}{end}".removesuffix("\n")
    usual = multipart._usual_part(part)

    assert usual is None or usual == multipart._part(part)


def test_heads_of_browsers_are_recognized():
    head = 'Content-Disposition: form-data; name="a-b"; filename="c d.txt"\r\nContent-Type: text/plain'

    assert multipart._usual_part(f"{head}\r\n\r\nx")
    assert multipart._usual_part('Content-Disposition: form-data; name="a"\r\n\r\nx')
    assert multipart._usual_part(f'{head}; charset="x"\r\n\r\nx') is None
    assert multipart._usual_part("x" * 9) is None


def test_parts_behind_many_with_unusual_heads_are_inspected_and_noted():
    odd = ['Content-Disposition: form-data; name="a"; x=y'] * multipart.MAX_UNUSUAL
    few, _ = form_data(*[(head, "some words") for head in odd])
    many, _ = form_data(*[(head, "some words") for head in [*odd, odd[0]]], (odd[0], SCRIPT))

    assert NOTE not in names(request(few, PARTS))
    assert {NOTE, "xss-script-tag"} <= names(request(many, PARTS))


@pytest.mark.parametrize(
    ("text", "decoded", "is_valid"),
    [
        ('a"b', "a\fb", True),
        (r"\u003ca \"b\" \\n", '<a "b" \\n', True),
        (r'\u003ca" \/b', "<a\f /b", True),
        (r"\u003ca \q \u003cb", "<a q <b", False),
        (r"\q \q \u003cb", r"\q \q \u003cb", False),
        ("".join(map(chr, range(1, 9))) + r"\u003c", "".join(map(chr, range(1, 9))) + r"\u003c", False),
        (r'a\\"b\\\"c\\\\"d', 'a\\\fb\\"c\\\\\fd', True),
        (r'\\"\\\"' * 100, '\\\f\\"' * 100, True),
    ],
)
def test_escapes_of_json_are_decoded_as_one_text(text, decoded, is_valid):
    assert json_reader._unescaped(text) == (decoded, is_valid)


def test_rest_of_json_with_an_invalid_escape_is_inspected_as_sent_as_well():
    rest = json.dumps([WORDS] * 2_000)[:-1]

    assert [each.region for each in json_reader.read_loosely(rest + r',"\u003ca"]')].count(BodyRegion.TEXT) == 1
    assert [each.region for each in json_reader.read_loosely(rest + r',"\q\u003ca"]')].count(BodyRegion.TEXT) == 2


ELEMENT = "<b>some words</b>"


@pytest.mark.parametrize(
    ("rest", "decoded"),
    [
        ("<c><![CDATA[<script>]]>&lt;</c>", "<c><![CDATA[<script>]] <</c>"),
        ("<c>&#60;script&#62; \xc3\xa9</c>", "<c><script> \xc3\xa9</c>"),
        ("<c>&#60;script \xe9 \x7f</c>", "<c><script \xe9 \x7f</c>"),
        ("<c>&x;&#60;script</c>", "<c> x;<script</c>"),
        ("<c>&x;&y;&z;&#60;script</c>", "<c>&x;&y;&z;&#60;script</c>"),
        ("<c>&lt;" + "".join(map(chr, range(128, 256))), "<" + "".join(map(chr, range(128, 256)))),
    ],
)
def test_rest_of_a_long_document_is_one_text_with_its_markup_and_references_decoded(rest, decoded):
    found = xml_reader.read("<a>" + ELEMENT * 600 + rest, is_whole=False)

    assert found is not None
    assert [each.region for each in found].count(BodyRegion.TEXT) == 1
    assert decoded in found[-2].text
    assert len([each for each in found if each.is_field]) == xml_reader.MAX_OF_MANY


REFERENCES = {"&lt;": "<", "&#60;": "<", "&#x3c;": "<", "&amp;": "&", "&quot;": '"', "&#0000000233;": "\xe9"}
PIECES = [*REFERENCES, "<a b='c'>", "text ", "\xe9", "\u65e5", "x" * 300]


@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_all_references_in_a_part_of_a_document_are_decoded(text):
    expected = re.sub("&[^;]*;", lambda found: REFERENCES[found[0]], text)

    assert references.unescaped(text.encode()).encode("latin-1").decode() == expected


@pytest.mark.parametrize("before", ["", "\u65e5", "a" * 30])
@pytest.mark.parametrize("reference", REFERENCES)
def test_references_that_are_decoded_are_few_and_whole(before, reference):
    text = (before + reference) * 9_000
    found = references.unescaped(text.encode()).encode("latin-1").decode()
    decoded = len(found.removesuffix("".join(found.partition(before + reference)[1:])))

    assert found.endswith(before + reference)
    assert 16_384 <= decoded // len(before + "x") * (len(reference) - 1) <= 21_000


def test_base64_of_a_form_is_decoded_and_other_text_is_not():
    coded = "U29tZSB3b3Jkcy4r" * 900

    assert form_base64_decoded(coded.replace("+", " ") + "\r") == "Some words.+" * 900
    assert form_base64_decoded("some words " * 2_000) is None
    assert form_base64_decoded(coded + "'") is None
    assert form_base64_decoded("U29t ZQ" * 3) is None


def test_attack_in_long_base64_is_found_and_the_text_noted_as_not_inspected():
    coded = b64encode(("word " * 4_000 + SCRIPT).encode()).decode()
    in_lines = "\r\n".join(coded[at : at + 76] for at in range(0, len(coded), 76))

    assert {NOTE, "xss-script-tag"} <= names(request(f"a={coded}", FORM))
    assert {NOTE, "xss-script-tag"} <= names(request(in_lines, "text/plain"))


def test_long_values_beyond_the_bound_are_texts():
    values = Values()
    value = field(None, "1' or 1=1-- " * 100)
    regions = [values.judged(value).region for _ in range(6)]

    assert field_text(None, value.text).region is regions[0] is Target.BODY
    assert regions[-1] is BodyRegion.TEXT
    assert values.judged(field(None, "short")).region is Target.BODY


def test_text_of_very_many_formatting_elements_is_formatted():
    assert field_text(None, "<b>x</b> " * 90).region is BodyRegion.TEXT
    assert "xss-script-tag" in names(request("a=" + "<b>x</b> " * 90 + SCRIPT, FORM))


def test_further_forms_of_fewer_values_are_inspected_where_there_are_many_arguments():
    many = Values()
    many.limit_forms()

    assert many.formed_left == MAX_FORMED_OF_MANY
    assert "xss-script-tag" in names(request("&".join(f"a{n}=%26lt;script%26gt;" for n in range(200)), FORM))
    assert len(texts("&".join(f"a{n}=x y" for n in range(200)), FORM)) < 60
