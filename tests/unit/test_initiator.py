"""Requests that a page made the browser send, without an action of the user."""

import pytest

from gatewall.engine.model import Effect, Reason
from gatewall.gate.record import record_of, was_made_by_a_page
from tests.support.cast import NOW, a_decision, a_policy, a_request

HOST = "office.example:8443"


def made_by_page(**headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return was_made_by_a_page(a_request(host=HOST, headers=named))


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize(
    "kind",
    [
        {"sec_fetch_mode": "no-cors", "sec_fetch_dest": "image"},
        {"sec_fetch_mode": "cors", "sec_fetch_dest": "empty"},
        {"sec_fetch_mode": "navigate", "sec_fetch_dest": "iframe"},
        {"sec_fetch_mode": "navigate", "sec_fetch_dest": "document"},
        {"sec_fetch_mode": "navigate", "sec_fetch_dest": "document", "sec_fetch_user": "?1"},
        {"sec_fetch_mode": "websocket", "sec_fetch_dest": "websocket"},
        {},
    ],
)
def test_cross_site_requests_were_made_by_a_page(site, kind):
    assert made_by_page(sec_fetch_site=site, **kind)


def test_subresources_of_own_pages_were_made_by_a_page():
    assert made_by_page(sec_fetch_site="same-origin", sec_fetch_mode="no-cors", sec_fetch_dest="image")


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"sec_fetch_site": "none", "sec_fetch_mode": "navigate", "sec_fetch_dest": "document", "sec_fetch_user": "?1"},
        {"sec_fetch_site": "none", "referer": "https://forum.example/"},
        {"sec_fetch_site": "same-origin", "sec_fetch_mode": "navigate"},
        {"sec_fetch_site": "same-origin", "sec_fetch_mode": "cors"},
        {"sec_fetch_site": "Cross-Site"},
        {"sec_fetch_mode": "no-cors"},
        {"referer": f"https://{HOST}/wiki"},
        {"referer": "https://office.example/"},
        {"origin": f"https://{HOST}", "referer": "https://forum.example/"},
        {"referer": "forum.example"},
        {"referer": "https://forum.example /"},
        {"referer": "android-app://org.forum"},
        {"referer": "https://"},
    ],
)
def test_requests_by_users_and_programs_were_not_made_by_a_page(headers):
    assert not made_by_page(**headers)


@pytest.mark.parametrize(
    "headers",
    [
        {"referer": "http://forum.example/thread?id=1"},
        {"referer": "https://forum.example"},
        {"referer": "https://forum.example:8443/"},
        {"origin": "https://forum.example", "referer": f"https://{HOST}/"},
        {"origin": "null"},
    ],
)
def test_origin_or_referer_count_in_browsers_without_sec_fetch(headers):
    assert made_by_page(**headers)


def test_request_without_a_host_has_no_origin_to_compare():
    assert not was_made_by_a_page(a_request(host=None, headers={"referer": "https://forum.example/"}))


@pytest.mark.parametrize("effect", Effect)
def test_only_records_of_refused_requests_have_made_by_page(effect):
    request = a_request(headers={"sec-fetch-site": "cross-site"})
    decision = a_decision(Reason.WAF_RULE, effect=effect)
    record = record_of(request, decision, a_policy(), decision_id="x", status=403, answered_at=NOW)

    assert record.made_by_page is (effect is Effect.DENY)
