"""Hostile input is decided in bounded time and noted, without an exception, with the same answer by both engines."""

import base64
import html
import json
from collections.abc import Callable
from functools import cache
from urllib.parse import quote

import pytest

from bench.waf import browser_requests
from gatewall.engine.waf.judge import Judge, request_of
from gatewall.engine.waf.vector import AVAILABLE
from tests.unit.test_waf_worst_cases import ATTACK, MOST_TIMES, NOTE, calls

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="no hyperscan on this platform")
JUDGES = (Judge(), Judge(None))
FORM, JSON = "application/x-www-form-urlencoded", "application/json"
MANY = 10_000
NO_UTF_8 = bytes(range(128, 256)) + b"\xc3\x28\xed\xa0\x80\xff\xfe\xf8\x88\x80\x80\x80"


def encoded(encode: Callable[[str], str], layers: int) -> str:
    text = ATTACK
    for _ in range(layers):
        text = encode(text)
    return text


def in_base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


ENCODERS: dict[str, Callable[[str], str]] = {
    "percent": lambda text: quote(text, safe=""),
    "base64": in_base64,
    "percent and base64": lambda text: quote(in_base64(text), safe=""),
    "JSON": json.dumps,
    "JSON in a list": lambda text: json.dumps([text]),
    "entities": html.escape,
    "octal": lambda text: "".join(f"\\{ord(each):03o}" for each in text)[:20_000],
}


def sent(uri: str = "/", body: bytes = b"", kind: str = "", **headers: str):
    named = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    return request_of(b"POST", uri.encode("latin-1"), [(b"content-type", kind.encode("latin-1")), *named], body or None)


def places(text: str) -> dict[str, object]:
    return {
        "argument": sent(f"/?a={quote(text, safe='%')}"[:30_000]),
        "cookie": sent(cookie=f"a={quote(text, safe='%')}"[:8_000]),
        "form": sent(body=f"a={quote(text, safe='%')}".encode(), kind=FORM),
        "JSON": sent(body=json.dumps({"a": text}).encode(), kind=JSON),
    }


def names_of(count: int) -> str:
    return "&".join([f"name {number}=1" for number in range(count)])


BY_NUMBER = {
    "headers": request_of(b"GET", b"/", [*[(f"x-{n}".encode(), b"some text") for n in range(MANY)], (b"x-z", b"a")]),
    "odd header names": request_of(b"GET", b"/", [(f"x-{number}<a".encode(), b"") for number in range(MANY)]),
    "cookies": sent(cookie="; ".join(f"n{number}=1" for number in range(MANY))),
    "odd cookie names": sent(cookie="; ".join(f"n {number}<=1" for number in range(MANY))),
    "arguments": sent("/?" + names_of(MANY).replace(" ", "%20")),
    "fields of a form": sent(body=names_of(MANY).encode(), kind=FORM),
    "names of JSON": sent(body=json.dumps({f"name {number}": 1 for number in range(MANY)}).encode(), kind=JSON),
    "elements of XML": sent(body=b"<a>" + b"".join(b"<n%d/>" % n for n in range(MANY)) + b"</a>", kind="text/xml"),
    "parts": sent(
        body=b"".join(b'--b\r\nContent-Disposition: form-data; name="n%d"\r\n\r\n1\r\n' % n for n in range(MANY)),
        kind="multipart/form-data; boundary=b",
    ),
}  # fmt: skip
BODIES = [
    NO_UTF_8 * 20,
    b'{"' + NO_UTF_8 + b'":"' + NO_UTF_8 + b'"}',
    b"<a b='" + NO_UTF_8 + b"'>" + NO_UTF_8 + b"</a>",
    b"a" + NO_UTF_8 + b"=" + NO_UTF_8 + b"&%ff%fe=%c3%28",
    b'--b\r\nContent-Disposition: form-data; name="' + NO_UTF_8 + b"\"; filename*=utf-8''" + NO_UTF_8
    + b"\r\n\r\n" + NO_UTF_8,
]  # fmt: skip
KINDS = [
    FORM, JSON, f"{JSON}; charset=utf-16", f"{FORM}; charset=utf-8", "text/xml", "multipart/form-data; boundary=b",
    "text/plain; charset=utf-7", "text/plain; charset=\xff\xfe", "multipart/form-data; boundary=\xc3\x28",
]  # fmt: skip


def names(request) -> set[str]:
    """Return the rules that match, after checking that both engines find the same."""
    found = [{rule.name for rule in judge.matches(request)} for judge in JUDGES]

    assert found[0] == found[1]
    return found[0]


@cache
def calls_of_an_ordinary_request() -> float:
    ordinary = browser_requests(10)
    return sum(map(calls, ordinary)) / len(ordinary)


