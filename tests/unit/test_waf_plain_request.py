"""The fast path for plain requests extracts the same texts as the general path."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewall.engine.waf.judge import builtin_rules, request_of
from gatewall.engine.waf.matcher import RuleSet
from gatewall.engine.waf.plain_request import plain_request
from gatewall.engine.waf.reading import MAX_HEADER, values_of
from gatewall.engine.waf.rules import Target
from gatewall.engine.waf.values import MAX_CODED, MAX_FORMED, MAX_SIGNS
from gatewall.engine.waf.vector import AVAILABLE, CompiledNow
from tests.support.cast import OFFICE, a_request, a_rule

BASE64 = base64.b64encode(b"<script>alert(1)</script> and more").decode()
BROWSER_NAME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0"
TEXTS = [
    *("", "plain", "7", "20261128", "123456789012", "b1946ac92492d2347c6235b4d2611184", "GA1.2.1163290.1688379"),
    *("<script>alert(1)</script>", "1' OR '1'='1", "%3Cscript%3E", "../../etc/passwd", BASE64, BASE64.replace("=", "")),
    *('{"a": "union select"}', "a" * 900, "b/c " * 400, "it''s \\ & more", "a, b", "x\xe9y", "x\n y", "union select"),
    *(BROWSER_NAME, "python-httpx/0.28.1"),
    *(
        "Mozilla/5.0 & <script>",
        f"Mozilla/5.0 {BASE64}",
        "eyJhIjoxMjM0NX0.eyJhIjoxfQ.abc",
        '"a";v="1", "b"',
        '" onload=',
    ),
    *(
        f"https://{OFFICE}/projects/42",
        f"https://{OFFICE}/?a=b-c",
        "https://elsewhere.example/a",
        "https://a.example/<b",
    ),
    *("9" * 300, "a" * (MAX_HEADER + 1)),
]
texts = st.sampled_from(TEXTS)
NAMES = [
    "user-agent",
    "referer",
    "accept",
    "sec-ch-ua",
    "cookie",
    "x-forwarded-port",
    "x_note",
    "x-[a]",
    "if-none-match",
]
URIS = [
    "/a?b=<c>",
    "/%41",
    "/a\\b",
    f"/?a={BASE64}",
    "/" + "a/" * 600,
    "/a?x=y-z",
    "/a/b?tab=open&q=weekly+report",
    "/",
]
COOKIE_NAMES = ["theme", "a-b", "a.b", "__Host-x", "a b", "", "x[<y>]", "a" * 40]
BROWSER = {
    "host": OFFICE,
    "user-agent": BROWSER_NAME,
    "accept": "text/html,*/*;q=0.8",
    "sec-ch-ua": '"Chromium";v="142", "Not_A Brand";v="99"',
    "referer": f"https://{OFFICE}/projects/42",
    "cookie": "theme=dark; sid=b1946ac92492d2347c6235b4d2611184",
    "x-forwarded-port": "443",
}
COOKIES = {"theme": "dark", "sid": "b1946ac92492d2347c6235b4d2611184", "_ga": "GA1.2.1163290.1688379"}
seldom = st.integers(0, 9).map(lambda number: number == 0)


@st.composite
def requests(draw):
    """Draw a request of a browser with few changes."""
    headers = BROWSER | draw(st.dictionaries(st.sampled_from(NAMES), texts, max_size=2))
    cookies = COOKIES | draw(st.dictionaries(st.sampled_from(COOKIE_NAMES), texts, max_size=2))
    if draw(seldom):
        headers |= {f"x-{number}": "7" for number in range(draw(st.integers(5, 40)))}
    if draw(seldom):
        cookies |= {f"c{number}": "x" for number in range(draw(st.integers(30, 45)))}
    body = draw(st.sampled_from([{"body": b""}, {"body": b"a=b"}, {"body_is_whole": False}])) if draw(seldom) else {}
    sent = (("authorization", "Bearer x"),) if draw(seldom) else ()
    uri = draw(st.sampled_from(URIS))
    return a_request(uri=uri, headers=headers, cookies=cookies, site_credentials=sent, **body)


@given(request=requests())
def test_texts_of_a_plain_request_are_those_of_any(request):
    text, values = plain_request(request), values_of(request)

    if text is not None:
        assert sorted(text.split(b"\n")) == sorted(values.joined().split(b"\n"))
        assert (values.is_noted, values.has_texts) == (False, False)
        assert (values.signs_left, values.formed_left, values.coded_left) == (MAX_SIGNS, MAX_FORMED, MAX_CODED)


@pytest.mark.parametrize("change", [{}, {"user-agent": "python-httpx/0.28.1"}, {"x-note": "weekly report"}], ids=str)
def test_ordinary_requests_are_plain(change):
    request = a_request(uri="/projects/42?tab=open&q=weekly+report", headers={**BROWSER, **change}, cookies=COOKIES)

    assert plain_request(request) is not None


RULES = RuleSet(builtin_rules(), CompiledNow() if AVAILABLE else None)
EDITED = RuleSet(
    [*builtin_rules(), a_rule("weekly", builtin=True, targets={Target.HEADERS})], CompiledNow() if AVAILABLE else None
)
CUSTOM = RuleSet([*builtin_rules(), a_rule("weekly", targets={Target.HEADERS})], CompiledNow() if AVAILABLE else None)


@pytest.mark.parametrize("rules", [EDITED, CUSTOM], ids=["edited", "custom"])
def test_edited_and_custom_rules_apply_to_plain_requests(rules):
    request = a_request(uri="/projects", headers={**BROWSER, "x-note": "weekly"}, cookies=COOKIES)

    assert plain_request(request) is not None
    assert len(rules.inspect(request, None)) == len(RULES.inspect(request, None)) + 1


def test_a_request_with_cookies_twice_is_not_plain():
    twice = [(b"host", b"a.example"), *[(b"cookie", b"a=" + b"x" * 8_000)] * 9]

    assert plain_request(request_of(b"GET", b"/", twice[:2])) is not None
    assert plain_request(request_of(b"GET", b"/", twice)) is None
    assert "protocol-not-inspected" in {rule.name for rule in RULES.inspect(request_of(b"GET", b"/", twice), None)}


def test_a_request_with_a_referer_twice_is_not_plain():
    twice = [
        (b"referer", b"https://a.example/?q=1'+union+select+password+from+users--"),
        (b"referer", b"https://a.example/x"),
    ]
    request = request_of(b"GET", b"/", [(b"host", b"a.example"), *twice])

    assert plain_request(request) is None
    assert [rule for rule in RULES.inspect(request, None) if rule.name.startswith("sqli-")]


def test_attack_in_a_plain_request_is_found():
    request = a_request(uri="/?q=1+union+select+password+from+users", headers=BROWSER, cookies=COOKIES)

    assert plain_request(request) is not None
    assert "sqli-union-select" in {rule.name for rule in RULES.inspect(request, None)}
