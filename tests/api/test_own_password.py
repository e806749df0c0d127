"""Password changes: by the owner with the old password, or by an admin."""

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from accounts import services
from accounts.models import Session, User
from accounts.sign_in import password as passwords
from tests.api.own import AUDIENCES, NEW, OLD, of
from tests.support.proxies import PASSWORD, Api, a_token, code_of, enter_admin_site
from tests.support.second_factor import an_app

pytestmark = pytest.mark.django_db


def may_sign_in(username, password):
    return Api().post("/login", {"username": username, "password": password}).status_code == 200


def test_a_fresh_session_needs_the_old_password_for_a_new_one_too(fresh, bob):
    path = of(bob, "password")

    assert code_of(fresh.put(path, {"new_password": NEW})) == (403, "reauthentication-required")
    assert code_of(fresh.put(path, {"new_password": NEW, "current_password": "wrong"})) == (
        403,
        "reauthentication-failed",
    )
    assert may_sign_in("Bob", PASSWORD)


@pytest.mark.parametrize("age", [OLD - OLD, OLD])
@pytest.mark.parametrize("has_condition", [False, True])
def test_the_user_route_changes_no_password_of_the_caller_without_proof(alice, age, has_condition):
    client, path = Api(a_token(alice, at=timezone.now() - age)), f"/users/{alice.pk}"
    condition = {"If-Match": client.get(path).headers["ETag"]} if has_condition else {}

    answer = client.put(path, {"password": NEW, "remark": "x"}, headers=condition)

    assert code_of(answer) == (403, "reauthentication-required")
    assert client.get(path).json()["remark"] == ""
    assert (may_sign_in("alice", PASSWORD), may_sign_in("alice", NEW)) == (True, False)


@AUDIENCES
def test_a_new_password_ends_all_sessions_and_opens_one_like_the_callers(bob, auth, audiences):
    other, own = a_token(bob), a_token(bob, audiences=audiences, amr=("pwd", "otp"))

    response = Api(own).put(of(bob, "password"), {"current_password": PASSWORD, "new_password": NEW})

    assert response.status_code == 200
    token = response.json()["token"]
    assert response.cookies["service.token"].value == token
    assert {auth(service_authorization=old).status for old in (other, own)} == {401}
    assert auth(service_authorization=token).status == 200
    assert Api(token).get("/session").json()["amr"] == ["pwd", "otp"]
    assert Session.objects.count() == 3
    assert Api(token).get("/ip-black-list").status_code == 403
    assert (may_sign_in("Bob", PASSWORD), may_sign_in("Bob", NEW)) == (False, True)


def test_a_new_password_in_a_guard_session_gives_no_api_token(alice):
    client = Api(a_token(alice, audiences=["gate"]))

    token = client.put(of(alice, "password"), {"current_password": PASSWORD, "new_password": NEW}).json()["token"]

    assert Api(token).get("/users").status_code == 403


def test_guesses_of_the_current_password_are_slowed_down(fresh, bob):
    body = {"current_password": "wrong", "new_password": NEW}

    assert [fresh.put(of(bob, "password"), body).status_code for _ in range(11)] == [403] * 10 + [429]


@pytest.mark.parametrize("new", ["short", "x" * 129, "password", "", None, 12345678], ids=str)
def test_an_invalid_new_password_is_refused(fresh, bob, new):
    response = fresh.put(of(bob, "password"), {"current_password": PASSWORD, "new_password": new})

    assert response.status_code == 400
    assert [error["field"] for error in response.json()["errors"]] == ["new_password"]
    assert may_sign_in("Bob", PASSWORD)


def test_setting_the_password_of_another_returns_no_token(admin, bob, auth):
    old = a_token(bob)

    response = admin.put(of(bob, "password"), {"new_password": NEW})

    assert response.status_code == 200
    assert response.json()["username"] == "Bob"
    assert "token" not in response.json()
    assert not response.cookies
    assert auth(service_authorization=old).status == 401
    assert may_sign_in("Bob", NEW)


def test_an_admin_site_session_proves_the_old_password_and_stays_open(alice):
    client = Client()
    enter_admin_site(client, alice, at=timezone.now() - OLD)
    path = f"/wall{of(alice, 'password')}"
    send = {"content_type": "application/json"}

    assert client.post(f"/wall{of(alice, 'totp/setup')}", {}, **send).json()["code"] == "reauthentication-required"
    assert client.put(path, {"new_password": NEW}, **send).status_code == 403
    response = client.put(path, {"current_password": PASSWORD, "new_password": NEW}, **send)

    assert response.status_code == 200
    assert client.get("/wall/admin/").status_code == 200


def test_passwords_are_hashed_outside_the_transaction(bob, monkeypatch):
    inside = []
    real = services.make_password
    depth = len(connection.savepoint_ids)
    monkeypatch.setattr(
        services,
        "make_password",
        lambda password: inside.append(len(connection.savepoint_ids) - depth) or real(password),
    )

    services.change_user(bob, actor="cast", password=NEW)
    services.create_user(actor="", username="dora", password=NEW)

    assert inside == [0, 0]
    assert passwords.verify("dora", NEW) == User.objects.get(username="dora")


def test_the_new_token_has_the_amr_of_the_admin_site_session(alice):
    an_app(alice)
    client = Client()
    enter_admin_site(client, alice, amr=("pwd", "otp"))

    response = client.put(
        f"/wall/users/{alice.pk}/password",
        {"current_password": PASSWORD, "new_password": NEW},
        content_type="application/json",
    )

    assert Api(response.json()["token"]).get("/session").json()["amr"] == ["pwd", "otp"]
