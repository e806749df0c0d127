"""Signing in to the Django admin: through the same service as the API, with a code for users with a second factor."""

import uuid

import pytest
from django.conf import settings
from django.contrib.auth import authenticate
from django.test import Client
from django.utils import timezone

from accounts import services
from accounts.backends import AccountsBackend
from accounts.models import FailureCount, Session, WrongCodes
from accounts.sign_in import totp
from tests.admin.conftest import ADMIN, Pages
from tests.support.proxies import PASSWORD, Api
from tests.support.second_factor import an_app

pytestmark = pytest.mark.django_db
COOKIE = settings.SESSION_COOKIE_NAME


@pytest.fixture
def app(alice):
    return an_app(alice)


@pytest.fixture
def stranger(alice):
    return Pages()


def sign_in(browser, username="alice", password=PASSWORD, code=""):
    return browser.submit("/login/", username=username, password=password, code=code)


def is_in(browser):
    return browser.get("/").status_code == 200


def test_without_a_second_factor_the_password_signs_in(stranger):
    response = sign_in(stranger)

    assert (response.status_code, response.headers["Location"]) == (302, f"{ADMIN}/")
    assert is_in(stranger)


def test_with_a_second_factor_a_code_signs_in(stranger, app):
    assert sign_in(stranger, code=app.code()).status_code == 302
    assert is_in(stranger)


def test_a_recovery_code_is_accepted_once(stranger, app):
    code = app.recovery_codes[0]
    assert sign_in(stranger, code=code).status_code == 302

    again = Pages()
    assert sign_in(again, code=code).status_code == 200
    assert not is_in(again)


@pytest.mark.parametrize("code", ["", "000", "wrong", "x" * 65, "\u0661" * 6], ids=ascii)
def test_without_a_valid_code_sign_in_is_refused(stranger, app, code):
    response = sign_in(stranger, code=app.wrong if code == "wrong" else code)

    assert response.status_code == 200
    assert not is_in(stranger)
    assert "_auth_user_id" not in stranger.client.session


def test_a_code_used_elsewhere_is_refused(stranger, app):
    code = app.code()
    challenge = Api().post("/login", {"username": "alice", "password": PASSWORD}).json()["challenge_token"]
    assert Api().post("/login/2fa", {"challenge_token": challenge, "code": code}).status_code == 200

    sign_in(stranger, code=code)

    assert not is_in(stranger)


def test_a_right_code_does_not_replace_the_password(stranger, app):
    code = app.code()

    assert sign_in(stranger, password="wrong", code=code).status_code == 200
    assert not is_in(stranger)
    assert sign_in(stranger, code=code).status_code == 302


@pytest.mark.parametrize(
    ("username", "password"), [("Bob", PASSWORD), ("Bob", "wrong"), ("nobody", PASSWORD), ("alice", "wrong")]
)
def test_non_admins_and_wrong_passwords_do_not_sign_in(stranger, bob, username, password):
    assert sign_in(stranger, username, password).status_code == 200
    assert not is_in(stranger)


def test_missing_and_too_long_fields_are_refused_uncounted(stranger, app):
    stranger.client.get(f"{ADMIN}/login/")
    for fields in ({"password": ""}, {"username": ""}, {"code": "x" * 65}):
        sign_in(stranger, **{"code": app.code(), **fields})

    assert not FailureCount.objects.exists()
    assert COOKIE not in stranger.client.cookies


def test_failures_are_counted_together_with_those_of_the_other_routes(clock, stranger):
    for _ in range(10):
        assert sign_in(stranger, password="wrong").status_code == 200

    refused = sign_in(stranger)

    assert refused.status_code == 429
    assert refused.headers["Retry-After"] == "30"
    assert "too many failed attempts" in refused.text
    assert not is_in(stranger)
    assert Api().post("/login", {"username": "alice", "password": PASSWORD}).status_code == 429


def test_wrong_codes_count_as_failures(stranger, app):
    for code in app.wrong_codes(10):
        sign_in(stranger, code=code)

    assert sign_in(stranger, code=app.code()).status_code == 429


@pytest.mark.parametrize("nothing", ["", "  "], ids=repr)
def test_an_empty_code_is_asked_for_and_counts_no_failure(stranger, app, nothing):
    answers = [sign_in(stranger, code=nothing) for _ in range(11)]

    assert {answer.status_code for answer in answers} == {200}
    assert "This field is required." in answers[0].text
    assert not WrongCodes.objects.exists()
    assert set(FailureCount.objects.values_list("failures", flat=True)) == {0}
    assert sign_in(stranger, code=app.code()).status_code == 302


