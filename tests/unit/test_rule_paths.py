"""Path patterns of access rules."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gatewall.engine.access_rules import paths
from gatewall.engine.access_rules.rules import PathMatch, PathPattern

SEGMENTS = st.sampled_from(["a", "b", "*", "**"])
GLOBS = st.lists(SEGMENTS, max_size=6).map(lambda segments: "/" + "/".join(segments))
PATHS = st.lists(st.sampled_from(["a", "b", "", "c"]), max_size=7).map(lambda segments: "/" + "/".join(segments))


def matches(text, path):
    kind, _, value = text.partition(" ")
    return paths.compiled(PathPattern(PathMatch(kind), value))(paths.trimmed(path))


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("exact /a", "/a", True),
        ("exact /a", "/a/", True),
        ("exact /a/", "/a", True),
        ("exact /a", "/a/b", False),
        ("exact /a", "/A", False),
        ("exact /", "/", True),
        ("exact /", "/a", False),
        ("prefix /a", "/a", True),
        ("prefix /a", "/a/b", True),
        ("prefix /a", "/ab", False),
        ("prefix /", "/anything", True),
        ("glob /a/*", "/a/b", True),
        ("glob /a/*", "/a/b/c", False),
        ("glob /a/*", "/a", False),
        ("glob /a/*", "/a/", False),
        ("glob /a/*/c", "/a//c", False),
        ("glob /a/**", "/a", True),
        ("glob /a/**", "/a/b/c", True),
        ("glob /a/**/z", "/a/z", True),
        ("glob /a/**/z", "/a/b/c/z", True),
        ("glob /a/**/z", "/a/b/c", False),
        ("glob /**/a/*/b", "/x/a/a/y/b", True),
        ("glob /a", "/a", True),
        ("glob /a", "/a/b", False),
        ("glob /**", "/", True),
        ("glob /**", "*", True),  # of the whole server (OPTIONS), which is no path: a rule for everything covers it
        ("glob /a/**", "*", False),
        ("prefix /", "*", True),
        ("glob /a*", "/ab", False),
        ("exact /caf\u00e9", "/caf\u00c3\u00a9", True),  # UTF-8, as latin-1 text
        ("exact /a.b", "/axb", False),
    ],
)
def test_pattern_covers_whole_segments(pattern, path, expected):
    assert matches(pattern, path) is expected


@given(GLOBS, PATHS)
@example("/**/a/**/b/**", "/a/c/a/b")
def test_glob_matches_what_its_regular_expression_does(glob, path):
    expression = "".join(
        "(?:/[^/]*)*" if segment == "**" else "/[^/]+" if segment == "*" else "/" + segment
        for segment in glob.rstrip("/").split("/")[1:]
    )

    path = paths.trimmed(path)

    assert matches(f"glob {glob}", path) is (re.fullmatch(expression, path if path != "/" else "") is not None)


@given(st.sampled_from(PathMatch), GLOBS, PATHS)
def test_every_path_of_a_pattern_is_below_its_literal_start(kind, value, path):
    pattern, path = PathPattern(kind, value), paths.trimmed(path)

    if paths.compiled(pattern)(path):
        start = paths.literal_start(pattern)
        assert start in set(paths.ancestors(path, paths.depth(start)))


@pytest.mark.parametrize(
    ("path", "most", "expected"),
    [
        ("/", 3, ["/"]),
        ("/a", 3, ["/", "/a"]),
        ("/a/b/c", 3, ["/", "/a", "/a/b", "/a/b/c"]),
        ("/a/b/c", 2, ["/", "/a", "/a/b"]),
        ("/a/b/c", 0, ["/"]),
    ],
)
def test_ancestors_are_the_path_up_to_each_segment(path, most, expected):
    assert list(paths.ancestors(path, most)) == expected


def test_long_glob_takes_no_exponential_time():
    assert not matches("glob /" + "**/a/" * 60 + "z", "/" + "a/" * 2000 + "b")
