"""Signing in and out over JSON."""

from datetime import UTC, datetime, timedelta

import jwt
import pytest

from accounts import services
from accounts.models import Session
from tests.support.proxies import PASSWORD, Api, a_token

pytestmark = pytest.mark.django_db
BOTH = pytest.mark.parametrize("path", ["/login", "/admin-login"])


def sign_in(client, path="/login", **changes):
    return client.post(path, {"username": "alice", "password": PASSWORD, **changes})


@BOTH
def test_a_sign_in_answers_as_documented(anonymous, alice, path):
    body = sign_in(anonymous, path).json()

    assert set(body) == {"token", "token_type", "expires_at", "two_factor_required", "user"}
    assert (body["token_type"], body["two_factor_required"]) == ("Bearer", False)
    assert body["user"] == {"id": alice.pk, "username": "alice", "is_admin": True}


def test_the_name_may_be_in_other_case(anonymous, alice):
    assert sign_in(anonymous, username="ALICE").json()["user"]["username"] == "alice"


@BOTH
def test_the_token_opens_the_api_and_the_gate(anonymous, auth, alice, path):
    token = sign_in(anonymous, path).json()["token"]

    assert Api(token).get("/users").status_code == 200
    assert auth(service_authorization=token).status == 200


def test_the_cookie_is_the_token(anonymous, alice):
    response = sign_in(anonymous)

    assert response.cookies["service.token"].value == response.json()["token"]


def test_a_token_has_the_documented_claims(anonymous, alice, settings):
    token = sign_in(anonymous).json()["token"]
    claims = jwt.decode(token, options={"verify_signature": False})

    assert set(claims) == {"iss", "aud", "sub", "iat", "nbf", "exp", "jti", "typ", "sv", "amr"}
    assert jwt.get_unverified_header(token) == {
        "alg": "HS256",
        "typ": "JWT",
        "kid": settings.GATEWALL_JWT_KEYS.signing.kid,
    }
    assert (claims["sub"], claims["typ"], claims["amr"]) == (str(alice.pk), "session", ["pwd"])
    assert set(claims["aud"]) == {"gate", "api"}
    assert claims["exp"] - claims["iat"] == 24 * 3600


def test_a_sign_in_lasts_a_day(anonymous, alice):
    end = datetime.fromisoformat(sign_in(anonymous).json()["expires_at"])

    assert timedelta(hours=23) < end - datetime.now(UTC) <= timedelta(hours=24)


@BOTH
def test_unknown_user_wrong_password_and_disabled_account_look_the_same(anonymous, alice, bob, path):
    services.change_user(bob, is_active=False, actor="alice")
    bodies = [
        sign_in(anonymous, path, **changes)
        for changes in (
            {"username": "nobody"},
            {"username": "no body at all; --"},
            {"password": "wrong"},
            {"password": PASSWORD + "x" * 200},
            {"username": "Bob"},
        )
    ]

    assert {body.status_code for body in bodies} == {401}
    assert len({body.content for body in bodies}) == 1
    assert bodies[0].json()["code"] == "invalid-credentials"


def test_a_refused_sign_in_computes_one_hash_for_every_user(anonymous, alice, bob, monkeypatch):
    services.change_user(bob, is_active=False, actor="alice")
    sign_in(anonymous, username="nobody")  # the hash for unknown users is computed once
    hashed = []
    from django.contrib.auth.hashers import MD5PasswordHasher  # noqa: PLC0415

    real = MD5PasswordHasher.verify
    monkeypatch.setattr(
        MD5PasswordHasher, "verify", lambda self, *arguments: hashed.append(1) or real(self, *arguments)
    )

    counts = []
    for changes in ({"username": "nobody"}, {"username": "Bob"}, {"password": "wrong"}, {"username": "x"}):
        hashed.clear()
        sign_in(anonymous, **changes)
        counts.append(len(hashed))

    assert counts == [1, 1, 1, 1]


def test_an_admin_sign_in_of_a_user_is_refused(anonymous, bob):
    response = sign_in(anonymous, "/admin-login", username="Bob")

    assert (response.status_code, response.json()["code"]) == (403, "admin-required")
    assert not Session.objects.exists()
    assert not response.cookies


def test_an_admin_sign_in_with_a_wrong_password_does_not_reveal_admins(anonymous, bob):
    assert sign_in(anonymous, "/admin-login", username="Bob", password="wrong").status_code == 401


@BOTH
@pytest.mark.parametrize(
    "body",
    [{}, {"username": "alice"}, {"password": PASSWORD}, {"username": 5, "password": PASSWORD}, {"username": None}],
    ids=repr,
)
def test_a_sign_in_without_name_or_password_is_refused(anonymous, path, body):
    assert anonymous.post(path, body).status_code == 400


@BOTH
def test_a_sign_in_with_an_unknown_field_is_refused(anonymous, alice, path):
    assert sign_in(anonymous, path, code="123456").status_code == 400


@BOTH
def test_a_sign_in_is_a_post(anonymous, path):
    assert anonymous.get(path).status_code == 405


@BOTH
def test_a_form_body_is_refused_at_sign_in(anonymous, alice, path):
    form = b"username=alice&password=correct+horse+battery+staple"

    assert anonymous.send("POST", path, form, "application/x-www-form-urlencoded").status_code == 415


def test_an_invalid_token_in_the_request_does_not_prevent_sign_in(wall, alice):
    assert sign_in(Api("no.good.token")).status_code == 200


def test_a_sign_in_is_remembered_with_its_address(anonymous, alice):
    sign_in(anonymous)
    session = Session.objects.get()

    assert (session.client_ip, session.amr) == ("127.0.0.1", ["pwd"])
    alice.refresh_from_db()
    assert alice.last_login_at == session.issued_at


def test_a_sign_in_is_no_change_of_policy(anonymous, alice):
    from gatewall.policy import revisions  # noqa: PLC0415

    before = revisions.current()

    sign_in(anonymous)

    assert revisions.current() == before


def test_the_session_describes_its_user(admin, alice):
    body = admin.get("/session").json()

    assert body["user"] == {"id": alice.pk, "username": "alice", "is_admin": True}
    assert body["amr"] == ["pwd"]
    assert body["expires_at"].endswith("Z")


def test_a_guard_session_may_read_the_session(bob):
    assert Api(a_token(bob, audiences=["gate"])).get("/session").status_code == 200


def test_a_logout_ends_the_session_and_takes_the_cookie(user):
    response = user.post("/logout")

    assert (response.status_code, response.content) == (204, b"")
    assert response.cookies["service.token"]["max-age"] == 0
    assert user.get("/session").status_code == 401


def test_a_logout_ends_only_this_session(bob):
    first, second = (Api(a_token(bob)) for _ in range(2))

    first.post("/logout")

    assert second.get("/session").status_code == 200


def test_a_second_logout_is_refused(user):
    user.post("/logout")

    assert user.post("/logout").status_code == 401


def test_the_header_takes_precedence_over_the_cookie(alice, bob):
    client = Api(a_token(bob), cookie=a_token(alice))

    assert client.get("/session").json()["user"]["username"] == "Bob"


def test_a_session_token_may_have_a_bearer_prefix(bob):
    assert Api(f"Bearer {a_token(bob)}").get("/session").status_code == 200


def test_a_session_in_a_cookie_opens_the_api(alice):
    assert Api(cookie=a_token(alice)).get("/users").status_code == 200


def test_authorization_bearer_is_not_ours(alice):
    assert Api(Authorization=f"Bearer {a_token(alice)}").get("/users").status_code == 401
