"""A second factor for who has none yet, or has not shown it: at sign-in, for a site that asks for it, by oneself."""

import re
from base64 import b64decode
from datetime import timedelta
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest
import time_machine
from django.utils import timezone

from accounts import second_factor
from accounts.models import Session, TotpDevice
from tests.cast import OFFICE
from tests.factors import App, an_app, secret_of
from tests.visitor import BACK, HOSTILE, Visitor, field, recovery_codes, secret, words
from tests.wall import PASSWORD, a_token

pytestmark = pytest.mark.django_db
LATER = timedelta(minutes=11)


@pytest.fixture
def vault(db):
    """A site that asks for a second factor."""
    from policies import services  # noqa: PLC0415

    return services.register_domain(actor="", name=OFFICE, access="two_factor", seed=True)


@pytest.fixture
def visitor(bob):
    return Visitor()


@pytest.fixture
def signed_in(visitor):
    visitor.sign_in()
    return visitor


def begin(visitor, rd=""):
    """Begin the set-up; the page and the app that scanned it."""
    page = visitor.send("/enrol", rd=rd)
    return page, App(secret_of(secret(page)))


def methods(user):
    return sorted(Session.objects.filter(user=user, revoked_at=None).values_list("amr", flat=True))


# Signing in with a second factor


def test_a_right_password_alone_opens_nothing(visitor, bob, office):
    an_app(bob)

    page = visitor.sign_in(rd=BACK)

    assert page.status_code == 200
    assert visitor.token == ""
    assert field(page, "rd") == BACK
    assert OFFICE in words(page)


@pytest.mark.parametrize("written", ["{code}", " {code} ", "{first} {second}", "{first}-{second}"])
def test_a_code_leads_to_the_page_first_asked_for(visitor, bob, office, written):
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


def test_a_wrong_code_keeps_the_challenge_and_the_way_back(visitor, bob, office):
    app = an_app(bob)
    challenge = field(visitor.sign_in(rd=BACK), "challenge")

    page = visitor.send("/second-factor", challenge=challenge, code=app.wrong, rd=BACK)

    assert (page.status_code, field(page, "challenge"), field(page, "rd")) == (401, challenge, BACK)
    assert app.wrong not in page.text
    assert visitor.send("/second-factor", challenge=challenge, code=app.code(), rd=BACK).status_code == 303


@pytest.mark.parametrize("reason", ["expired", "too many tries", "spent", "forged", "of another way in"])
def test_a_challenge_that_is_over_leads_to_the_beginning(visitor, bob, office, reason):
    from accounts import challenges  # noqa: PLC0415

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
        challenge = challenges.begin(bob, "login", at=timezone.now()).token

    with time_machine.travel(timezone.now() + timedelta(minutes=6 if reason == "expired" else 0), tick=False):
        page = visitor.send("/second-factor", challenge=challenge, code=app.code(), rd=BACK)

    assert page.status_code == 401
    assert "Please sign in again." in words(page)
    assert field(page, "rd") == BACK
    assert 'name="password"' in page.text
    assert visitor.token == ""


def test_who_guesses_codes_must_wait_and_is_told_how_long(visitor, bob):
    app = an_app(bob)
    wrong = iter(app.wrong_codes(20))
    for _ in range(2):
        challenge = field(visitor.sign_in(), "challenge")
        for _ in range(5):
            visitor.send("/second-factor", challenge=challenge, code=next(wrong))

    page = visitor.sign_in()

    assert page.status_code == 429
    seconds = int(page.headers["Retry-After"])
    told = re.search(r"Too many attempts. Please try again in (\d+) (second|minute)", words(page))
    assert int(told[1]) * {"second": 1, "minute": 60}[told[2]] >= seconds > 0


def test_the_wait_of_the_second_step_keeps_its_page(visitor, bob):
    app = an_app(bob)
    challenge = field(visitor.sign_in(), "challenge")
    for _ in range(10):
        visitor.sign_in(password="wrong password")

    page = visitor.send("/second-factor", challenge=challenge, code=app.code())

    assert (page.status_code, field(page, "challenge")) == (429, challenge)


def test_the_wait_is_told_in_chinese(bob):
    visitor = Visitor(**{"Accept-Language": "zh-CN"})
    for _ in range(10):
        visitor.sign_in(password="wrong password")

    assert re.search(r"尝试次数过多。 请在 \d+ (秒|分钟)后重试。", words(visitor.sign_in()))


def test_whoever_reloads_the_second_step_begins_again_with_the_way_back(visitor, office):
    answer = visitor.get("/second-factor", {"rd": BACK})

    assert answer.status_code == 303
    assert parse_qs(urlsplit(answer.headers["Location"]).query) == {"rd": [BACK]}


# Step-up


def test_a_site_that_asks_for_two_factors_asks_who_is_signed_in_for_a_code(signed_in, bob, vault, auth):
    an_app(bob)

    assert auth(cookie=f"service.token={signed_in.token}").reason == "second-factor-required"
    page = signed_in.get("/", {"rd": BACK})

    assert 'action="/wall/step-up"' in page.text
    assert field(page, "rd") == BACK


def test_a_step_up_replaces_the_session(signed_in, bob, vault, auth):
    app, old = an_app(bob), signed_in.token

    answer = signed_in.send("/step-up", code=app.code(), rd=BACK)

    assert (answer.status_code, answer.headers["Location"]) == (303, BACK)
    assert signed_in.token != old
    assert auth(cookie=f"service.token={signed_in.token}").verdict == (200, "session-valid")
    assert auth(cookie=f"service.token={old}").verdict == (401, "credential-invalid")
    assert methods(bob) == [["pwd", "otp"]]


