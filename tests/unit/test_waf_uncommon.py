"""Patterns that are searched only in texts with an uncommon character match no other texts.

The proof for the built-in ones walks the tree that Python's own parser makes of each: it shares nothing with
the reader under test.
"""

import re
from re import _constants as kind
from re import _parser as parser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatewall.engine.waf.patterns import compile_line_search
from gatewall.engine.waf.scanning import OneByOne
from gatewall.engine.waf.some_patterns import PATTERNS
from gatewall.engine.waf.uncommon import COMMON, split_up
from gatewall.engine.waf.vector import AVAILABLE, CompiledNow, VectorScanner

needs_the_engine = pytest.mark.skipif(not AVAILABLE, reason="hyperscan is not available on this machine")
EVERY_BYTE = frozenset(range(256))
UNCOMMON = EVERY_BYTE.difference(COMMON)
ANYWHERE, ELSEWHERE = split_up(PATTERNS)

_WORD = frozenset(each for each in range(128) if chr(each).isalnum() or each == ord("_"))
_CATEGORIES = {
    kind.CATEGORY_WORD: _WORD,
    kind.CATEGORY_DIGIT: frozenset(b"0123456789"),
    kind.CATEGORY_SPACE: frozenset(b" \t\n\r\f\v"),
    kind.CATEGORY_NOT_WORD: EVERY_BYTE - _WORD,
    kind.CATEGORY_NOT_DIGIT: EVERY_BYTE - frozenset(b"0123456789"),
    kind.CATEGORY_NOT_SPACE: EVERY_BYTE - frozenset(b" \t\n\r\f"),
}


def is_proven(pattern):
    """Return whether every match of the pattern contains an uncommon byte."""
    return in_a_row(parser.parse(pattern.decode("latin-1")))


def in_a_row(items):
    return any(in_item(name, what) for name, what in items)


def in_item(name, what):
    if name in {kind.LITERAL, kind.NOT_LITERAL, kind.ANY, kind.IN}:
        return bytes_of(name, what) <= UNCOMMON
    if name is kind.BRANCH:
        return all(in_a_row(each) for each in what[1])
    if name is kind.SUBPATTERN:
        return in_a_row(what[3])
    if name in {kind.MAX_REPEAT, kind.MIN_REPEAT}:
        return what[0] > 0 and in_a_row(what[2])
    assert name is kind.AT, name
    return False


def bytes_of(name, what):
    """Return every byte that the item may match, in either case."""
    if name is kind.LITERAL:
        return either_case({what})
    if name is not kind.IN:
        return EVERY_BYTE
    found = set()
    for inner, each in what:
        if inner is kind.NEGATE:
            return EVERY_BYTE - bytes_of(kind.IN, what[1:])
        found |= {
            kind.LITERAL: lambda each=each: {each},
            kind.RANGE: lambda each=each: set(range(each[0], each[1] + 1)),
            kind.CATEGORY: lambda each=each: set(_CATEGORIES[each]),
        }[inner]()
    return either_case(found)


def either_case(found):
    return frozenset(found) | {ord(chr(each).swapcase()) for each in found if each < 128}


def test_every_built_in_pattern_that_waits_for_an_uncommon_character_is_proven_to_need_one():
    assert [number for number, pattern in ELSEWHERE if not is_proven(pattern)] == []
    assert len(ELSEWHERE) > len(PATTERNS) / 2, "the point of it"


def test_no_built_in_alternative_is_lost():
    for number, pattern in enumerate(PATTERNS):
        parts = [part.removeprefix(b"(?i)") for each, part in ANYWHERE + ELSEWHERE if each == number]
        assert len(b"|".join(parts)) == len(pattern.removeprefix(b"(?i)"))


@pytest.mark.parametrize("pattern", [b"a", b"<?", b"<|a", b"[<a]", b"(?:<)*", b"<{0,2}", b"[^a]", rb"\W", b".", b"^$"])
def test_proof_fails_for_a_pattern_that_needs_none(pattern):
    assert not is_proven(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        b"<", b"a<", b"a*<", b"<+", b"<{2}", b"<{1,}", b"<{1,3}?", b"<+?", b"[<>]", b"[!-&]", rb"\x3c", rb"\$", rb"\t",
        rb"[\x02-\x08]", b"(?:<|'a)", b"(<)b", b"(?i:<)", b"(?i)<A", b"^a<$", rb"\b<\B", rb"[\]]", b"[<-]?<",
        b"]", b"}",
    ],
)  # fmt: skip
def test_pattern_that_needs_an_uncommon_character_waits_for_one(pattern):
    assert split_up([b"a", pattern]) == ([(0, b"a")], [(1, pattern)])
    assert is_proven(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        b"a", b"", b"<?", b"<*", b"<*?", b"<{0,2}", b"<{0}", b"[<a]", b"[^a]", rb"[^\w]", b"(?:<|a)", b"(?:<)?", b".",
        b"^", rb"\s", rb"[\s<]", b"[<-a]", b"[!-~]", b"[<-]?", b"(?i)a", rb"\x41", rb"[\x30-\x3c]", b"[<-]{0}-",
        rb"\xe4", "ä".encode("latin-1"), rb"\x01", rb"\+",
    ],
)  # fmt: skip
def test_pattern_that_needs_no_uncommon_character_is_searched_in_all_texts(pattern):
    assert split_up([pattern]) == ([(0, pattern)], [])


