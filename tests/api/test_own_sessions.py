"""The sessions of a user: listed and ended by the user and by admins."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts import services
from accounts.models import Session
from tests.support.cast import CLIENT
from tests.support.proxies import PASSWORD, Api, a_token
from tests.support.second_factor import an_app

pytestmark = pytest.mark.django_db
NOBODYS = "f3beafb3-47de-4d6d-9855-4e6adc475691"
FIELDS = {"jti", "issued_at", "expires_at", "client_ip", "user_agent", "amr", "current"}


def of(user):
    return f"/users/{user.pk}/sessions"


def listed(client, user):
    return client.get(of(user)).json()["results"]


def test_a_session_is_shown_as_documented(bob):
    (session,) = listed(Api(a_token(bob)), bob)

    assert set(session) == FIELDS
    assert (session["client_ip"], session["user_agent"], session["amr"]) == (CLIENT, "tests", ["pwd"])
    assert session["current"] is True


def test_the_callers_own_session_is_marked(bob):
    tokens = [a_token(bob) for _ in range(3)]

    for token in tokens:
        current = [session["jti"] for session in listed(Api(token), bob) if session["current"]]
        assert len(current) == 1
        assert Api(token).get(f"{of(bob)}/{current[0]}").json()["current"] is True


def test_no_session_of_an_admin_is_marked_in_another_users_list(admin, bob):
    a_token(bob)

    assert [session["current"] for session in listed(admin, bob)] == [False]


@pytest.mark.parametrize("end", ["expired", "revoked", "old version", "disabled"])
def test_ended_sessions_are_not_listed(admin, bob, end):
    at = timezone.now()
    a_token(bob, at=at - timedelta(days=2) if end == "expired" else at)
    session = Session.objects.get(user=bob)
    if end == "revoked":
        services.revoke_session(session.pk, at=at)
    elif end == "old version":
        services.end_all_sessions(bob, actor="cast")
    elif end == "disabled":
        services.change_user(bob, actor="cast", is_active=False)

    assert listed(admin, bob) == []
    assert admin.get(f"{of(bob)}/{session.pk}").status_code == 404
    assert admin.delete(f"{of(bob)}/{session.pk}").status_code == 404


def test_ending_a_session_invalidates_its_token_at_the_gate(bob, auth):
    lost, own = a_token(bob), Api(a_token(bob))
    (other,) = [session["jti"] for session in listed(own, bob) if not session["current"]]

    assert own.delete(f"{of(bob)}/{other}").status_code == 204

    assert auth(service_authorization=lost).status == 401
    assert Api(lost).get("/session").status_code == 401
    assert own.get("/session").status_code == 200
    assert own.delete(f"{of(bob)}/{other}").status_code == 404


def test_ending_the_current_session_signs_out(user, bob):
    (own,) = listed(user, bob)

    assert user.delete(f"{of(bob)}/{own['jti']}").status_code == 204
    assert user.get(of(bob)).status_code == 401


def test_an_admin_ends_the_session_of_another(admin, bob, auth):
    token = a_token(bob)
    (session,) = listed(admin, bob)

    assert admin.delete(f"{of(bob)}/{session['jti']}").status_code == 204
    assert auth(service_authorization=token).status == 401


@pytest.mark.parametrize("verb", ["GET", "DELETE"])
def test_the_session_of_another_user_is_not_reached_by_the_path_of_the_caller(user, bob, alice, verb):
    a_token(alice)
    foreign = Session.objects.get(user=alice)

    assert user.send(verb, f"{of(bob)}/{foreign.pk}").status_code == 404
    assert user.send(verb, f"{of(alice)}/{foreign.pk}").status_code == 403
    foreign.refresh_from_db()
    assert foreign.revoked_at is None


@pytest.mark.parametrize("jti", [NOBODYS, "nonsense", "1", "%00", NOBODYS.upper()])
def test_an_unknown_session_is_not_found(user, bob, jti):
    assert user.delete(f"{of(bob)}/{jti}").status_code == 404


@pytest.mark.parametrize("user_id", ["999999", "9" * 18, "0"])
def test_sessions_of_a_missing_user_are_not_found(admin, user_id):
    assert admin.get(f"/users/{user_id}/sessions").status_code == 404


def test_the_methods_of_a_factor_are_shown(bob):
    app = an_app(bob)
    challenge = Api().post("/login", {"username": "Bob", "password": PASSWORD}).json()["challenge_token"]
    token = Api().post("/login/2fa", {"challenge_token": challenge, "code": app.code()}).json()["token"]

    assert listed(Api(token), bob)[0]["amr"] == ["pwd", "otp"]


def test_a_long_user_agent_is_cut(bob):
    body = {"username": "Bob", "password": PASSWORD}
    token = Api(**{"User-Agent": "x" * 5000}).post("/login", body).json()["token"]

    assert listed(Api(token), bob)[0]["user_agent"] == "x" * 256


def test_a_list_takes_as_many_queries_for_two_as_for_twenty(admin, bob, django_assert_num_queries):
    for _ in range(2):
        a_token(bob)
    with django_assert_num_queries(4) as few:
        listed(admin, bob)
    for _ in range(18):
        a_token(bob)

    with django_assert_num_queries(len(few)):
        assert len(listed(admin, bob)) == 20
