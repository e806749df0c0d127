"""The page of a refused visitor: class of the reason, decision id, contact; never the rule."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest

from gatewall.engine.model import Reason
from gatewall.policy import system_settings
from tests.support.cast import OFFICE
from tests.support.visitor import HOSTILE, Visitor, words

pytestmark = pytest.mark.django_db
NUMBER = "01a1fd36-967d-76c8-9e6c-0123456789ab"
WORDS = {
    Reason.CLIENT_BLOCKED: "network or country",
    Reason.COUNTRY_BLOCKED: "network or country",
    Reason.WAF_RULE: "looks harmful or cannot be read",
    Reason.REQUEST_MALFORMED: "looks harmful or cannot be read",
    Reason.HOST_NOT_AUTHORIZED: "no such site here",
    Reason.HOST_NOT_IN_SCOPE: "Your account may not enter",
    Reason.ACCESS_DENIED: "This part of the site is closed to you",
    Reason.CLIENT_RATE_LIMITED: "Please wait a moment",
}


@pytest.fixture
def visitor():
    return Visitor(host=OFFICE)


def denied(visitor, reason="", number=NUMBER, uri="/a?b=c", **headers):
    told = {"X-Gatewall-Reason": reason, "X-Gatewall-Decision-Id": number}
    forwarded = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": OFFICE, "X-Forwarded-Uri": uri}
    return visitor.get("/denied", **told, **forwarded, **headers)


@pytest.mark.parametrize("reason", Reason, ids=lambda reason: reason.value)
def test_the_page_shows_the_class_of_the_reason_and_not_its_name(visitor, reason):
    page = denied(visitor, reason.value)

    assert page.status_code == 403
    assert WORDS.get(reason, "You may not enter this site.") in words(page)
    assert reason.value not in page.text


def test_a_blocked_address_and_a_blocked_country_get_the_same_page(visitor):
    texts = {denied(visitor, reason).text for reason in ("client-blocked", "country-blocked")}

    assert len(texts) == 1


def test_the_decision_id_is_shown(visitor):
    assert f"<code>{NUMBER}</code>" in denied(visitor, "waf-rule").text


@pytest.mark.parametrize("number", ["", "1", "<b>", f"{NUMBER}x", f"{NUMBER}\u00b2", NUMBER.upper()])
def test_an_invalid_decision_id_is_not_shown(visitor, number):
    page = denied(visitor, "waf-rule", number)

    assert "<code>" not in page.text
    assert "<b>" not in page.text


def test_the_contact_is_shown_as_text(visitor):
    system_settings.change(actor="cast", contact="call <b>1234</b>")

    assert "call &lt;b&gt;1234&lt;/b&gt;" in denied(visitor).text


def test_reason_headers_of_an_untrusted_peer_are_ignored(visitor, settings):
    visitor.client.defaults["REMOTE_ADDR"] = "198.51.100.9"

    page = denied(visitor, "country-blocked")

    assert "You may not enter this site." in words(page)
    assert NUMBER not in page.text


def test_an_unknown_reason_gets_a_general_text(visitor):
    assert "You may not enter this site." in words(denied(visitor, "no-such-reason"))


def test_without_any_header_the_page_is_still_a_refusal(visitor):
    assert visitor.get("/denied").status_code == 403


def test_a_user_outside_the_scope_gets_a_link_to_another_account_with_the_return_url(visitor, charlie):
    page = denied(visitor, "host-not-in-scope")

    href = re.search(r'href="(/wall/\?[^"]+)"', page.text)[1]
    assert parse_qs(urlsplit(href).query) == {"rd": [f"https://{OFFICE}/a?b=c"]}


def test_another_account_is_chosen_on_the_host_of_our_own(visitor, office, settings):
    settings.GATEWALL_PUBLIC_URL = "https://wall.example"

    assert (
        'href="https://wall.example/wall/?rd=https%3A%2F%2Foffice.example' in denied(visitor, "host-not-in-scope").text
    )


def test_switching_accounts_goes_through_the_guard_page_and_back(visitor, office, bob):
    visitor.sign_in()
    href = re.search(r'href="(/wall/\?[^"]+)"', denied(visitor, "host-not-in-scope").text)[1]
    query = {name: value for name, (value,) in parse_qs(urlsplit(href).query).items()}

    page = visitor.get("/", query)
    answer = visitor.send("/sign-out", **query)

    assert "signed in as Bob" in re.sub(r"\s+", " ", words(page))
    assert answer.headers["Location"] == href.replace("&amp;", "&")
    assert visitor.sign_in(rd=query["rd"]).headers["Location"] == f"https://{OFFICE}/a?b=c"


@pytest.mark.parametrize("host", ["evil.example", "evil.example@office.example", "a b", ""])
def test_an_unregistered_host_is_not_linked(visitor, office, host):
    page = visitor.get("/denied", **{"X-Gatewall-Reason": "host-not-in-scope", "X-Forwarded-Host": host})

    assert "evil" not in page.text
    assert 'href="/wall/"' in page.text


@pytest.mark.parametrize("uri", ["@evil.example/", ".evil.example/", ":80@evil.example", *HOSTILE])
def test_a_hostile_uri_adds_no_link_to_another_host(visitor, office, uri):
    page = denied(visitor, "host-not-in-scope", uri=uri.replace("\r", "").replace("\n", ""))

    for href in re.findall(r'href="([^"]+)"', page.text):
        assert href.startswith("/wall/")
        for target in parse_qs(urlsplit(href).query).get("rd", []):
            assert urlsplit(target).netloc == OFFICE


def test_the_page_is_read_only(visitor):
    assert visitor.send("/denied").status_code == 405


@pytest.mark.parametrize(
    ("language", "told"), [("zh-CN", "您无权访问此网站。"), ("fr, en;q=0.5", "You may not enter this site.")]
)
def test_the_page_is_in_the_language_of_the_visitor(visitor, language, told):
    page = denied(visitor, **{"Accept-Language": language})

    assert told in words(page)
    assert page.headers["Vary"].find("Accept-Language") >= 0
