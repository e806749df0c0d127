"""Decoding of long texts, in C, agrees with that of short ones and with the standard library."""

import html
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gatewall.engine.waf import percent
from gatewall.engine.waf.decoding import _without_references, unquoted
from gatewall.engine.waf.percent import _bytes_decoded, percent_decoded

PIECES = ["%41", "%3D", "%0a", "%0D", "%5C", "%fF", "%2541", "%252541", "=", "\n", "\r", "\\", "a", "\xff", "_ ", "%26"]
ENCODED = "%3Cscript%3E"


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=12), st.sampled_from(["", "%", "%4"]))
def test_long_text_of_many_escapes_is_decoded_as_a_short_one(pieces, end):
    text = "".join(["%41", *pieces]) * 3_000 + end
    expected = text.encode("latin-1")
    for _ in range(3):
        expected = unquote_to_bytes(expected)

    assert percent_decoded(text).removesuffix(end) == expected.decode("latin-1").removesuffix(end)


@pytest.mark.parametrize("malformed", ["%zz", "%%", "%%41", "%\n", "%\r\n", "%=", "%u", "%u00zz", "="])
@pytest.mark.parametrize("times", [1, 5, 3_000])
@pytest.mark.parametrize("at", [0, 100, 5_000])
def test_malformed_escape_hides_nothing_in_a_long_text(malformed, times, at):
    before, behind = "%41" * at, "%41" * (5_000 - at)

    assert "<script>" in percent_decoded(before + malformed * times + ENCODED + behind)
    assert "<script>" in percent_decoded(before + malformed * times + "a\n" + ENCODED + "\n" + behind)


def test_long_text_that_begins_malformed_and_has_equals_signs_is_decoded_as_by_the_library():
    text = "%zz%3D" + "%41" * 6_000 + ENCODED
    expected = text.encode("latin-1")
    for _ in range(3):
        expected = unquote_to_bytes(expected)

    assert percent_decoded(text) == expected.decode("latin-1")


MARKS = [mark.decode("latin-1") for mark in percent._ESCAPES]
MARKED = [
    *MARKS,
    *[f"%{ord(mark):02x}" for mark in MARKS],
    "%",
    "%%",
    "%zz",
    "%3D",
    "%3d",
    "%41",
    "=",
    "\n",
    "\r",
    "%=",
    "a",
]


@given(
    st.lists(st.sampled_from(MARKED), min_size=1, max_size=9), st.integers(1, 400), st.sampled_from(["", "x" * 1_100])
)
@example(["%3D", "%41"], 400, "")
@example(["%3D", "%zz", "%41"], 400, "")
@example(["=", "%41"], 400, "")
@example(["=", "%41", MARKED[4]], 400, "")
@example(["%zz", "%41"], 400, "")
@example(["%zz", "a"], 400, "")
def test_long_text_with_malformed_escapes_and_marks_is_decoded_as_by_the_library(pieces, times, more):
    data = ("".join(pieces) * times + more).encode("latin-1")

    for is_valid in (True, False):
        assert _bytes_decoded(data, is_valid=is_valid)[0].encode("latin-1") == unquote_to_bytes(data)


REFERENCES = [
    "&",
    "&lt;",
    "&lt",
    "&#60;",
    "&#60",
    "&#x3c;",
    f"&#{'0' * 50}60;",
    f"&#{'0' * 50}60",
    "script",
    "&notit;",
    ";",
]
REFERENCES += [
    "&amp;lt;",
    "&#xffff;",
    "&#128;",
    "<",
    "<a",
    "<\xe9",
    "a" * 40,
    "0" * 40,
    "&CounterClockwiseContourIntegral;",
]


@given(st.lists(st.sampled_from(REFERENCES), max_size=12).map("".join))
def test_references_are_decoded_as_by_the_library(text):
    assert _without_references(text) == html.unescape(text).encode("latin-1", "replace").decode("latin-1")


@given(st.lists(st.sampled_from(["<", "a", "\xe9", "\xd7", "1", " "]), max_size=30).map("".join))
def test_opening_of_an_element_is_no_file_to_a_shell(text):
    first, *parts = text.split("<")

    assert unquoted(text) == first + "".join([(" " if part[:1].isalpha() else "<") + part for part in parts])


@pytest.mark.parametrize("number", range(8))
def test_soft_line_break_of_quoted_printable_swallows_nothing(number):
    text = f"{'%41' * 4_000}{'%%' * number}%\n{ENCODED}%\r{ENCODED}\n{'%41' * 100}"

    assert percent_decoded(text).count("<script>") == 2