def test_a_step_up_gives_no_reach_that_the_session_had_not(signed_in, bob, vault):
    signed_in.send("/step-up", code=an_app(bob).code())

    assert signed_in.get("/users").status_code == 403


def test_a_planted_session_does_not_get_the_second_factor_of_another(visitor, alice, bob, vault, auth):
    """Fixation: what the attacker knows is worth nothing after the victim has given his code."""
    planted, app = a_token(bob, audiences=["gate"]), an_app(bob)
    visitor.token = planted

    visitor.send("/step-up", code=app.code())

    assert auth(cookie=f"service.token={planted}").status == 401
    assert planted != visitor.token


def test_a_wrong_code_at_step_up_changes_nothing(signed_in, bob, vault):
    app, old = an_app(bob), signed_in.token

    page = signed_in.send("/step-up", code=app.wrong, rd=BACK)

    assert (page.status_code, field(page, "rd"), signed_in.token) == (401, BACK, old)
    assert methods(bob) == [["pwd"]]


def test_wrong_codes_at_step_up_are_counted(signed_in, bob):
    app = an_app(bob)
    pages = [signed_in.send("/step-up", code=code) for code in app.wrong_codes(11)]

    assert [page.status_code for page in pages] == [401] * 10 + [429]
    assert int(pages[-1].headers["Retry-After"]) > 0
    assert signed_in.send("/step-up", code=app.code()).status_code == 429


def test_a_code_of_another_user_is_wrong(signed_in, alice, bob):
    an_app(bob)

    assert signed_in.send("/step-up", code=an_app(alice).code()).status_code == 401


def test_who_has_shown_two_factors_is_not_asked_again(visitor, bob, vault):
    visitor.token = a_token(bob, amr=("pwd", "otp"))

    page = visitor.get("/", {"rd": BACK})

    assert "Continue to" in words(page)


def test_of_several_cookies_the_session_with_two_factors_counts(visitor, bob, vault):
    weak, strong = a_token(bob), a_token(bob, amr=("pwd", "otp"))

    page = visitor.get("/", {"rd": BACK}, Cookie=f"service.token={weak}; service.token={strong}")

    assert "Continue to" in words(page)


# Enrolment


def test_a_site_that_asks_for_two_factors_leads_who_has_none_to_the_set_up(signed_in, vault):
    page = signed_in.get("/", {"rd": BACK})

    assert 'action="/wall/enrol"' in page.text
    assert f"{OFFICE}:8443 lets in only who has a second factor" in re.sub(r"\s+", " ", words(page))
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
    assert not second_factor.selectors.has_second_factor(bob)


def test_wrong_first_codes_are_counted(signed_in):
    _page, app = begin(signed_in)
    pages = [signed_in.send("/enrol/confirm", code=code) for code in app.wrong_codes(11)]

    assert [page.status_code for page in pages] == [400] * 10 + [429]


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


def test_the_password_makes_the_session_a_new_one(visitor, bob, auth):
    visitor.token = old = a_token(bob, audiences=["gate"], at=timezone.now() - LATER)

    page = visitor.send("/enrol", password=PASSWORD)
    answer = visitor.send("/enrol/confirm", code=App(secret_of(secret(page))).code())

    assert answer.status_code == 200
    assert auth(cookie=f"service.token={old}").status == 401


def test_a_stolen_old_session_is_not_shown_a_secret_that_waits(visitor, bob, office):
    """Whoever holds it could confirm the secret, and the account would be his."""
    visitor.token = a_token(bob, audiences=["gate"], at=timezone.now() - LATER)
    waiting = second_factor.begin_setup(bob, at=timezone.now())
    app = App(secret_of(waiting.secret))

    for code in (app.wrong, app.code()):
        page = visitor.send("/enrol/confirm", code=code)

        assert page.status_code == 403
        assert waiting.secret not in page.text.replace(" ", "")
        assert "Please enter your password." in words(page)
    assert not second_factor.selectors.has_second_factor(bob)


# All of them


PATHS = ["/step-up", "/enrol", "/enrol/confirm"]


@pytest.mark.parametrize("path", PATHS)
def test_who_is_not_signed_in_is_led_to_the_guard_page_with_the_way_back(visitor, office, path):
    answer = visitor.send(path, code="123456", rd=BACK)

    assert answer.status_code == 303
    assert parse_qs(urlsplit(answer.headers["Location"]).query) == {"rd": [BACK]}


@pytest.mark.parametrize("headers", [{"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}])
@pytest.mark.parametrize("path", ["/second-factor", *PATHS])
def test_another_site_sends_none_of_these_forms(signed_in, bob, path, headers):
    page = signed_in.send(path, headers, code="123456")

    assert page.status_code == 403
    assert "Another site sent this form." in words(page)
    assert not TotpDevice.objects.exists()


@pytest.mark.parametrize("rd", HOSTILE)
@pytest.mark.parametrize("path", ["/", "/second-factor", *PATHS, "/sign-out"])
def test_no_page_leads_to_where_a_stranger_wants(signed_in, office, path, rd):
    answers = [signed_in.send(path, rd=rd, code="1", username="Bob", password="wrong")]
    if path != "/sign-out":
        answers.append(signed_in.get(path, {"rd": rd}))

    for answer in answers:
        assert answer.headers.get("Location", "/wall/").startswith("/wall/")
        assert "evil" not in answer.headers.get("Location", "")
        assert "evil" not in answer.headers.get("Content-Security-Policy", "")
        assert "evil" not in answer.text
        assert "javascript:" not in answer.text
