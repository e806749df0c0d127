"""The page that sets up an authenticator app: required by a site, or on one's own initiative."""

import re
from base64 import b64decode
from datetime import timedelta
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest
from django.utils import timezone

from accounts import selectors
from accounts.models import TotpDevice
from accounts.sign_in import totp
from tests.support.cast import OFFICE
from tests.support.proxies import PASSWORD, a_token
from tests.support.second_factor import App, secret_of
from tests.support.visitor import BACK, Visitor, field, recovery_codes, secret, words

pytestmark = pytest.mark.django_db
LATER = timedelta(minutes=11)


def begin(visitor, rd=""):
    """Begin the set-up; return the page and the app that scanned it."""
    page = visitor.send("/enrol", rd=rd)
    return page, App(secret_of(secret(page)))


def test_a_user_without_a_second_factor_is_sent_to_its_set_up_by_a_site_that_needs_it(signed_in, vault):
    page = signed_in.get("/", {"rd": BACK})

    assert 'action="/wall/enrol"' in page.text
    assert f"{OFFICE}:8443 requires a second factor" in re.sub(r"\s+", " ", words(page))
    assert field(page, "rd") == BACK
    assert 'name="password"' not in page.text


def test_the_set_up_shows_the_secret_in_three_ways(signed_in):
    page, _app = begin(signed_in)

    text = secret(page)
    uri = unescape(re.search(r'href="(otpauth:[^"]+)"', page.text)[1])
    assert parse_qs(urlsplit(uri).query)["secret"] == [text]
    assert len(secret_of(text)) == 20
    picture = re.search(r'src="data:image/png;base64,([^"]+)"', page.text)[1]
    assert b64decode(picture).startswith(b"\x89PNG")


def test_a_set_up_is_no_factor_before_its_code(signed_in, bob):
    begin(signed_in)

    assert signed_in.sign_in().status_code == 303


def test_the_first_code_switches_it_on_and_replaces_the_session(signed_in, bob, vault, auth):
    old = signed_in.token
    _page, app = begin(signed_in, BACK)

    page = signed_in.send("/enrol/confirm", code=app.code(), rd=BACK)

    assert page.status_code == 200
    assert f'href="{BACK}"' in page.text
    assert len(set(recovery_codes(page))) == 10
    assert auth(cookie=f"service.token={signed_in.token}").status == 200
    assert auth(cookie=f"service.token={old}").reason == "credential-invalid"


def test_the_codes_are_shown_this_once_and_the_secret_never_again(signed_in, bob):
    begun, app = begin(signed_in)
    page = signed_in.send("/enrol/confirm", code=app.code())
    code = recovery_codes(page)[0]

    others = [signed_in.get("/account"), signed_in.get("/"), signed_in.send("/enrol/confirm", code=app.code())]
    others.append(signed_in.send("/enrol"))

    assert code in page.text
    assert not any(code in other.text or secret(begun) in other.text.replace(" ", "") for other in others)
    assert [other.status_code for other in others] == [200, 200, 409, 409]
    assert "The second factor is on already." in words(others[3])


def test_the_codes_can_be_downloaded_without_asking_us_again(signed_in):
    _page, app = begin(signed_in)
    page = signed_in.send("/enrol/confirm", code=app.code())

    href, name = re.search(r'download="([^"]+)" href="([^"]+)"', page.text).groups()[::-1]
    assert name == "recovery-codes-Bob.txt"
    assert [line for line in href.partition(",")[2].split("%0A") if line] == recovery_codes(page)


def test_a_recovery_code_of_the_page_signs_in(signed_in, bob):
    _page, app = begin(signed_in)
    code = recovery_codes(signed_in.send("/enrol/confirm", code=app.code()))[3]

    other = Visitor()
    answer = other.send("/second-factor", challenge=field(other.sign_in(), "challenge"), code=code)

    assert answer.status_code == 303


@pytest.mark.parametrize("code", ["", "abc", "12345", "\uff11\uff12\uff13\uff14\uff15\uff16"])
def test_a_wrong_first_code_shows_the_same_secret_again(signed_in, bob, office, code):
    begun, _app = begin(signed_in, BACK)

    page = signed_in.send("/enrol/confirm", code=code, rd=BACK)

    assert (page.status_code, secret(page), field(page, "rd")) == (400, secret(begun), BACK)
    assert not selectors.has_second_factor(bob)


def test_wrong_first_codes_are_counted(signed_in):
    _page, app = begin(signed_in)
    pages = [signed_in.send("/enrol/confirm", code=code) for code in app.wrong_codes(7)]

    assert [page.status_code for page in pages] == [400] * 6 + [429]


def test_a_confirmation_without_a_set_up_begins_again(signed_in):
    page = signed_in.send("/enrol/confirm", code="123456")

    assert page.status_code == 409
    assert "Please begin the set-up again." in words(page)
    assert 'action="/wall/enrol"' in page.text


def test_an_old_session_asks_for_the_password_first(visitor, bob, office):
    visitor.token = a_token(bob, audiences=["gate"], at=timezone.now() - LATER)

    page = visitor.send("/enrol", rd=BACK)

    assert page.status_code == 403
    assert "Please enter your password." in words(page)
    assert (field(page, "rd"), field(page, "username")) == (BACK, "Bob")
    assert not TotpDevice.objects.exists()


@pytest.mark.parametrize("password", ["wrong password", "x" * 200])
def test_an_old_session_with_a_wrong_password_sets_nothing_up(visitor, bob, password):
    visitor.token = a_token(bob, at=timezone.now() - LATER)

    page = visitor.send("/enrol", password=password)

    assert page.status_code == 403
    assert password not in page.text
    assert not TotpDevice.objects.exists()


def test_confirming_with_the_password_replaces_the_session(visitor, bob, auth):
    visitor.token = old = a_token(bob, audiences=["gate"], at=timezone.now() - LATER)

    page = visitor.send("/enrol", password=PASSWORD)
    answer = visitor.send("/enrol/confirm", code=App(secret_of(secret(page))).code())

    assert answer.status_code == 200
    assert auth(cookie=f"service.token={old}").status == 401


def test_a_stolen_old_session_is_not_shown_a_secret_that_waits(visitor, bob, office):
    """An attacker with that session could confirm the secret and take over the account."""
    visitor.token = a_token(bob, audiences=["gate"], at=timezone.now() - LATER)
    waiting = totp.begin_setup(bob, at=timezone.now())
    app = App(secret_of(waiting.secret))

    for code in (app.wrong, app.code()):
        page = visitor.send("/enrol/confirm", code=code)

        assert page.status_code == 403
        assert waiting.secret not in page.text.replace(" ", "")
        assert "Please enter your password." in words(page)
    assert not selectors.has_second_factor(bob)
