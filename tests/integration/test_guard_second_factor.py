"""The guard page's second step: a code, and then the redirect to the return URL."""

import re
from html import unescape
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.utils import timezone

from accounts import services
from accounts.models import Challenge, Session
from accounts.sign_in import challenges, throttling
from gatewall.policy import system_settings
from tests.support.proxies import PASSWORD, Api
from tests.support.second_factor import an_app

pytestmark = pytest.mark.django_db
FORM = "application/x-www-form-urlencoded"
OFFICE = "https://office.example/a?b=c"


@pytest.fixture
def app(bob):
    return an_app(bob)


@pytest.fixture
def browser(bob):
    return Client(enforce_csrf_checks=True, headers={"Host": "wall.example"})


def begin(browser, rd=""):
    return browser.post("/wall/", urlencode({"username": "Bob", "password": PASSWORD, "rd": rd}), content_type=FORM)


def hidden(page, name):
    return unescape(re.search(rf'name="{name}" value="([^"]*)"', page.text)[1])


def finish(browser, page, code, **fields):
    """Submit the form of a page, as a browser does."""
    form = {"challenge": hidden(page, "challenge"), "rd": hidden(page, "rd"), "code": code, **fields}
    return browser.post(re.search(r'action="([^"]*)"', page.text)[1], urlencode(form), content_type=FORM)


def form_action(response):
    return re.search(r"form-action ([^;]*)", response.headers["Content-Security-Policy"])[1].split()


def test_the_right_password_shows_the_second_form_and_sets_no_cookie(browser, app, office):
    page = begin(browser, OFFICE)

    assert page.status_code == 200
    assert 'autocomplete="one-time-code"' in page.text
    assert hidden(page, "rd") == OFFICE
    assert form_action(page) == ["'self'", "https://office.example"]
    assert not page.cookies
    assert not Session.objects.exists()


def test_a_code_redirects_back_and_opens_a_session_for_the_gate_alone(browser, app, auth, office):
    response = finish(browser, begin(browser, OFFICE), app.code())
    token = response.cookies["service.token"].value

    assert (response.status_code, response.headers["Location"]) == (303, OFFICE)
    assert auth(cookie=f"service.token={token}").status == 200
    assert Api(token).get("/users").status_code == 403
    assert Api(token).get("/session").json()["amr"] == ["pwd", "otp"]


def test_a_recovery_code_redirects_back_and_opens_a_session(browser, app):
    response = finish(browser, begin(browser), app.recovery_codes[0].upper())

    assert (response.status_code, response.headers["Location"]) == (303, "/wall/")
    assert Session.objects.get().amr == ["pwd", "mfa"]


def test_a_wrong_code_shows_the_form_again_with_its_fields(browser, app, office):
    page = begin(browser, OFFICE)
    again = finish(browser, page, app.wrong)

    assert again.status_code == 401
    assert "The code is wrong, or was used already." in again.text
    assert (hidden(again, "challenge"), hidden(again, "rd")) == (hidden(page, "challenge"), OFFICE)
    assert form_action(again) == form_action(page)
    assert finish(browser, again, app.code()).headers["Location"] == OFFICE


def test_after_five_wrong_codes_the_sign_in_starts_over_with_the_return_url(browser, app, office):
    page = begin(browser, OFFICE)
    for code in app.wrong_codes(5):
        assert finish(browser, page, code).status_code == 401

    over = finish(browser, page, app.code())

    assert over.status_code == 401
    assert 'name="password"' in over.text
    assert hidden(over, "rd") == OFFICE
    assert "service.token" not in over.cookies


@pytest.mark.parametrize("flow", ["login", "admin-login", "admin-site"])
def test_the_challenge_of_another_flow_is_refused(browser, app, bob, flow):
    page = begin(browser)
    foreign = challenges.begin(bob, flow, amr=["pwd"], at=timezone.now()).token

    assert finish(browser, page, app.code(), challenge=foreign).status_code == 401
    assert not Session.objects.exists()


@pytest.mark.parametrize("path", ["/login/2fa", "/admin-login/2fa"])
def test_the_challenge_of_the_page_is_refused_by_the_api(browser, app, path):
    body = {"challenge_token": hidden(begin(browser), "challenge"), "code": app.code()}

    assert Api().post(path, body).status_code == 401


@pytest.mark.parametrize(
    "fields", [{"challenge": ""}, {"challenge": "x" * 10_000}, {"challenge": '"><script>'}, {"challenge": "a.b.c\0"}]
)
def test_an_invalid_challenge_is_refused_and_not_repeated(browser, app, fields):
    response = finish(browser, begin(browser), app.code(), **fields)

    assert response.status_code == 401
    assert "<script>" not in response.text
    assert len(response.content) < 5_000


