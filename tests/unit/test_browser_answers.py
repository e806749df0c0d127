"""Answers of the endpoints whose answer reaches the browser: redirects and pages."""

from html.parser import HTMLParser

import pytest

from gatewall.engine.evaluate import CANNOT_DECIDE
from gatewall.engine.model import Effect, Reason
from gatewall.engine.rule_match import RuleMatch
from gatewall.gate.responses import GuardPage, answer, for_browser, is_navigation
from tests.support.cast import BOB_SUBJECT, OFFICE, a_decision, a_policy, a_request

HTML = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
BROWSER = {"accept": HTML}
DENIED = a_decision(
    Reason.WAF_RULE, effect=Effect.DENY, rules=(RuleMatch(7, "secret-rule-name", "sqli", 5, enforced=True),)
)
GUARD = GuardPage("/wall")
CHALLENGED = a_decision(Reason.CREDENTIAL_MISSING, effect=Effect.CHALLENGE)


def given(decision, headers, **parts):
    request, policy, guard = a_request(headers=headers, **parts), a_policy(domains={OFFICE: "authenticated"}), GUARD
    plain = answer(decision, request, policy, guard, "the-id")
    return for_browser(plain, decision, request, policy, guard, "the-id")


NAVIGATIONS = {
    "accept": BROWSER,
    "accept in capitals": {"accept": "TEXT/HTML"},
    "html among others": {"accept": "image/png, text/html;q=0.1"},
    "metadata": BROWSER | {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"},
    "navigation in a frame": BROWSER | {"sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"},
    "requested with an app": BROWSER | {"x-requested-with": "com.example.app"},
    "form": BROWSER | {"sec-fetch-mode": "navigate", "content-type": "application/x-www-form-urlencoded"},
}
OTHERS = {
    "nothing": {},
    "anything": {"accept": "*/*"},
    "json": {"accept": "application/json"},
    "fetch": BROWSER | {"sec-fetch-mode": "cors"},
    "fetch of the same site": BROWSER | {"sec-fetch-mode": "same-origin"},
    "image": BROWSER | {"sec-fetch-mode": "no-cors"},
    "unknown mode": BROWSER | {"sec-fetch-mode": "Navigate it"},
    "websocket mode": BROWSER | {"sec-fetch-mode": "websocket"},
    "websocket whose upgrade the proxy does not show": BROWSER | {"sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ=="},
    "xhr": BROWSER | {"x-requested-with": "XMLHttpRequest"},
    "xhr in other case": BROWSER | {"x-requested-with": "xmlhttprequest"},
    "websocket": BROWSER | {"upgrade": "websocket"},
    "xhr that says it navigates": BROWSER | {"sec-fetch-mode": "navigate", "x-requested-with": "XMLHttpRequest"},
    "navigation without html": {"accept": "*/*", "sec-fetch-mode": "navigate"},
    "git": {"user-agent": "git/2.49.0", "accept": "*/*"},
    "two accept lines": {"accept": "application/json, */*"},
}
EACH_NAVIGATION = pytest.mark.parametrize("headers", NAVIGATIONS.values(), ids=NAVIGATIONS)
EACH_OTHER = pytest.mark.parametrize("headers", OTHERS.values(), ids=OTHERS)


@EACH_NAVIGATION
@pytest.mark.parametrize(
    ("method", "status"), [("GET", 302), ("HEAD", 302), ("POST", 303), ("PUT", 303), ("DELETE", 303)]
)
def test_a_browser_is_sent_to_the_guard_page(headers, method, status):
    answered = given(CHALLENGED, headers, method=method, uri="/wiki")

    assert answered.status == status
    assert dict(answered.headers)["Location"] == "http://office.example/wall/?rd=http%3A%2F%2Foffice.example%2Fwiki"


@EACH_OTHER
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_requests_that_cannot_follow_a_redirect_get_the_plain_challenge(headers, method):
    answered = given(CHALLENGED, headers, method=method)

    assert (answered.status, answered.body) == (401, b"")
    assert dict(answered.headers)["WWW-Authenticate"]


@EACH_NAVIGATION
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_browser_that_is_refused_gets_a_page(headers, method):
    answered = given(DENIED, headers, method=method)

    assert answered.status == 403
    assert dict(answered.headers)["Content-Type"] == "text/html; charset=utf-8"
    assert answered.body.startswith(b"<!doctype html>")


@EACH_OTHER
def test_clients_that_show_no_page_get_an_empty_refusal(headers):
    answered = given(DENIED, headers)

    assert (answered.status, answered.body) == (403, b"")
    assert not {"Content-Type", "Content-Security-Policy"} & set(dict(answered.headers))


def test_an_allowed_browser_gets_the_usual_answer():
    decision = a_decision(subject=BOB_SUBJECT)

    assert given(decision, BROWSER) == given(decision, {})


def test_a_browser_gets_a_retry_page_if_the_gate_cannot_decide():
    answered = given(CANNOT_DECIDE, BROWSER)

    assert (answered.status, dict(answered.headers)["Retry-After"]) == (503, "1")
    assert "load the page again" in Page(answered.body).text
    assert "the-id" in Page(answered.body).text
    assert given(CANNOT_DECIDE, {}).body == b""


@pytest.mark.parametrize("decision", [DENIED, CHALLENGED, CANNOT_DECIDE])
def test_a_browsers_answer_has_the_headers_of_any_other(decision):
    browser, other = given(decision, BROWSER), given(decision, {})

    assert set(other.headers) <= set(browser.headers)
    assert len(dict(browser.headers)) == len(browser.headers)


# The page.


class Page(HTMLParser):
    """The content of a page: its text, its tags, and their attributes."""

    def __init__(self, body):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], ""
        self.feed(body.decode())

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]

    def handle_data(self, data):
        self.text += data


