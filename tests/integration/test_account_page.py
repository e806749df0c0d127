"""The account page: users manage their own account, and no other."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from accounts import services
from accounts.models import Session
from accounts.sign_in import second_factor
from licensing.models import GitToken
from tests.support.proxies import PASSWORD, a_git_token, a_token
from tests.support.second_factor import an_app
from tests.support.visitor import Visitor, words

pytestmark = pytest.mark.django_db
NEW = "another good password"
FORMS = {
    "/account/password": {"current": PASSWORD, "new": NEW},
    "/account/second-factor/off": {"password": PASSWORD},
    "/account/sessions/end": {"jti": "00000000-0000-4000-8000-000000000000"},
    "/account/sessions/end-all": {},
    "/account/git-tokens": {"name": "laptop", "days": "30"},
    "/account/git-tokens/delete": {"id": "1"},
}
forms = pytest.mark.parametrize("path", FORMS)


@pytest.fixture
def visitor(bob):
    visitor = Visitor()
    visitor.sign_in()
    return visitor


def live(user):
    return set(second_factor.selectors.live_sessions(user.pk, timezone.now()).values_list("pk", flat=True))


# Authorization


@forms
def test_a_form_without_a_session_is_redirected_to_the_guard_page(bob, path):
    answer = Visitor().send(path, **FORMS[path])

    assert (answer.status_code, answer.headers["Location"]) == (303, "/wall/")
    assert not GitToken.objects.exists()


def test_the_page_without_a_session_redirects_to_the_guard_page(bob):
    answer = Visitor().get("/account")

    assert (answer.status_code, answer.headers["Location"]) == (303, "/wall/")


@pytest.mark.parametrize(
    "headers", [{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "https://evil.example"}]
)
@forms
def test_forms_sent_by_another_site_are_refused(visitor, bob, path, headers):
    before = live(bob)

    page = visitor.send(path, headers, **FORMS[path])

    assert page.status_code == 403
    assert live(bob) == before
    assert not GitToken.objects.exists()
    assert services.User.objects.get().check_password(PASSWORD)


@forms
def test_with_a_public_url_forms_sent_by_a_protected_site_are_refused(visitor, bob, settings, path):
    """Under the site's host the pages have its origin, and its scripts could send them."""
    settings.GATEWALL_PUBLIC_URL = "https://wall.example"
    before = live(bob)

    for origin in ("https://office.example", "null"):
        page = visitor.send(path, {"Sec-Fetch-Site": "same-origin", "Origin": origin}, **FORMS[path])

        assert page.status_code == 403
        assert 'href="https://wall.example/wall/"' in page.text
    assert live(bob) == before
    assert visitor.send(
        path, {"Sec-Fetch-Site": "same-origin", "Origin": "https://wall.example"}
    ).status_code != 403 or (path in {"/account/password", "/account/second-factor/off"})


@pytest.mark.parametrize("media_type", ["application/json", "multipart/form-data; boundary=x", "text/plain"])
@forms
def test_forms_are_accepted_only_as_form_data(visitor, path, media_type):
    response = visitor.client.post(f"/wall{path}", b'{"a": 1}', content_type=media_type)

    assert response.status_code == 415


@forms
def test_reloading_the_answer_to_a_form_returns_to_the_page(visitor, path):
    answer = visitor.get(path)

    assert (answer.status_code, answer.headers["Location"]) == (303, "/wall/account")


@pytest.mark.parametrize("how", ["revoked", "expired", "disabled", "garbage"])
@forms
def test_a_form_with_an_ended_session_changes_nothing(visitor, bob, path, how):
    if how == "revoked":
        services.revoke_session(Session.objects.get().pk, at=timezone.now())
    elif how == "expired":
        visitor.token = a_token(bob, at=timezone.now() - timedelta(days=2))
    elif how == "disabled":
        services.change_user(bob, actor="", is_active=False)
    else:
        visitor.token = "no.good.token"

    assert visitor.send(path, **FORMS[path]).headers["Location"] == "/wall/"
    assert not GitToken.objects.exists()


# The page


def test_the_page_contains_no_credential(visitor, bob):
    app, token = an_app(bob), a_git_token(bob)

    text = visitor.get("/account").text

    assert token not in text
    assert visitor.token not in text
    assert not any(code in text for code in app.recovery_codes)
    assert bob.password not in text


def test_names_from_users_are_escaped(bob):
    nasty = "<img src=x onerror=alert(1)>\"'"
    visitor = Visitor(**{"User-Agent": nasty})
    visitor.sign_in()
    a_git_token(bob, name="<script>alert(1)</script>")

    text = visitor.get("/account").text

    assert "<img src=x" not in text
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    assert "&lt;img src=x" in text


def test_long_tables_are_paged(visitor, bob):
    for number in range(20):
        a_token(bob, at=timezone.now() - timedelta(minutes=number))
        a_git_token(bob, name=f"{number:02d}" + "&" * 98)

    seen = set()
    for number in range(1, 4):
        seen |= set(re.findall(r"<strong>(\d\d)&amp;", visitor.get("/account", {"tokens": str(number)}).text))
    assert len(seen) == 20
    assert 'href="?sessions=2"' in visitor.get("/account").text


@pytest.mark.parametrize("page", ["0", "-1", "999", "x", "9" * 50, "\0"])
def test_a_page_number_out_of_range_is_no_error(visitor, page):
    assert visitor.get("/account", {"tokens": page, "sessions": page}).status_code == 200


