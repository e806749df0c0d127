"""Challenges: between the password and the code, for one flow, five minutes, five tries and one success."""

import uuid

import jwt
import pytest
from django.utils import timezone

from accounts import services
from accounts.models import RecoveryCode
from accounts.sign_in import challenges, methods, second_factor, throttling
from gatewall.credentials.sessions import ISSUER
from tests.api.sign_ins import BOTH, FLOWS, begin, finish
from tests.support.proxies import PASSWORD, Api, a_token, code_of

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("seconds", "status"), [(299, 200), (300, 401), (-3600, 200)])
def test_a_challenge_lives_five_minutes(app, clock, seconds, status):
    challenge = begin()
    clock.shift(seconds)

    assert finish(challenge, app.recovery_codes[0]).status_code == status


def test_a_challenge_dies_after_five_wrong_codes(app):
    challenge = begin()

    assert {code_of(finish(challenge, code)) for code in app.wrong_codes(5)} == {(401, "invalid-code")}
    assert code_of(finish(challenge, app.code())) == (401, "invalid-challenge")
    assert finish(begin(), app.code()).status_code == 200


def test_the_fifth_code_may_be_right(app):
    challenge = begin()
    for code in app.wrong_codes(4):
        finish(challenge, code)

    assert finish(challenge, app.code()).status_code == 200


def test_a_challenge_dies_after_its_success(app):
    challenge = begin()
    assert finish(challenge, app.code()).status_code == 200

    assert code_of(finish(challenge, app.recovery_codes[0])) == (401, "invalid-challenge")
    assert RecoveryCode.objects.count() == 10


@pytest.mark.parametrize("flow", FLOWS)
@BOTH
def test_a_challenge_belongs_to_its_flow(app, alice, flow, door):
    challenge = challenges.begin(alice, flow, amr=["pwd"], at=timezone.now()).token

    expected = (200, None) if door == f"/{flow}" else (401, "invalid-challenge")
    assert code_of(finish(challenge, app.code(), door)) == expected


def test_a_challenge_is_no_session(app, auth):
    challenge = begin()

    assert auth(service_authorization=challenge).status == 401
    assert auth(cookie=f"service.token={challenge}").status == 401
    for client in (Api(challenge), Api(cookie=challenge), Api(f"Bearer {challenge}")):
        assert client.get("/session").status_code == 401
        assert client.get("/users").status_code == 401


def test_a_session_is_no_challenge(app, alice):
    assert code_of(finish(a_token(alice), app.code())) == (401, "invalid-challenge")
    assert code_of(finish(a_token(alice, audiences=["login"]), app.code())) == (401, "invalid-challenge")


CHANGES = {
    "session": {"typ": "session"},
    "no type": {"typ": None},
    "stranger": {"iss": "stranger"},
    "other id": {"jti": str(uuid.uuid4())},
    "no id": {"jti": "nonsense"},
    "number as id": {"jti": 5},
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_challenge_that_we_did_not_issue_is_refused(app, settings, change):
    claims = jwt.decode(begin(), options={"verify_signature": False, "verify_exp": False})
    key = settings.GATEWALL_JWT_KEYS.signing
    forged = jwt.encode({"iss": ISSUER, **claims, **CHANGES[change]}, key.secret, "HS256", headers={"kid": key.kid})

    assert code_of(finish(forged, app.code())) == (401, "invalid-challenge")


@pytest.mark.parametrize("text", ["x", "a.b.c", "." * 4000, "\u00e9.\u00e9.\u00e9"], ids=lambda text: ascii(text)[:9])
def test_a_malformed_challenge_is_invalid(app, text):
    assert code_of(finish(text, app.code())) == (401, "invalid-challenge")


@pytest.mark.parametrize("algorithm", ["none", "HS512"])
def test_a_challenge_of_another_algorithm_is_refused(app, settings, algorithm):
    claims = jwt.decode(begin(), options={"verify_signature": False, "verify_exp": False})
    key = settings.GATEWALL_JWT_KEYS.signing
    secret = None if algorithm == "none" else key.secret * 2
    forged = jwt.encode(claims, secret, algorithm, headers={"kid": key.kid})

    assert code_of(finish(forged, app.code())) == (401, "invalid-challenge")


def _delete(user):
    services.create_user(actor="", username="dora", password=PASSWORD, is_admin=True)
    services.delete_user(user, actor="cast")


ENDS = {
    "password": lambda user: services.change_user(user, actor="cast", password=PASSWORD + " new"),
    "disabling": lambda user: _with_another_admin(user, is_active=False),
    "demotion": lambda user: _with_another_admin(user, is_admin=False),
    "disabling for a moment": lambda user: services.change_user(
        _with_another_admin(user, is_active=False), is_active=True, actor="cast"
    ),
    "deletion": _delete,
    "recovery": lambda user: services.end_all_sessions(user, actor="cast"),
}


def _with_another_admin(user, **values):
    services.create_user(actor="", username="dora", password=PASSWORD, is_admin=True)
    return services.change_user(user, actor="cast", **values)


@pytest.mark.parametrize("end", ENDS)
@BOTH
def test_a_challenge_dies_with_the_sessions_of_its_user(app, alice, end, door):
    challenge = begin(door)
    ENDS[end](alice)

    assert code_of(finish(challenge, app.code(), door)) == (401, "invalid-challenge")


@pytest.mark.parametrize("end", ENDS)
def test_ending_a_user_ends_their_two_factor_sessions_at_the_gate(app, alice, auth, end):
    token = finish(begin(), app.code()).json()["token"]
    assert auth(service_authorization=token).status == 200

    ENDS[end](alice)

    assert auth(service_authorization=token).status == 401
    assert Api(token).get("/session").status_code == 401


@pytest.mark.parametrize("moment", ["use_code", "succeeded"])
def test_a_user_deleted_after_the_code_was_checked_gets_no_session(app, alice, monkeypatch, moment):
    challenge, place = begin(), methods if moment == "use_code" else throttling.Attempt
    real = getattr(place, moment)

    def delete_then(*arguments, **more):
        result = real(*arguments, **more)
        _delete(alice)
        return result

    monkeypatch.setattr(place, moment, delete_then)

    assert code_of(finish(challenge, app.code())) == (401, "invalid-challenge")


def test_a_factor_that_is_switched_off_meanwhile_ends_the_challenge_without_a_session(app, alice):
    challenge = begin()
    second_factor.switch_off_app(alice, actor="test")

    assert code_of(finish(challenge, app.code())) == (401, "invalid-code")
    assert code_of(finish(challenge, app.recovery_codes[0])) == (401, "invalid-code")