@pytest.mark.parametrize("code", ["", "x" * 100_000, "\u0661" * 6, "a\0b", '"><script>'], ids=range(5))
def test_an_invalid_code_is_refused_and_not_repeated(browser, app, code):
    response = finish(browser, begin(browser), code)

    assert response.status_code == 401
    assert "<script" not in response.text
    assert len(response.content) < 5_000


@pytest.mark.parametrize("rd", ["https://evil.example/", "javascript:alert(1)", "//evil.example", "x" * 100_000])
def test_a_tampered_return_url_is_dropped(browser, app, office, rd):
    page = begin(browser, OFFICE)

    again = finish(browser, page, app.wrong, rd=rd)
    assert hidden(again, "rd") == ""
    assert finish(browser, page, app.code(), rd=rd).headers["Location"] == "/wall/"


@pytest.mark.parametrize("headers", [{"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}], ids=repr)
def test_a_code_that_another_site_sends_is_not_tried(browser, app, headers):
    page = begin(browser)
    for name, value in headers.items():
        browser.defaults[f"HTTP_{name.upper().replace('-', '_')}"] = value

    response = finish(browser, page, app.code())

    assert response.status_code == 403
    assert "service.token" not in response.cookies
    assert Challenge.objects.get().tries == 0


@pytest.mark.parametrize("media_type", ["multipart/form-data; boundary=x", "text/plain", "application/json", ""])
def test_the_form_is_accepted_only_as_form_data(browser, app, media_type):
    form = urlencode({"challenge": hidden(begin(browser), "challenge"), "code": app.code()})

    assert browser.generic("POST", "/wall/second-factor", form, content_type=media_type).status_code == 415


@pytest.mark.parametrize("verb", ["PUT", "DELETE"])
def test_the_second_step_is_a_post(browser, app, verb):
    assert browser.generic(verb, "/wall/second-factor").status_code == 405


@pytest.mark.parametrize(("delay", "words"), [(30, "try again in "), (61, "in 2 minutes."), (3600, "in 60 minutes.")])
def test_both_sign_in_steps_show_the_remaining_delay(clock, browser, app, office, delay, words):
    system_settings.change(actor="cast", login_delay_seconds=delay, login_failures_per_account_and_network=1)
    page = begin(browser, OFFICE)
    assert finish(browser, page, app.wrong).status_code == 401

    for response in (finish(browser, page, app.code()), begin(browser, OFFICE)):
        assert response.status_code == 429
        assert int(response.headers["Retry-After"]) == delay
        assert words in response.text
        assert hidden(response, "rd") == OFFICE
        assert "service.token" not in response.cookies


def test_a_user_deleted_after_the_right_code_is_not_signed_in(browser, app, bob, monkeypatch):
    page = begin(browser)
    monkeypatch.setattr(throttling.Attempt, "succeeded", lambda _: services.delete_user(bob, actor="cast"))

    response = finish(browser, page, app.code())

    assert response.status_code == 401
    assert "service.token" not in response.cookies


@pytest.mark.django_db(transaction=True)  # the database checks foreign keys at the commit
def test_a_user_deleted_after_the_right_password_is_refused(browser, app, bob, monkeypatch):
    real = challenges.begin

    def delete_then(user, flow, *, amr, at):
        services.delete_user(services.User.objects.get(pk=user.pk), actor="cast")
        return real(user, flow, amr=amr, at=at)

    monkeypatch.setattr(challenges, "begin", delete_then)

    assert begin(browser).status_code == 401


def test_the_page_needs_no_script_and_forbids_caching_and_framing(browser, app):
    page = begin(browser)

    assert page.headers["Cache-Control"] == "no-store"
    assert page.headers["X-Frame-Options"] == "DENY"
    assert page.headers["Referrer-Policy"] == "same-origin"
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    assert "unsafe" not in page.headers["Content-Security-Policy"]
    for forbidden in ("<script", "<style", "style=", "javascript:"):
        assert forbidden not in page.text
    assert not re.search(r"\son\w+=", page.text)
    assert len(page.content) < 15_000


def test_the_page_contains_no_secret_except_its_challenge(browser, app):
    again = finish(browser, begin(browser), code := app.wrong)

    for secret in (PASSWORD, code, app.code(), *app.recovery_codes):
        assert secret not in again.text
    assert again.text.count(hidden(again, "challenge")) == 1


def test_starting_again_shows_the_first_form_with_the_return_url(browser, app, office):
    page = begin(browser, OFFICE)
    link = unescape(re.search(r'<a href="([^"]*)"', page.text)[1])

    assert hidden(browser.get(link), "rd") == OFFICE


def test_the_page_is_in_chinese_for_a_chinese_browser(browser, app):
    browser.defaults["HTTP_ACCEPT_LANGUAGE"] = "zh-CN,zh;q=0.9"

    assert begin(browser).headers["Content-Language"] == "zh-hans"