@pytest.mark.parametrize(
    "pattern",
    [
        b"(?s)<", b"a(?i)<", b"(?=<)", b"(?P<a>b)", b"(?!<)a", b"<)", b"(<", b"[<", b"[]<]", b"[^]<]", b"[[:punct:]]",
        b"[[.<.]]", b"[[=<=]]", rb"\Q<\E", rb"\1<", rb"\x{3c}", rb"\x3", rb"\xzz", rb"\p{P}", rb"\v", rb"\A<", b"<\\",
        b"*<", b"<**", b"<++", b"<{,2}", b"<{a}", b"<{1,a}", b"<{1", b"{<", b"<{2}{0}", rb"[\b<]", rb"[!-\d<]",
        rb"\xb2<{\xb2}",
        b"(?:" * 2000 + b"<" + b")" * 2000, "<\\ä".encode("latin-1"), "<{²}".encode("latin-1"),
    ],
)  # fmt: skip
def test_pattern_that_is_not_fully_understood_is_searched_in_all_texts(pattern):
    assert split_up([pattern]) == ([(0, pattern)], [])


def test_alternatives_of_a_pattern_are_split():
    assert split_up([b"(?i)a|<b|c(?:<|d)|[|<]"]) == ([(0, b"(?i)a|c(?:<|d)")], [(0, b"(?i)<b|[|<]")])
    assert split_up([b"a|<", b"b"]) == ([(0, b"a"), (1, b"b")], [(0, b"<")])


SHORT = st.recursive(
    st.sampled_from(["a", "b", "<", "'", r"\x3c", "[a<]", "[<']", "[^a]", r"\w", r"\W", "^", "$", r"\b", "."]),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda each: f"(?:{'|'.join(each)})"),
        st.tuples(inner, st.sampled_from(["?", "*", "+", "{0,2}", "{2}", "{1,}"])).map(
            lambda each: f"(?:{each[0]}){each[1]}"
        ),
    ),
    max_leaves=6,
)
WHOLE = st.tuples(st.sampled_from(["", "(?i)"]), st.lists(SHORT, min_size=1, max_size=3)).map(
    lambda each: (each[0] + "|".join(each[1])).encode()
)


@pytest.mark.no_cover
@settings(max_examples=200)
@given(WHOLE, st.text("abA \n", max_size=6), st.text("ab<' \n", max_size=6))
def test_parts_match_where_the_pattern_does_and_those_that_wait_need_an_uncommon_character(pattern, common, text):
    anywhere, elsewhere = split_up([pattern])

    for _, part in elsewhere:
        assert compile_line_search(part)(common.encode()) < 0
    assert (compile_line_search(pattern)(text.encode()) >= 0) == any(
        compile_line_search(part)(text.encode()) >= 0 for _, part in anywhere + elsewhere
    )


@needs_the_engine
@settings(max_examples=25, deadline=None)
@given(st.sampled_from(ANYWHERE + ELSEWHERE).flatmap(lambda each: st.tuples(st.just(each), matches_of(each[1]))))
def test_every_match_of_a_built_in_pattern_is_found(case):
    (number, part), text = case
    if compile_line_search(part)(text) >= 0:  # Python's re has other ends of a line and a wider white space
        assert text.translate(None, COMMON) or (number, part) not in ELSEWHERE
        found = [each for each, _ in BUILTIN().scan(text)]
        assert number in found
        assert sorted(found) == [each for each, _ in OneByOne(PATTERNS).scan(text)]


def matches_of(pattern):
    return st.from_regex(re.compile(pattern, re.MULTILINE))


PAIRS = (b"<b", b"ab", b"ab|<b", b"b<", b"^a")


def BUILTIN():  # noqa: N802 - compiled when it is first wanted
    found = []
    CompiledNow().want(PATTERNS, found.append)
    return found[0]


@needs_the_engine
@pytest.mark.parametrize("patterns", [[b"<b"], [b"ab"], [b"<b", b"ab"], [b"ab|<b", b"b<"]])
def test_databases_are_kept_as_they_were_made(patterns):
    made = VectorScanner.compiled(patterns)
    kept = VectorScanner.loaded(made.dumped())

    for text in (b"", b"ab", b"x<b", b"ab <b", b"b<b", b"ab\n<b<"):
        plain = {number for number, _ in OneByOne(patterns).scan(text)}
        assert sorted(number for number, _ in made.scan(text)) == sorted(plain)
        assert sorted(made.scan(text)) == sorted(kept.scan(text))


@needs_the_engine
@given(st.text("ab<. \n", max_size=30).map(str.encode))
def test_one_pass_over_a_text_finds_the_same_as_two(text):
    scanner = VectorScanner.compiled(PAIRS)
    apart = VectorScanner(scanner._anywhere, scanner._elsewhere)

    assert sorted(scanner.scan(text)) == sorted(apart.scan(text))
    assert sorted(scanner.scan_until(text, lambda _hit: False)) == sorted(apart.scan_until(text, lambda _hit: False))
    assert len(scanner._together) == 1


@needs_the_engine
def test_the_first_of_two_matches_of_one_pattern_is_reported():
    scanner = VectorScanner.compiled([b"ab|<b"])

    assert scanner.scan(b"<b ab") == [(0, 2)]
    assert scanner.scan(b"ab <b") == [(0, 2)]
