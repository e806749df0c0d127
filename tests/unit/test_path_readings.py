"""Readings of a path: every spelling that some server resolves to a path has that path among its readings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewall.engine.paths import MAX_BYTES, MAX_READINGS, possible_paths, readings_of

MARKS = "/.;%\\"


@pytest.mark.parametrize(
    "raw",
    [
        "/public/../admin",
        "/public/%2e%2e/admin",
        "/public/%252e%252e/admin",
        "/public/%25252e./admin",
        "/public/..;/admin",
        "/public/..;a=b/admin",
        "/public\\..\\admin",
        "/public%5c..%5cadmin",
        "/public%2f..%2fadmin",
        "//admin",
        "/./admin",
        "/admin;jsessionid=1",
        "/;a/admin",
        "/%61dmin",
        "/public//..//../admin",
        "//host/admin",
        "///host/admin",
        "/\\host/admin",
        "/admin%3Fx",
        "/admin%2523x",
        "/admin%00.png",
        "/x\\y/../admin",  # a backslash is a letter to nginx and Apache on Linux
    ],
)
def test_spelling_can_be_read_as_the_plain_path(raw):
    assert "/admin" in readings_of(raw)


@pytest.mark.parametrize(
    ("raw", "reading", "by"),
    [
        ("/public/a//../../admin", "/public/admin", "RFC 3986 5.2.4 and the WHATWG URL: slashes are not merged"),
        ("/public;%2f../admin", "/public/admin", "Tomcat: parameters go before the path is decoded"),
        ("/files/a%2Fb", "/files/a%2Fb", "Envoy, Go: an escaped slash is a letter"),
        ("/a%20b/c%2fd%5Ce", "/a b/c%2fd\\e", "the rest is decoded then"),
        ("/q/p/%252e%252e/../%252e%252e/admin", "/q/admin", "a proxy decodes and resolves, and so does the server"),
        ("/a%u002fb", "/a/b", "old IIS"),
        ("/a\\..//b", "/a\\..//b", "as it was sent"),
    ],
)
def test_readings_of_each_kind_of_server_are_known(raw, reading, by):
    assert reading in readings_of(raw)


@given(st.text(alphabet="ab/%.;\\2f5ce", max_size=12))
def test_the_fast_path_gives_the_same_readings(text):
    path = "/" + text

    slow = possible_paths(path.encode("latin-1"))
    assert readings_of(path) == (slow and tuple(each.decode("latin-1") for each in slow))


@given(st.text(alphabet="abc-_~!$&'()*+,=:@.", min_size=1).filter(lambda text: text.strip(".")))
def test_plain_path_has_one_reading(segment):
    assert readings_of(f"/{segment}/x/.well-known") == (f"/{segment}/x/.well-known",)


@pytest.mark.parametrize("mark", ["/.;%2f", "/..;a%5c%252f", "/./a;x%2f//..\\%255c", "/%25252e\\..//"])
@pytest.mark.parametrize("length", [40, 400, 16_384])
def test_readings_are_bounded(mark, length):
    found = readings_of((mark * length)[:length])

    assert found is None or (len(found) <= MAX_READINGS and sum(map(len, found)) <= MAX_BYTES)


@given(st.text(alphabet=MARKS + "a2fec5", max_size=40))
def test_readings_are_closed(text):
    found = readings_of("/" + text)

    for path in (found or ())[:20]:
        assert set(readings_of(path)) <= set(found)


def test_first_reading_is_the_path_decoded_once():
    assert readings_of("/a%20b;c/%2561")[0] == "/a b;c/%61"


def test_path_without_its_first_slash_is_read_with_it():
    assert possible_paths(b"*") == (b"/*",)


def test_path_has_too_many_readings_before_it_is_decoded():
    assert possible_paths(b"/" + b"\\..;a//./" * 20_000) is None