def is_bounded(request) -> bool:
    return calls(request) <= MOST_TIMES * calls_of_an_ordinary_request()


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("place", places(""))
def test_ten_nested_encodings_are_refused_or_noted(encoder, place):
    request = places(encoded(ENCODERS[encoder], 4 if encoder == "octal" else 10))[place]
    found = names(request)

    assert NOTE in found or "xss-alert" in found
    assert is_bounded(request)


@pytest.mark.parametrize("place", places(""))
def test_three_layers_of_an_encoding_are_decoded_and_not_noted(place):
    found = names(places(encoded(in_base64, 3))[place])

    assert "xss-script-tag" in found
    assert NOTE not in found


@pytest.mark.parametrize("what", BY_NUMBER)
def test_ten_thousand_names_are_noted_within_the_bound(what):
    assert {NOTE, "protocol-too-long"} & names(BY_NUMBER[what])
    assert is_bounded(BY_NUMBER[what])


@pytest.mark.parametrize("number", [39, 40, 41, 100, 255, 256, 300])
def test_attack_behind_very_many_cookies_is_found(number):
    cookies = "; ".join([*[f"n{each}=1" for each in range(number)], f"z={ATTACK}"])

    assert "xss-script-tag" in names(sent(cookie=cookies))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("body", BODIES)
def test_invalid_utf_8_has_an_answer(kind, body):
    found = names(sent(body=body, kind=kind))

    assert not {name for name in found if name.startswith(("sqli", "rce", "injection", "traversal"))}


def test_invalid_utf_8_in_every_part_hides_no_attack():
    odd = NO_UTF_8.decode("latin-1")
    request = sent(
        f"/{odd}?{odd}={odd}{ATTACK}", NO_UTF_8, odd, cookie=f"{odd}={odd}", referer=f"https://{odd}/{odd}",
        authorization=f"Basic {odd}", **{"user-agent": odd, f"x-{odd[:9].encode().hex()}": odd},
    )  # fmt: skip

    assert "xss-script-tag" in names(request)
    assert is_bounded(request)


@pytest.mark.parametrize("encoding", ["x-unknown", "", "idna", "zlib_codec", "shift_jis", "x" * 2_000, "utf-8\x00"])
@pytest.mark.parametrize("wide", [False, True])
def test_xml_in_any_encoding_is_decided_and_read_raw(encoding, wide):
    text = f'<?xml version="1.0" encoding="{encoding}"?><r>{ATTACK.replace("<", "&lt;")}</r>'
    body = text.encode("utf-16") if wide else text.encode("latin-1")

    assert all(judge.refusing(sent("/", body, "application/xml")) for judge in JUDGES)


@pytest.mark.parametrize("trick", ["..%c0%af..%c0%afetc%c0%afpasswd", "%252e%252e%252fx", "..%u2215..%U2215x"])
@pytest.mark.parametrize("padding", [0, 1_000, 10_000])
def test_encoding_trick_anywhere_in_a_form_is_refused(trick, padding):
    body = f"b={'word+' * padding}&a={trick}".encode()

    assert all(judge.refusing(sent("/", body, FORM)) for judge in JUDGES)
    assert NOTE in names(sent("/", f"{'word+' * 1_000}&a=%u0041&b={trick}".encode(), FORM))


@pytest.mark.parametrize(
    "decoys", ["%41" * 128, "%u0041+some+words+" * 200, "%u4e2d" * 100, "some+words+" * 500 + "%u0041+" * 400]
)
@pytest.mark.parametrize(
    "attack", ["%u003cscript%u003ealert(1)", "%uff1cscript%uff1ealert(1)", "..%u002f..%u002fetc%u002fpasswd"]
)
def test_wide_escapes_behind_decoys_are_decoded(decoys, attack):
    found = names(sent("/", f"a={decoys}{attack}".encode(), FORM))

    assert found & {"xss-script-tag", "traversal-in-text"}


@pytest.mark.parametrize("layer", ["%u", "%25u", "%2525U"])
def test_more_wide_escapes_than_are_decoded_are_noted(layer):
    many = f"{layer}4e2d" * 129

    assert NOTE in names(sent("/", f"a={many}{layer}ff1cscript".encode(), FORM))
    assert NOTE not in names(sent("/", f"a={many}".encode(), FORM))
    assert NOTE in names(sent(f"/?a={many}{layer}ff1cscript"))


def test_wide_escapes_of_a_very_long_form_are_decoded_in_its_beginning_and_the_rest_is_noted():
    attack, words = "%u003cscript%u003ealert(1)", "some+words+%41" * 1_200

    assert {NOTE, "xss-script-tag"} <= names(sent("/", f"a={words[:9_000]}{attack}{words}".encode(), FORM))
    assert NOTE in names(sent("/", f"a={words}{attack}".encode(), FORM))
