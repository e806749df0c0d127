"""The text of a policy document: written values are read back unchanged, and invalid documents are refused."""

import json
import tracemalloc

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from policies.document import parsing
from policies.document.limits import MAX_BYTES, Unreadable
from policies.document.parsing import NotANumber, Place, parse
from policies.document.writing import yaml_of

HARD = """~|null|NO|yes|1|0x1f|1e3|.5|-|- a|a: b|#a|*a|&a|!a|%a|@a|`a| a|a |a #b|<<|=|?|? a|[|{|2026-01-31|12:30|1_000
\\d+|it's \\b|203.0.113.0/24|2001:db8::/32|2001:db8::1|::/0|/a/*/b|/a:b|a,b|\u2028|\x85|\ufeff|\U0001f600"""
TEXTS = st.text(st.characters(codec="utf-8"), max_size=40) | st.sampled_from(
    ["", "a\nb", *HARD.replace("\n", "|").split("|")]
)
PLAIN = st.none() | st.booleans() | st.integers(-(10**17), 10**17) | TEXTS
VALUES = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4), max_leaves=8
)


@given(st.dictionaries(TEXTS, VALUES, min_size=1, max_size=5))
def test_a_written_document_is_read_back(values):
    text = yaml_of(values)

    assert parse(text.encode())[0] == values
    assert yaml_of(parse(text.encode())[0]) == text


@given(st.dictionaries(TEXTS, VALUES, min_size=1, max_size=5))
def test_json_is_read_as_it_is(values):
    assert parse(json.dumps(values).encode())[0] == values
    assert parse(json.dumps({"a": "\u00e9 \U0001f600 \\ud83d"}, ensure_ascii=False).encode())[0] == {
        "a": "\u00e9 \U0001f600 \\ud83d"
    }


@given(st.dictionaries(st.sampled_from("abc"), TEXTS, min_size=1))
def test_other_readers_of_yaml_read_the_same_texts(values):
    assert yaml.safe_load(yaml_of(values)) == values


@pytest.mark.parametrize("text", ["\u1c89 new in Unicode 16", "\\b\u1c89", "\U0001f9e0", "\u0378 of no version"])
def test_characters_are_written_alike_in_every_unicode_version(text):
    quote = "'" if "\\" in text else '"'

    assert yaml_of({"a": text}) == f"a: {quote}{text}{quote}\n"
    assert parse(yaml_of({"a": text}).encode())[0] == {"a": text}


@pytest.mark.parametrize("character", [*"\0\x85\xa0\xad\u2028\u202e\u2066\ufeff\ue000\U000e0041\U0010ffff"])
def test_invisible_characters_are_escaped(character):
    written = yaml_of({"a": f"\\{character}"})

    assert written.isascii()
    assert parse(written.encode())[0] == {"a": f"\\{character}"}


def test_the_layout_is_like_handwritten_yaml():
    values = {
        "version": 1,
        "rows": [
            {"name": "a b", "paths": [{"match": "prefix", "value": "/a"}], "days": ["mon", "tue"], "end": None},
            {"pattern": "(?i)\\bit's", "flag": True, "empty": {}, "inner": {"b": [], "a": "NO"}},
        ],
        "none": [],
    }

    assert yaml_of(values) == (
        "version: 1\n"
        "rows:\n"
        "- name: a b\n"
        "  paths:\n"
        "  - match: prefix\n"
        "    value: /a\n"
        "  days: [mon, tue]\n"
        "  end: null\n"
        "- pattern: '(?i)\\bit''s'\n"
        "  flag: true\n"
        "  empty: {}\n"
        "  inner:\n"
        "    b: []\n"
        '    a: "NO"\n'
        "none: []\n"
    )


def test_every_value_has_its_line_and_column():
    values, place = parse(b"version: 1\nrows:\n- {a: x,\n   b: [y]}\n")

    assert values == {"version": 1, "rows": [{"a": "x", "b": ["y"]}]}
    assert at(place, "rows", 0, "b", 0) == (4, 8)
    assert (place.keys["rows"].line, place.keys["rows"].column) == (2, 1)


def at(place, *path):
    for part in path:
        place = place.inner[part]
    assert isinstance(place, Place)
    return place.line, place.column


SCALARS = {
    "~": None,
    "": None,
    "null": None,
    "true": True,
    "False": False,
    "12": 12,
    "-3": -3,
    "007": 7,
    "NO": "NO",
    "yes": "yes",
    "1.5": NotANumber("1.5"),
    ".inf": NotANumber(".inf"),
    "1e3": NotANumber("1e3"),
    "0x1f": "0x1f",
    "12:30": "12:30",
    "2026-01-31": "2026-01-31",
    '"1"': "1",
    "'true'": "true",
    "|-\n  a\n  b": "a\nb",
    "1" * 30: NotANumber("1" * 30),
}


