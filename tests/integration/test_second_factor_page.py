"""The second factor at sign-in: one field for codes of the app and recovery codes."""

import re
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
import time_machine
from django.utils import timezone

from accounts.models import Session
from tests.support.cast import OFFICE
from tests.support.second_factor import an_app
from tests.support.visitor import BACK, Visitor, field, words

pytestmark = pytest.mark.django_db


def methods(user):
    return sorted(Session.objects.filter(user=user, revoked_at=None).values_list("amr", flat=True))


def test_a_right_password_alone_opens_nothing(visitor, bob, office):
    an_app(bob)

    page = visitor.sign_in(rd=BACK)

    assert page.status_code == 200
    assert visitor.token == ""
    assert field(page, "rd") == BACK
    assert OFFICE in words(page)


@pytest.mark.parametrize("written", ["{code}", " {code} ", "{first} {second}", "{first}-{second}"])
def test_a_code_redirects_to_the_page_first_requested(visitor, bob, office, written):
    app = an_app(bob)
    page = visitor.sign_in(rd=BACK)
    code = app.code()

    text = written.format(code=code, first=code[:3], second=code[3:])
    answer = visitor.send("/second-factor", challenge=field(page, "challenge"), code=text, rd=field(page, "rd"))

    assert (answer.status_code, answer.headers["Location"]) == (303, BACK)
    assert methods(bob) == [["pwd", "otp"]]


def test_the_same_field_takes_a_recovery_code_once(visitor, bob):
    app = an_app(bob)

    answers = []
    for _ in range(2):
        challenge = field(visitor.sign_in(), "challenge")
        answers.append(visitor.send("/second-factor", challenge=challenge, code=app.recovery_codes[0].upper()))

    assert [answer.status_code for answer in answers] == [303, 401]
    assert "The code is wrong, or was used already." in words(answers[1])


def test_a_wrong_code_keeps_the_challenge_and_the_return_url(visitor, bob, office):
    app = an_app(bob)
    challenge = field(visitor.sign_in(rd=BACK), "challenge")

    page = visitor.send("/second-factor", challenge=challenge, code=app.wrong, rd=BACK)

    assert (page.status_code, field(page, "challenge"), field(page, "rd")) == (401, challenge, BACK)
    assert app.wrong not in page.text
    assert visitor.send("/second-factor", challenge=challenge, code=app.code(), rd=BACK).status_code == 303


@pytest.mark.parametrize("reason", ["expired", "too many tries", "spent", "forged", "of another way in"])
def test_an_ended_challenge_shows_the_first_form(visitor, bob, office, reason):
    from accounts.sign_in import challenges  # noqa: PLC0415

    app = an_app(bob)
    page = visitor.sign_in(rd=BACK)
    challenge = field(page, "challenge")
    if reason == "too many tries":
        for code in app.wrong_codes(5):
            visitor.send("/second-factor", challenge=challenge, code=code)
    elif reason == "spent":
        visitor.send("/second-factor", challenge=challenge, code=app.recovery_codes[0])
        visitor.token = ""
    elif reason == "forged":
        challenge = "no.good.token"
    elif reason == "of another way in":
        challenge = challenges.begin(bob, "login", amr=["pwd"], at=timezone.now()).token

    with time_machine.travel(timezone.now() + timedelta(minutes=6 if reason == "expired" else 0), tick=False):
        page = visitor.send("/second-factor", challenge=challenge, code=app.code(), rd=BACK)

    assert page.status_code == 401
    assert "Please sign in again." in words(page)
    assert field(page, "rd") == BACK
    assert 'name="password"' in page.text
    assert visitor.token == ""


def test_guessing_codes_is_delayed_and_the_page_shows_the_delay(visitor, bob):
    app = an_app(bob)
    wrong = iter(app.wrong_codes(20))
    for times in (5, 1):
        challenge = field(visitor.sign_in(), "challenge")
        for _ in range(times):
            visitor.send("/second-factor", challenge=challenge, code=next(wrong))

    page = visitor.send("/second-factor", challenge=challenge, code=app.code())

    assert page.status_code == 429
    seconds = int(page.headers["Retry-After"])
    told = re.search(r"Too many attempts. Please try again in (\d+) (second|minute)", words(page))
    assert int(told[1]) * {"second": 1, "minute": 60}[told[2]] >= seconds > 0


def test_the_delay_of_the_second_step_keeps_its_page(visitor, bob):
    app = an_app(bob)
    challenge = field(visitor.sign_in(), "challenge")
    for _ in range(10):
        visitor.sign_in(password="wrong password")

    page = visitor.send("/second-factor", challenge=challenge, code=app.code())

    assert (page.status_code, field(page, "challenge")) == (429, challenge)


def test_the_delay_is_shown_in_chinese(bob):
    visitor = Visitor(**{"Accept-Language": "zh-CN"})
    for _ in range(10):
        visitor.sign_in(password="wrong password")

    assert re.search(r"尝试次数过多。 请在 \d+ (秒|分钟)后重试。", words(visitor.sign_in()))


def test_reloading_the_second_step_starts_over_with_the_return_url(visitor, office):
    answer = visitor.get("/second-factor", {"rd": BACK})

    assert answer.status_code == 303
    assert parse_qs(urlsplit(answer.headers["Location"]).query) == {"rd": [BACK]}