@pytest.mark.parametrize("done", ["password", "<b>", "nothing"])
def test_the_message_after_a_form_cannot_be_forged_in_the_url(visitor, done):
    text = visitor.get("/account", {"done": done}).text

    assert ("Your password is changed." in text) == (done == "password")
    assert "<b>" not in text


# Password


def test_a_new_password_ends_every_other_session(visitor, bob, auth):
    other = a_token(bob)
    old = visitor.token

    answer = visitor.send("/account/password", current=PASSWORD, new=NEW)

    assert (answer.status_code, answer.headers["Location"]) == (303, "/wall/account?done=password")
    assert [auth(cookie=f"service.token={token}").status for token in (visitor.token, other, old)] == [200, 401, 401]
    assert Visitor().sign_in(password=NEW).status_code == 303
    assert Visitor().sign_in(password=PASSWORD).status_code == 401


def test_a_new_password_keeps_amr_and_audience_of_the_session(visitor, bob, settings):
    visitor.token = a_token(bob, audiences=["gate"], amr=("pwd", "otp"))

    visitor.send("/account/password", current=PASSWORD, new=NEW)

    assert list(Session.objects.latest("issued_at").amr) == ["pwd", "otp"]
    assert visitor.get("/users").status_code == 403


@pytest.mark.parametrize(
    ("current", "new", "status", "told"),
    [
        ("wrong password", NEW, 403, "The password or code is wrong."),
        ("", NEW, 403, "Please enter your password."),
        (PASSWORD, "short", 400, "A password has 8 to 128 characters."),
        (PASSWORD, "x" * 129, 400, "A password has 8 to 128 characters."),
        (PASSWORD, "password123", 400, "This password is too common."),
        (PASSWORD, "", 400, "A password has 8 to 128 characters."),
    ],
)
def test_a_password_that_is_refused_changes_nothing(visitor, current, new, status, told):
    page = visitor.send("/account/password", current=current, new=new)

    assert (page.status_code, told in words(page)) == (status, True)
    assert not new or new not in page.text
    assert Visitor().sign_in().status_code == 303


def test_guesses_of_the_password_are_counted(visitor):
    pages = [visitor.send("/account/password", current="wrong password", new=NEW) for _ in range(11)]

    assert [page.status_code for page in pages] == [403] * 10 + [429]
    assert int(pages[-1].headers["Retry-After"]) > 0
    assert "Too many attempts." in words(pages[-1])


# Second factor


@pytest.mark.parametrize("proof", ["code", "recovery code"])
def test_a_code_removes_the_second_factor(visitor, bob, proof):
    app = an_app(bob)
    code = {"code": app.code(), "recovery code": app.recovery_codes[0]}[proof]

    answer = visitor.send("/account/second-factor/off", password="", code=code)

    assert answer.headers["Location"] == "/wall/account?done=second-factor-off"
    assert Visitor().sign_in().status_code == 303


@pytest.mark.parametrize("sent", [{}, {"password": PASSWORD}, {"code": "wrong"}], ids=["nothing", "password", "wrong"])
def test_the_second_factor_stays_without_a_proof(visitor, bob, sent):
    an_app(bob)

    assert visitor.send("/account/second-factor/off", **sent).status_code == 403
    assert second_factor.selectors.has_second_factor(bob)


def test_a_second_factor_that_is_not_there_cannot_be_switched_off(visitor):
    page = visitor.send("/account/second-factor/off", password=PASSWORD)

    assert (page.status_code, "This does not exist any more." in words(page)) == (404, True)


# Sessions


def test_a_user_can_end_a_session_of_their_own(visitor, bob, auth):
    phone = a_token(bob)
    jti = Session.objects.latest("issued_at").pk

    assert visitor.send("/account/sessions/end", jti=str(jti)).status_code == 303
    assert auth(cookie=f"service.token={phone}").status == 401
    assert auth(cookie=f"service.token={visitor.token}").status == 200


def test_ending_the_session_of_this_device_signs_out(visitor):
    visitor.send("/account/sessions/end", jti=str(Session.objects.get().pk))

    assert visitor.get("/account").headers["Location"] == "/wall/"


@pytest.mark.parametrize("whose", ["another's", "unknown", "malformed", "ended"])
def test_a_user_can_end_only_their_own_live_sessions(visitor, alice, bob, whose):
    a_token(alice)
    jti = str(Session.objects.get(user=alice).pk)
    if whose == "unknown":
        jti = "00000000-0000-4000-8000-000000000000"
    elif whose == "malformed":
        jti = "'; drop table"
    elif whose == "ended":
        a_token(bob)
        jti = str(Session.objects.filter(user=bob).latest("issued_at").pk)
        services.revoke_session(jti, at=timezone.now())

    page = visitor.send("/account/sessions/end", jti=jti)

    assert (page.status_code, "This does not exist any more." in words(page)) == (404, True)
    assert len(live(alice)) == 1


def test_signing_out_on_all_devices_ends_every_session_of_the_user(visitor, alice, bob, auth):
    phone, hers = a_token(bob), a_token(alice)
    mine = visitor.token

    answer = visitor.send("/account/sessions/end-all")

    assert (answer.status_code, answer.headers["Location"]) == (303, "/wall/")
    assert answer.cookies["service.token"]["max-age"] == 0
    assert [auth(cookie=f"service.token={token}").status for token in (mine, phone, hers)] == [401, 401, 200]
