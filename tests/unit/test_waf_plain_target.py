"""The fast path for plain URIs extracts the same texts as the general path."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewall.engine.hosts import Authority
from gatewall.engine.waf.plain_target import Asked, plain_texts
from gatewall.engine.waf.reading import add_referer, add_target
from gatewall.engine.waf.values import MAX_CODED, MAX_FORMED, MAX_INSPECTED, MAX_SIGNS, VALUE_COST, Values

HOST = Authority.parse("office.example").host
PIECES = [
    *(
        "a",
        "static",
        "app.js",
        "v12",
        "%41",
        "\\",
        "'",
        "<b",
        "x" * 300,
        "PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg",
        "=" * 12,
    ),
    *("?", "&", "=", "/", "+", ";", ".", "..", ":", "@", ",", "__class__", "next=//evil.example", "url=https://a.b/"),
    *("eyJhIjoxMjM0NX0.eyJhIjoxfQ.abc", "q=weekly+report", "a-b=c-d", "a=1", "x=y z", "\xe4", "*", "$", "{", "[", "*/"),
    "&".join(f"n{number}=x-{number}" for number in range(45)),
]
uris = st.lists(st.sampled_from(PIECES), max_size=8).map(lambda pieces: "/" + "".join(pieces))
referers = st.none() | st.sampled_from(["https://office.example/", "https://elsewhere.example/", "", "plain"]).flatmap(
    lambda begin: st.lists(st.sampled_from(PIECES), max_size=4).map(lambda pieces: begin + "".join(pieces))
)


@given(uri=uris, host=st.sampled_from([HOST, None]), referer=referers)
def test_texts_of_a_plain_target_are_those_of_any(uri, host, referer):
    asked = Asked(uri, host, referer, "")
    found = plain_texts(asked)
    values = Values()
    add_target(values, asked)
    if referer is not None:
        add_referer(values, asked, referer)

    if found is not None:
        assert found == [text for _, _, text in values]
        left = MAX_INSPECTED - sum(len(text) + VALUE_COST for text in found)
        assert left == values.left or (left < 0 and values.is_noted)
        bounds = values.signs_left, values.formed_left, values.coded_left
        assert bounds == (MAX_SIGNS, MAX_FORMED, MAX_CODED)
        assert left < 0 or not (values.is_noted or values.has_texts)


PLAIN = [
    "/",
    "/static/css/part-2.7.css",
    "/api/v2/items/42?fields=id,name&cursor=7",
    "/projects/42/board?tab=open&sort=-updated&q=weekly+report",
]


@pytest.mark.parametrize("uri", PLAIN)
def test_targets_of_ordinary_pages_are_plain(uri):
    assert plain_texts(Asked(uri, HOST, "https://office.example/projects?tab=all", "")) is not None


NOT_PLAIN = {
    "an encoding": ("/%61", None),
    "arguments in the path": ("/a&b=c", None),
    "base64 as the last part of the path": ("/a/PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg", None),
    "base64 as the whole path": ("/PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pj8/Pw", None),
    "many arguments": ("/?" + "&".join(f"n{number}=x" for number in range(100)), None),
    "a long name": ("/?" + "a-" * 40 + "=x", None),
    "a token": ("/?a=eyJhIjoxMjM0NX0.eyJhIjoxfQ.abc", None),
    "base64 as a value": ("/?a=PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg", None),
    "a redirect to elsewhere": ("/?next=//evil.example", None),
    "a long referer": ("/", "https://office.example/" + "a" * 5000),
    "a referer of another host": ("/", "https://elsewhere.example/"),
    "a referer with many arguments": ("/", "https://office.example/?" + "&a=-" * 45),
}


@pytest.mark.parametrize("why", NOT_PLAIN)
def test_targets_with_other_texts_are_not_plain(why):
    uri, referer = NOT_PLAIN[why]
    assert plain_texts(Asked(uri, HOST, referer, "")) is None


def test_a_name_that_is_no_word_is_a_text():
    assert plain_texts(Asked("/?a-b=c", HOST, None, "")) == ["/", "a-b"]