def test_enabling_a_second_factor_ends_sessions_with_one_factor(pages, alice):
    assert is_in(pages)
    assert pages.client.get("/wall/users").status_code == 200

    app = an_app(alice)

    assert pages.get("/").status_code == 302
    assert pages.get("/accounts/user/").status_code == 302
    assert pages.client.get("/wall/users").status_code == 401
    assert pages.client.get(f"/wall/users/{alice.pk}").status_code == 401
    assert sign_in(pages, code=app.code()).status_code == 302
    assert pages.client.get("/wall/users").status_code == 200


def test_a_pending_setup_ends_no_session(pages, alice):
    totp.begin_setup(alice, at=timezone.now())

    assert is_in(pages)


def test_enabling_a_second_factor_refuses_pending_forms(pages, alice):
    page = pages.get("/accounts/user/add/")
    assert page.status_code == 200
    an_app(alice)

    pages.submit("/accounts/user/add/", username="eve", new_password=PASSWORD)

    assert not services.User.objects.filter(username="eve").exists()


def test_the_session_key_changes_at_sign_in(stranger):
    stranger.client.get(f"{ADMIN}/login/")
    planted = stranger.client.session
    planted["gatewall.session"] = str(uuid.uuid4())
    planted.save()
    stranger.client.cookies[COOKIE] = planted.session_key

    sign_in(stranger)

    assert stranger.client.cookies[COOKIE].value != planted.session_key
    assert stranger.client.session["gatewall.session"] == str(Session.objects.get().pk)


ENDS = {
    "password": lambda user: services.change_user(user, actor="cast", password=PASSWORD + " new"),
    "demotion": lambda user: services.change_user(user, actor="cast", is_admin=False),
    "disabling": lambda user: services.change_user(user, actor="cast", is_active=False),
    "disabling for a moment": lambda user: services.change_user(
        services.change_user(user, actor="cast", is_active=False), is_active=True, actor="cast"
    ),
    "deletion": lambda user: services.delete_user(user, actor="cast"),
    "recovery": lambda user: services.end_all_sessions(user, actor="cast"),
}


@pytest.mark.parametrize("end", ENDS)
def test_ending_a_user_ends_their_admin_session(stranger, alice, end):
    services.create_user(actor="", username="dora", password=PASSWORD, is_admin=True)
    sign_in(stranger)
    assert is_in(stranger)

    ENDS[end](alice)

    assert not is_in(stranger)
    assert stranger.client.get("/wall/users").status_code in {401, 403}


def test_a_form_without_its_csrf_token_is_refused(alice):
    client = Client(enforce_csrf_checks=True)

    response = client.post(f"{ADMIN}/login/", {"username": "alice", "password": PASSWORD})

    assert response.status_code == 403
    assert COOKIE not in response.cookies


def test_djangos_own_authentication_always_fails(alice):
    assert authenticate(username="alice", password=PASSWORD) is None
    assert not Client().login(username="alice", password=PASSWORD)
    assert AccountsBackend().authenticate(None, username="alice", password=PASSWORD) is None


@pytest.mark.parametrize("disabled", [True, False])
def test_the_backend_finds_only_active_users(bob, disabled):
    services.change_user(bob, actor="cast", is_active=not disabled)

    assert (AccountsBackend().get_user(bob.pk) is None) is disabled
    assert AccountsBackend().get_user(999_999) is None


@pytest.mark.parametrize("way", ["https://evil.example/", "//evil.example", "javascript:alert(1)"])
def test_signing_in_never_redirects_to_another_site(stranger, way):
    stranger.client.get(f"{ADMIN}/login/")

    response = stranger.submit(f"/login/?next={way}", username="alice", password=PASSWORD, next=way)

    assert response.headers["Location"] == f"{ADMIN}/"


def test_the_sign_in_page_contains_no_secret_and_no_password(stranger, app):
    code = app.wrong
    text = sign_in(stranger, code=code).text

    for secret in (PASSWORD, app.code(), *app.recovery_codes):
        assert secret not in text


def test_a_sign_in_here_opens_no_session_of_the_gate(stranger, app):
    response = sign_in(stranger, code=app.code())

    assert "service.token" not in response.cookies
    assert Session.objects.get().amr == ["pwd", "otp"]


def test_signing_out_ends_the_session(stranger):
    sign_in(stranger)
    token = stranger.client.cookies["gatewall.csrf"].value

    stranger.client.post(f"{ADMIN}/logout/", headers={"X-CSRFToken": token})

    assert not is_in(stranger)
