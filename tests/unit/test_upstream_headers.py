"""Cookies and Authorization for the site: all of the visitor's values without our credentials."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewall.gate.credentials import site_headers
from gatewall.gate.headers import from_lines


def left(*lines):
    return dict(site_headers(from_lines((name.encode(), value.encode("latin-1")) for name, value in lines)))


def basic(text):
    return "Basic " + base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("a=1", "a=1"),
        ("service.token=x", ""),
        ("service.token=x; a=1", "a=1"),
        ("a=1; service.token=x", "a=1"),
        ("a=1;service.token=x;b=2", "a=1;b=2"),
        ("a=1; service.token = x ; SERVICE.Token=y; service.token; b=2", "a=1; b=2"),
        (
            "myservice.token=1; service.tokens=2; a=service.token=3",
            "myservice.token=1; service.tokens=2; a=service.token=3",
        ),
        ('a="b; service.token=x; c"', 'a="b; c"'),
        ("caf\u00e9=\u00ff", "caf\u00e9=\u00ff"),
        ("a=\x01", ""),
        (";" * 300 + "service.token=x", ""),
        ("a=1; " * 400 + "service.token=x", ("a=1; " * 400).rstrip("; ")),
    ],
)
def test_cookies_are_kept_without_ours(sent, kept):
    assert left(("Cookie", sent)) == {"Cookie": kept}


def test_cookies_of_several_lines_are_one_line():
    assert left(("Cookie", "a=1"), ("Cookie", "service.token=x"), ("cookie", "b=2")) == {"Cookie": "a=1; b=2"}


@pytest.mark.parametrize(
    "value", ["Bearer abc", basic("user:hunter2"), "Basic !!", basic("gwg_:x"), "Digest gwg_", "\u00ff"]
)
def test_authorization_of_others_is_kept(value):
    assert left(("Authorization", value)) == {"Authorization": value}


@pytest.mark.parametrize("value", [basic("dora:gwg_abc"), basic(":gwg_"), "bAsIc  " + basic("d:gwg_")[6:]])
def test_authorization_with_a_git_token_is_not(value):
    assert left(("Authorization", value)) == {"Authorization": ""}


TOKEN = base64.b64encode(b"dora:gwg_abcd").decode()


@pytest.mark.parametrize(
    "value",
    [
        f"Basic {TOKEN.rstrip('=')}",
        f"Basic {TOKEN[:6]} {TOKEN[6:]}",
        f"Basic ={TOKEN}",
        f"Basic {TOKEN},Bearer mine",
        f"Bearer mine,Basic {TOKEN}",
        f"Basic {TOKEN}!",
        "Basic " + base64.urlsafe_b64encode(b"\xff\xfe\xff:gwg_abc").decode(),
    ],
)
def test_git_token_that_only_a_lenient_reader_finds_is_not(value):
    assert left(("Authorization", value)) == {"Authorization": ""}


@pytest.mark.parametrize(
    ("joined", "kept"),
    [
        ("a=1,service.token=x,b=2", "a=1"),
        ("a=1, Service.Token =x; b=2", "a=1; b=2"),
        ("a=1,2; b=service.token=3", "a=1,2; b=service.token=3"),
        ("a=1,service.token", "a=1,service.token"),
        ("," * 60_000 + "service.token=x", "," * 59_999),
    ],
    ids=range(5),
)
def test_cookies_that_a_proxy_joined_by_comma_are_kept_without_ours(joined, kept):
    assert left(("Cookie", joined)) == {"Cookie": kept}


def test_absent_headers_stay_absent():
    assert left(("Host", "office.example")) == {}


@given(st.lists(st.sampled_from(["a=1", "service.token=x", " service.token =y", "Service.Token=z", "b", ""])))
def test_no_cookie_of_ours_is_ever_left_and_no_other_is_lost(parts):
    kept = left(("Cookie", ";".join(parts)))["Cookie"]

    names = [part.strip() for part in kept.split(";") if part.strip()]
    assert names == [part.strip() for part in parts if part.strip() and "token" not in part.lower()]