@pytest.mark.parametrize("text", SCALARS)
def test_a_scalar_is_read_by_the_core_schema(text):
    assert parse(f"a: {text}\n".encode())[0] == {"a": SCALARS[text]}


REFUSED = {
    "too large": (b"a" * (MAX_BYTES + 1), "more than 8 MiB", 1, 1),
    "empty": (b"", "empty", 1, 1),
    "only a comment": (b"# nothing\n", "empty", 1, 1),
    "two documents": (b"a: 1\n---\nb: 2\n", "second document", 2, 1),
    "an alias": (b"a: 1\nb: *a\n", "alias", 2, 4),
    "an anchor": (b"a: &x [1]\n", "anchors", 1, 4),
    "an alias as a key": (b"? *a\n: 1\n", "alias", 1, 3),
    "a bomb": (b"a: &a [x,x]\nb: &b [*a,*a]\n", "anchors", 1, 4),
    "a tag": (b"a: !!python/object:os.system x\n", "tags", 1, 4),
    "a merge key": (b"a:\n  <<: {b: 1}\n", "merge", 2, 3),
    "a duplicate key": (b"a: 1\nb: 2\na: 3\n", "twice", 3, 1),
    "a duplicate key in JSON": (b'{"a": 1, "a": 2}', "twice", 1, 10),
    "a list as a key": (b"? [a]\n: 1\n", "key is a text", 1, 3),
    "not UTF-8": (b"a: 1\nb: \xff\n", "UTF-8", 2, 4),
    "UTF-16": ("a: 1".encode("utf-16"), "UTF-8", 1, 1),
    "NUL": (b"a: 1\nb: x\0y\n", "U+0000", 2, 5),
    "a control character": (b"a: \x07\n", "U+0007", 1, 4),
    "a tab as indentation": (b"a:\n\tb: 1\n", "not YAML", 2, 1),
    "an open list": (b"a: [1,\n", "not YAML", 2, 1),
    "nested deeply": (b"a: " + b"[" * 100, "too deeply", 1, 15),
    "nested very deeply": (b"[" * 1_000_000, "too deeply", 1, 13),
    "blocks nested deeply": (b"- " * 5_000, "too deeply", 1, 25),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_invalid_document_is_refused_with_line_and_column(case):
    data, words, line, column = REFUSED[case]

    with pytest.raises(Unreadable) as refused:
        parse(data)

    assert words in refused.value.message
    assert (refused.value.line, refused.value.column) == (line, column)


def refusal_of(data):
    with pytest.raises(Unreadable) as refused:
        parse(data)
    return refused.value.message, refused.value.line, refused.value.column, refused.value.pointer


def test_too_many_values_are_refused_at_their_section(monkeypatch):
    monkeypatch.setattr(parsing, "MAX_VALUES", 100)
    words = "the document has more than 100 values; long lists of networks belong to a list subscription"

    assert len(parse(b"a: [" + b"0," * 90 + b"]")[0]["a"]) == 90
    assert refusal_of(b"version: 1\na: [0]\nb: [" + b"0," * 100 + b"]") == (words, 3, 4, "/b")
    assert refusal_of(b'{"a": 1, "b/~": [' + b"0," * 99 + b"0]}") == (words, 1, 17, "/b~1~0")
    assert refusal_of(b"a:\n" + b"- {ip: x}\n" * 40) == (words, 2, 1, "/a")
    assert refusal_of(b"[" + b"0," * 100 + b"]") == (words, 1, 200, "")


def test_a_document_that_is_too_large_is_refused_at_the_section_in_which_it_becomes_so():
    words = "the document has more than 8 MiB; long lists of networks belong to a list subscription"
    large = b"- ip: 192.0.2.1\n" * (MAX_BYTES // 16 + 1)

    assert refusal_of(b"version: 1\nblocklist:\n" + large + b"countries: []\n") == (words, 2, 1, "/blocklist")
    assert refusal_of(b"#" * (MAX_BYTES + 1)) == (words, 1, 1, "")


def test_the_values_of_a_large_document_take_little_memory():
    data, number = b"a: [" + b"0," * 20_000 + b"]", 20_000

    tracemalloc.start()
    try:
        parse(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak / number < 220  # bytes of a value with its place; times ``MAX_VALUES``


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_at_a_place(data):
    try:
        parse(data)
    except Unreadable as error:
        refused = error
    else:
        return
    assert min(refused.line, refused.column) >= 1
