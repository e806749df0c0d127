"""The page of a share link: the hosts and number of browsers that may open it, and the cookie it sets."""

from datetime import timedelta

import pytest
from django.utils import timezone

from audit.models import SecurityEvent
from policies import services
from policies.grants.share_links import change_share_link, delete_share_link, issue_share_link
from policies.models import ShareLink
from tests.support.cast import OFFICE
from tests.support.share_links import GuestOf
from tests.support.visitor import Visitor, words

pytestmark = pytest.mark.django_db
OVER = "It has ended, was taken back, was opened in another browser, or is for another address."


@pytest.fixture
def shared(office):
    """Return a function that creates a share link for the office, and gives its token."""

    def make(**values):
        values = {"name": "Anna", "expires_at": timezone.now() + timedelta(hours=4), **values}
        return issue_share_link(actor="alice", domain=office, **values)[1].text

    return make


def guest(host=OFFICE, **headers):
    return Visitor(host, **headers)


def kinds():
    return list(SecurityEvent.objects.order_by("pk").values_list("kind", flat=True))


def test_opening_the_page_uses_no_binding_and_the_button_binds_the_browser(shared, auth, wall):
    token, browser = shared(path_prefix="/wedding"), guest()
    for look in (browser.client.get, browser.client.head):  # a mail scanner, a preview, a prefetch
        looked = look("/wall/share", {"token": token}, headers={"Sec-Purpose": "prefetch"})
        assert looked.status_code == 200
        assert not looked.cookies

    page = browser.get("/share", {"token": token})
    assert "Shared with you" in words(page)
    assert "You may look at this until" in words(page)
    assert page["Referrer-Policy"] == "strict-origin"
    opened = browser.send("/share", token=token)

    assert (opened.status_code, opened["Location"]) == (303, "/wedding")
    cookie = opened.cookies["service.guest"]
    assert (cookie["path"], cookie["httponly"], cookie["samesite"], cookie["domain"]) == ("/wedding", True, "Lax", "")
    assert token not in cookie.value
    ask = GuestOf(auth, f"service.guest={cookie.value}")
    assert ask("/wedding/7") == (200, "share-link-valid")
    assert ask("/") == (403, "host-not-in-scope")
    [event] = SecurityEvent.objects.filter(kind="share-link.opened")
    assert (event.detail["use"], event.detail["name"]) == (1, "Anna")
    assert token not in str(SecurityEvent.objects.values())


def test_a_forwarded_link_is_used_up_but_the_browser_may_open_it_again(shared):
    token, first, second = shared(), guest(), guest()
    assert first.send("/share", token=token).status_code == 303

    for answer in (second.get("/share", {"token": token}), second.send("/share", token=token)):
        assert (answer.status_code, OVER in words(answer)) == (410, True)
    assert first.get("/share", {"token": token}).status_code == 200
    assert first.send("/share", token=token).status_code == 303
    assert ShareLink.objects.get().openings.count() == 1
    assert kinds().count("share-link.refused") == 1  # counted
    assert SecurityEvent.objects.get(kind="share-link.refused").detail["why"] == "used-up"


def test_a_link_binds_browsers_up_to_its_limit(shared):
    token = shared(max_uses=2)

    assert [guest().send("/share", token=token).status_code for _ in range(3)] == [303, 303, 410]


def test_two_browsers_racing_for_the_last_binding_bind_one(shared, monkeypatch):
    from policies.grants import opening  # noqa: PLC0415 - needs Django

    token, found = shared(), opening.find
    other = guest()

    def found_late(*args, **options):
        link = found(*args, **options)
        monkeypatch.setattr(opening, "find", found)
        assert other.send("/share", token=token).status_code == 303
        return link

    monkeypatch.setattr(opening, "find", found_late)

    assert guest().send("/share", token=token).status_code == 410


@pytest.mark.parametrize("how", ["revoked", "ended", "another host", "unknown", "malformed", "denied"])
def test_an_ended_link_is_410_without_details(shared, office, how):
    token, browser = shared(), guest()
    match how:
        case "revoked":
            delete_share_link(ShareLink.objects.get(), actor="alice")
        case "ended":
            ShareLink.objects.update(expires_at=timezone.now())
        case "another host":
            services.register_domain(actor="alice", name="other.example", access="authenticated")
            browser = guest("other.example")
        case "unknown":
            token = "gws_" + "A" * 43 + token[-6:]
        case "malformed":
            token = token[:-1]
        case "denied":
            services.change_domain(office, actor="alice", access="denied", force=True)

    for answer in (browser.get("/share", {"token": token}), browser.send("/share", token=token)):
        if how == "denied":  # the gate refuses guests that have opened it
            continue
        assert (answer.status_code, OVER in words(answer)) == (410, True)
        assert not answer.cookies
    assert ("share-link.refused" in kinds()) is (how in {"ended", "another host"})


def test_a_link_revoked_while_its_page_is_open_is_refused(shared):
    token, browser = shared(), guest()
    assert browser.get("/share", {"token": token}).status_code == 200
    link = ShareLink.objects.get()
    change_share_link(link, actor="alice", name="Tom")
    delete_share_link(link, actor="alice")

    assert browser.send("/share", token=token).status_code == 410


def test_another_site_cannot_open_one(shared):
    token = shared()

    refused = guest().send("/share", {"Sec-Fetch-Site": "cross-site"}, token=token)

    assert refused.status_code in {403, 410}
    assert not refused.cookies
    assert not ShareLink.objects.get().openings.exists()


def test_with_a_public_url_the_form_works_under_the_host_of_the_site(shared, settings):
    settings.GATEWALL_PUBLIC_URL = "https://wall.office.example"
    token = shared()

    opened = guest().send("/share", {"Sec-Fetch-Site": "same-origin", "Origin": f"https://{OFFICE}"}, token=token)

    assert (opened.status_code, bool(opened.cookies["service.guest"]["secure"])) == (303, True)


@pytest.mark.parametrize(
    ("prefix", "path", "location"), [(None, "/", "/"), ("/a b", "/", "/a%20b"), ("/a/(b)", "/a/(b)", "/a/%28b%29")]
)
def test_the_cookie_is_for_the_path_of_the_link_as_browsers_send_it(shared, prefix, path, location):
    opened = guest().send("/share", token=shared(path_prefix=prefix))

    assert (opened.cookies["service.guest"]["path"], opened["Location"]) == (path, location)
