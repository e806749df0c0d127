"""One sign-in for sites under several parent domains: redirects between the guard pages, and attacks on them."""

import re
from datetime import timedelta
from html import unescape
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import HandOff, Session
from accounts.sign_in import hand_off
from audit.models import SecurityEvent
from gatewall.agent.housekeeping import delete_expired
from policies import services
from tests.support.proxies import PASSWORD
from tests.support.second_factor import an_app

pytestmark = pytest.mark.django_db
HOME, THERE, THIRD = "https://wall.example.com", "https://wall.example.org", "https://wall.example.net"
SITE = "https://app.example.org/a?b=c"
FORM = "application/x-www-form-urlencoded"


@pytest.fixture(autouse=True)
def sites(settings, alice, bob):
    settings.GATEWALL_PUBLIC_URL, settings.GATEWALL_OTHER_PUBLIC_URLS = HOME, (THERE, THIRD)
    for name, access in (("app.example.com", "authenticated"), ("app.example.org", "authenticated")):
        services.register_domain(actor="alice", name=name, access=access)
    services.register_domain(actor="alice", name="tv.example.net", access="two_factor")
    return settings


class Browser:
    """A browser that follows redirects between the guard pages and stops at any other host."""

    def __init__(self):
        self._hosts = {}

    def at(self, url):
        return self._hosts.setdefault(origin(url), Client(headers={"Host": urlsplit(url).netloc}))

    def get(self, url, **headers):
        return self.at(url).get(url.removeprefix(origin(url)), headers=headers)

    def follow(self, answer, *, at):
        """Follow redirects; return the last URL, and its response, None for a site."""
        for _ in range(8):
            if answer is None or answer.status_code != 303:
                return at, answer
            at = urljoin(at, answer.headers["Location"])
            answer = self.get(at) if origin(at) in (HOME, THERE, THIRD) else None
        raise AssertionError("a circle")

    def open(self, url):
        return self.follow(self.get(url), at=url)

    def post(self, url, **fields):
        path, headers = url.removeprefix(origin(url)), {"Origin": origin(url)}
        answer = self.at(url).post(path, urlencode(fields), content_type=FORM, headers=headers)
        return self.follow(answer, at=origin(url))

    def sign_in(self, rd="", name="Bob"):
        return self.post(f"{HOME}/wall/", username=name, password=PASSWORD, rd=rd)

    def session(self, guard):
        cookie = self.at(guard).cookies.get("service.token")
        return cookie.value if cookie and cookie.value else None


def origin(url):
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def words(response):
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", response.text)))


def guard(url, rd=""):
    return f"{url}/wall/?{urlencode({'rd': rd})}" if rd else f"{url}/wall/"


def step(browser, url):
    """Follow one redirect; return where it leads."""
    return browser.get(url).headers["Location"]


def granted(browser, rd=SITE):
    """Return the URL with the code for a browser that is signed in at home."""
    return step(browser, step(browser, guard(THERE, rd)))


@pytest.fixture
def browser():
    return Browser()


def test_one_sign_in_at_home_opens_sites_under_every_parent(browser):
    at, page = browser.open(guard(THERE, SITE))
    assert (origin(at), page.status_code) == (HOME, 200)
    assert "app.example.org" in words(page)

    assert browser.sign_in(SITE) == (SITE, None)
    assert browser.at(THERE).cookies["service.token"]["domain"] == "example.org"
    assert browser.open(guard(HOME, "https://app.example.com/"))[1].status_code == 200
    assert Session.objects.count() == 1


def test_a_visitor_with_a_session_at_home_is_handed_off_without_a_question(browser):
    browser.sign_in("https://app.example.com/")

    assert browser.open(guard(THERE, SITE)) == (SITE, None)
    assert "Continue to app.example.org" in words(browser.open(guard(HOME, SITE))[1])


def test_without_a_site_the_visitor_ends_at_the_guard_page_that_they_opened(browser):
    browser.sign_in()

    at, page = browser.open(guard(THERE))

    assert (origin(at), "You are signed in as Bob" in words(page)) == (THERE, True)


def test_browsers_allow_the_redirects_after_the_form(browser):
    _, page = browser.open(guard(THERE, SITE))

    allowed = re.search(r"form-action ([^;]*)", page.headers["Content-Security-Policy"])[1].split()
    assert allowed == ["'self'", "https://app.example.org", THERE]


@pytest.mark.parametrize("where", [HOME, THERE])
def test_one_sign_out_ends_the_session_at_every_parent(browser, where):
    browser.sign_in(SITE)

    browser.post(f"{where}/wall/sign-out")

    assert not Session.objects.filter(revoked_at=None).exists()
    for url in (HOME, THERE):
        at, page = browser.open(guard(url))
        assert (origin(at), 'name="password"' in page.text) == (HOME, True)


def test_a_handed_off_cookie_expires_with_the_session_and_opens_no_api(browser):
    browser.sign_in()
    session = Session.objects.get()
    Session.objects.update(expires_at=session.issued_at + timedelta(hours=3), amr=["pwd", "otp"])

    browser.open(guard(THERE, SITE))

    cookie = browser.at(THERE).cookies["service.token"]
    assert 3 * 3600 - 60 <= cookie["max-age"] <= 3 * 3600
    answer = Client().get("/wall/users", headers={"Service-Authorization": cookie.value})
    assert answer.status_code in (401, 403)
    own = Client().get("/wall/session", headers={"Service-Authorization": cookie.value}).json()
    assert own["amr"] == ["pwd", "otp"]


