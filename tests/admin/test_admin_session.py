"""The Django admin's session: its row, its end, and re-authentication in it."""

import json
from datetime import timedelta

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from accounts import selectors, services
from accounts.models import FailureCount, Session
from accounts.sign_in import recovery, throttling
from gatewall.policy import system_settings
from tests.admin.conftest import ADMIN, Fields, Pages
from tests.support.proxies import PASSWORD, Api, a_token, enter_admin_site
from tests.support.second_factor import an_app

pytestmark = pytest.mark.django_db
OTHER_PASSWORD, OLD = "staple battery horse correct", timedelta(minutes=11)


def sign_in(browser, code=""):
    return browser.submit("/login/", username="alice", password=PASSWORD, code=code)


def is_in(browser):
    return browser.get("/").status_code == 200


def an_old_session(alice, amr=("pwd",)):
    pages = Pages()
    enter_admin_site(pages.client, alice, amr=amr, at=timezone.now() - OLD)
    return pages


def own_page(alice):
    return f"/accounts/user/{alice.pk}/change/"


def values_of_own_page(pages, alice):
    return Fields(pages.get(own_page(alice)).content.decode()).values


def guess_from_all_over_the_world():
    """Lock the account by failures, each from another network."""
    system_settings.change(actor="x", login_failures_per_account=100)
    throttling.attempt("alice", "198.18.0.1", timezone.now())
    FailureCount.objects.filter(scope=throttling.ACCOUNT).update(failures=99)
    throttling.attempt("alice", "198.18.1.1", timezone.now())
    with pytest.raises(throttling.TooManyAttempts):
        throttling.attempt("alice", "198.19.0.1", timezone.now())


def test_distributed_failures_do_not_lock_out_an_admin_site_user(alice):
    assert sign_in(Pages()).status_code == 302
    guess_from_all_over_the_world()

    assert sign_in(Pages()).status_code == 302


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "localhost"}, 200),
        ({"Host": "localhost", "X-Forwarded-For": "127.0.0.1"}, 429),
        ({"Host": "wall.example"}, 429),
    ],
)
def test_only_local_sign_ins_bypass_the_distributed_lock(alice, headers, status):
    guess_from_all_over_the_world()

    body = json.dumps({"username": "alice", "password": PASSWORD})
    answer = Client().post("/wall/login", body, content_type="application/json", headers=headers)

    assert answer.status_code == status


def test_a_session_is_shown_and_ended_like_every_other(alice):
    pages = Pages()
    sign_in(pages)
    (shown,) = pages.client.get(f"/wall/users/{alice.pk}/sessions").json()["results"]
    assert shown["current"] is True

    Api(a_token(alice)).delete(f"/users/{alice.pk}/sessions/{shown['jti']}")

    assert not is_in(pages)
    assert pages.client.get("/wall/users").status_code == 401


def test_a_session_ends_after_session_hours(alice):
    system_settings.change(actor="x", session_hours=1)
    pages = Pages()
    sign_in(pages)
    cookie = pages.client.cookies["gatewall.admin"]
    assert 3590 <= int(cookie["max-age"]) <= 3600

    with time_machine.travel(timezone.now() + timedelta(minutes=59)):
        assert is_in(pages)
        pages.submit("/accounts/user/add/", username="dave", new_password=OTHER_PASSWORD)
    with time_machine.travel(timezone.now() + timedelta(minutes=61)):
        assert not is_in(pages)


def test_signing_out_ends_the_session_in_its_row(alice):
    pages = Pages()
    sign_in(pages)
    first = Session.objects.get()
    token = pages.client.cookies["gatewall.csrf"].value
    pages.client.post(f"{ADMIN}/logout/", headers={"X-CSRFToken": token})

    assert not selectors.live_sessions(alice.pk, timezone.now()).filter(pk=first.pk).exists()
    assert not is_in(pages)


def test_a_session_without_a_row_is_refused(alice):
    pages = Pages()
    pages.client.force_login(alice)

    assert not is_in(pages)
    assert pages.client.get("/wall/users").status_code == 401