def test_the_page_contains_the_decision_id():
    assert "the-id" in Page(given(DENIED, BROWSER).body).text


@pytest.mark.parametrize("reason", Reason)
def test_the_page_never_contains_the_reason(reason):
    assert reason.value.encode() not in given(a_decision(reason, effect=Effect.DENY), BROWSER).body


def test_the_page_is_the_same_for_every_reason_and_request():
    pages = {given(a_decision(reason, effect=Effect.DENY), BROWSER).body for reason in Reason}
    page = given(DENIED, BROWSER, uri="/<script>", host="other.example").body

    assert pages == {page}
    assert not any(word in page for word in (b"secret-rule-name", b"script", b"other.example"))


@pytest.mark.parametrize("decision", [DENIED, CANNOT_DECIDE])
def test_the_page_loads_and_runs_nothing(decision):
    page = Page(given(decision, BROWSER).body)

    assert not {"script", "style", "link", "img", "form", "iframe", "a", "base"} & set(page.tags)
    assert not {"src", "href", "style", "action", "onload"} & set(page.attributes)


def test_the_page_forbids_everything():
    policy = dict(given(DENIED, BROWSER).headers)["Content-Security-Policy"]

    assert {part.strip() for part in policy.split(";")} == {
        "default-src 'none'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
    }  # fmt: skip


def test_the_page_is_kept_by_no_cache():
    assert dict(given(DENIED, BROWSER).headers)["Cache-Control"] == "no-store"


@EACH_NAVIGATION
def test_a_navigation_is_known(headers):
    assert is_navigation(a_request(headers=headers))


@pytest.mark.parametrize("reason", [Reason.HOST_NOT_IN_SCOPE, Reason.ACCESS_DENIED])
def test_the_page_links_to_the_access_request_if_a_grant_may_help(reason):
    denied = a_decision(reason, effect=Effect.DENY, subject=BOB_SUBJECT)

    page = given(denied, BROWSER, uri='/a?b="><script>').body.decode()

    back = f"http%3A%2F%2F{OFFICE}%2Fa%3Fb%3D%22%3E%3Cscript%3E"
    assert f'<a href="http://{OFFICE}/wall/ask/the-id?rd={back}">Ask for access</a>' in page


@pytest.mark.parametrize(
    "denied",
    [
        DENIED,
        a_decision(Reason.ACCESS_DENIED, effect=Effect.DENY),
        a_decision(Reason.CLIENT_BLOCKED, effect=Effect.DENY, subject=BOB_SUBJECT),
        CANNOT_DECIDE,
    ],
)
def test_other_refused_visitors_get_no_link_to_an_access_request(denied):
    assert b"/ask/" not in given(denied, BROWSER).body