def test_a_second_factor_is_proved_at_home_and_reaches_the_other_parents(browser, bob):
    rd = "https://tv.example.net/"
    browser.sign_in()
    app = an_app(bob)  # after the sign-in, so that the session has one factor

    at, page = browser.open(guard(THIRD, rd))
    assert (origin(at), 'name="code"' in page.text) == (HOME, True)

    assert browser.post(f"{HOME}/wall/step-up", code=app.code(), rd=rd) == (rd, None)
    assert Session.objects.get(revoked_at=None).amr == ["pwd", "otp"]


class TestAttacks:
    """Attacks that the hand-off code resists."""

    @pytest.fixture(autouse=True)
    def signed_in(self, browser):
        browser.sign_in()

    def test_a_code_is_good_once(self, browser):
        url = granted(browser)
        assert browser.get(url).headers["Location"] == SITE
        browser.at(THERE).cookies.pop("service.token")

        answer = browser.get(url)

        assert (answer.status_code, browser.session(THERE)) == (400, None)
        assert "Your sign-in could not be brought here" in words(answer)

    def test_a_code_works_only_in_its_browser_and_ends_with_a_try_in_another(self, browser):
        url, stranger = granted(browser), Browser()
        stranger.get(guard(THERE, SITE))  # this browser has a secret of its own

        answer = stranger.get(url)

        assert (answer.status_code, stranger.session(THERE)) == (400, None)
        assert browser.get(url).status_code == 400
        event = SecurityEvent.objects.get(kind="login.failed")
        assert event.detail["why"] == "another-browser"

    def test_a_browser_without_a_secret_is_refused(self, browser):
        assert Browser().get(granted(browser)).status_code == 400

    def test_a_code_is_good_at_its_guard_page_alone(self, browser):
        url = granted(browser).replace(THERE, THIRD)
        secret = browser.at(THERE).cookies["gatewall.hand-off"].value
        browser.at(THIRD).cookies["gatewall.hand-off"] = secret

        assert (browser.get(url).status_code, browser.session(THIRD)) == (400, None)

    def test_a_code_expires_after_a_minute(self, browser):
        url = granted(browser)
        HandOff.objects.update(expires_at=timezone.now())

        assert browser.get(url).status_code == 400

    def test_a_code_of_a_session_that_has_ended_opens_nothing(self, browser):
        url = granted(browser)
        browser.post(f"{HOME}/wall/sign-out")

        assert (browser.get(url).status_code, browser.session(THERE)) == (400, None)

    def test_a_later_code_of_the_session_replaces_the_one_before(self, browser):
        first = granted(browser)
        assert granted(browser) != first

        assert HandOff.objects.count() == 1
        assert browser.get(first).status_code == 400

    @pytest.mark.parametrize("to", ["", HOME, "https://evil.example", f"{THERE}/", "https://app.example.org"])
    def test_a_session_is_handed_to_guard_pages_alone(self, browser, to):
        fields = urlencode({"to": to, "browser": "0" * 64, "rd": SITE})

        assert browser.get(f"{HOME}/wall/hand-off/grant?{fields}").status_code == 400
        assert not HandOff.objects.exists()

    @pytest.mark.parametrize("rd", ["https://evil.example/", "javascript:alert(1)", "//evil.example"])
    def test_the_way_ends_at_registered_sites_alone(self, browser, rd):
        url = granted(browser)
        code = parse_qs(urlsplit(url).query)["code"][0]

        answer = browser.get(f"{THERE}/wall/hand-off/enter?{urlencode({'code': code, 'rd': rd})}")

        assert answer.headers["Location"] == "/wall/"

    @pytest.mark.parametrize("destination", ["iframe", "image", "script", "empty"])
    def test_pages_of_sites_cannot_take_the_steps(self, browser, destination):
        url = step(browser, guard(THERE, SITE))

        assert browser.get(url, **{"Sec-Fetch-Dest": destination}).status_code == 403
        assert not HandOff.objects.exists()

    def test_another_window_that_was_quicker_is_no_error(self, browser):
        first = granted(browser)
        browser.get(first)

        assert browser.get(first).headers["Location"] == SITE

    def test_neither_code_nor_secret_is_in_a_row(self, browser):
        url = granted(browser)
        code = parse_qs(urlsplit(url).query)["code"][0]
        row = HandOff.objects.values().get()

        assert code not in str(row)
        assert browser.at(THERE).cookies["gatewall.hand-off"].value not in str(row)
        assert row["digest"] == hand_off.digest(code)


def test_a_cookie_that_is_lost_at_another_parent_causes_no_redirect_loop(browser):
    browser.sign_in(SITE)
    browser.at(THERE).cookies.pop("service.token")

    at, page = browser.open(guard(THERE, SITE))

    assert (origin(at), "the session cookie did not arrive here" in words(page)) == (THERE, True)


def test_expired_codes_are_deleted(browser):
    browser.sign_in()
    granted(browser)
    HandOff.objects.update(expires_at=timezone.now())

    assert (delete_expired(HandOff, timezone.now()), HandOff.objects.count()) == (1, 0)