def test_a_session_with_the_row_of_another_user_is_refused(alice, bob):
    pages = Pages()
    enter_admin_site(pages.client, bob)
    row = pages.client.session["gatewall.session"]
    pages.client.force_login(alice)
    store = pages.client.session
    store["gatewall.session"] = row
    store.save()

    assert not is_in(pages)


@pytest.mark.parametrize("path", ["{}", "0{}", "%30{}"])
@pytest.mark.parametrize("sent", [{}, {"current_password": "wrong"}, {"current_code": "000000"}])
def test_an_admin_with_an_old_session_needs_the_current_password_for_a_new_one(alice, sent, path):
    pages = an_old_session(alice)
    page = f"/accounts/user/{path.format(alice.pk)}/change/"

    values = {**values_of_own_page(pages, alice), "new_password": OTHER_PASSWORD, **sent}
    response = pages.client.post(f"{ADMIN}{page}", values)

    assert response.status_code in {200, 404}
    alice.refresh_from_db()
    assert alice.check_password(PASSWORD)


def test_a_wrong_current_password_counts_as_a_failure(alice):
    pages = an_old_session(alice)

    response = pages.submit(own_page(alice), new_password=OTHER_PASSWORD, current_password="wrong")

    assert "the password is wrong" in pages.words(response)
    assert set(FailureCount.objects.values_list("failures", flat=True)) == {1}


def test_an_admin_changes_their_password_with_the_current_one_and_stays_signed_in(alice):
    pages = an_old_session(alice)

    response = pages.submit(own_page(alice), new_password=OTHER_PASSWORD, current_password=PASSWORD)

    assert response.status_code == 302
    alice.refresh_from_db()
    assert alice.check_password(OTHER_PASSWORD)
    assert is_in(pages)
    assert selectors.live_sessions(alice.pk, timezone.now()).count() == 1


def test_setting_the_password_of_another_user_asks_for_the_admins_own(alice, bob):
    pages = an_old_session(alice)
    page = f"/accounts/user/{bob.pk}/change/"

    assert pages.submit(page, remark="moved").status_code == 302
    assert pages.submit(page, new_password=OTHER_PASSWORD).status_code == 200
    assert pages.submit(page, new_password=OTHER_PASSWORD, current_password=PASSWORD).status_code == 302
    bob.refresh_from_db()
    assert bob.check_password(OTHER_PASSWORD)


@pytest.mark.parametrize("known", ["nothing", "wrong", "password", "code"])
def test_an_admin_who_removes_their_own_second_factor_needs_a_code(alice, known):
    app = an_app(alice)
    pages = an_old_session(alice, amr=("pwd", "otp"))
    sent = {
        "nothing": {},
        "wrong": {"current_code": app.wrong},
        "password": {"current_password": PASSWORD},
        "code": {"current_code": app.code()},
    }

    pages.submit(own_page(alice), forget_second_factor="on", **sent[known])

    assert selectors.has_second_factor(alice) is (known != "code")


def test_a_code_alone_does_not_change_the_password(alice):
    app = an_app(alice)
    pages = an_old_session(alice, amr=("pwd", "otp"))

    pages.submit(own_page(alice), new_password=OTHER_PASSWORD, current_code=app.code())

    alice.refresh_from_db()
    assert alice.check_password(PASSWORD)


def test_a_removed_second_factor_does_not_count_for_a_new_one(alice):
    app = an_app(alice)
    pages = an_old_session(alice, amr=("pwd", "otp"))
    given = {"new_password": OTHER_PASSWORD, "current_password": PASSWORD, "current_code": app.code()}
    pages.submit(own_page(alice), forget_second_factor="on", **given)
    assert is_in(pages)

    alice.refresh_from_db()
    an_app(alice)

    assert not is_in(pages)


def test_a_row_with_an_older_session_version_is_refused(alice):
    pages = Pages()
    sign_in(pages)

    recovery.reset(alice, actor="x")
    services.change_user(alice, actor="x", remark="tall")

    assert not is_in(pages)
