"""Signing in with two factors over JSON: challenges, codes, and their limits."""

from datetime import datetime, timedelta

import jwt
import pytest
from django.utils import timezone

from accounts import tokens
from accounts.models import Challenge, RecoveryCode, Session, TotpDevice
from accounts.sign_in import challenges, totp
from tests.api.sign_ins import BOTH, begin, finish
from tests.support.cast import MOMENT
from tests.support.proxies import PASSWORD, Api, a_token, code_of
from tests.support.second_factor import an_app

pytestmark = pytest.mark.django_db


@BOTH
def test_the_right_password_gives_only_a_challenge(app, door):
    response = Api().post(door, {"username": "alice", "password": PASSWORD})
    body = response.json()

    assert set(body) == {"two_factor_required", "challenge_token", "expires_at", "methods"}
    assert body["two_factor_required"] is True
    assert body["methods"] == ["totp", "recovery-code"]
    assert datetime.fromisoformat(body["expires_at"]) == MOMENT + timedelta(minutes=5)
    assert not response.cookies
    assert not Session.objects.exists()


@BOTH
def test_a_wrong_password_gives_no_challenge(app, door):
    assert code_of(Api().post(door, {"username": "alice", "password": "wrong"})) == (401, "invalid-credentials")
    assert not Challenge.objects.exists()


@BOTH
def test_a_code_completes_the_sign_in_as_documented(app, auth, alice, door):
    response = finish(begin(door), app.code(), door)
    body = response.json()

    assert response.status_code == 200
    assert set(body) == {"token", "token_type", "expires_at", "two_factor_required", "user"}
    assert (body["token_type"], body["two_factor_required"]) == ("Bearer", False)
    assert body["user"] == {"id": alice.pk, "username": "alice", "is_admin": True}
    assert response.cookies["service.token"].value == body["token"]
    assert response.cookies["service.token"]["httponly"] is True
    claims = jwt.decode(body["token"], options={"verify_signature": False, "verify_exp": False})
    assert claims["amr"] == ["pwd", "otp"]
    assert set(claims["aud"]) == {"gate", "api"}
    assert auth(service_authorization=body["token"]).status == 200
    assert Api(body["token"]).get("/session").json()["amr"] == ["pwd", "otp"]


def test_a_recovery_code_completes_the_sign_in_with_its_own_amr(app):
    token = finish(begin(), app.recovery_codes[3]).json()["token"]

    assert Api(token).get("/session").json()["amr"] == ["pwd", "mfa"]
    assert RecoveryCode.objects.count() == 9


@pytest.mark.parametrize("written", ["{}", " {}\n", "{} ", "upper", "no hyphens", "spaces"])
def test_a_recovery_code_is_accepted_in_any_usual_spelling(app, written):
    code = app.recovery_codes[0]
    forms = {"upper": code.upper(), "no hyphens": code.replace("-", ""), "spaces": code.replace("-", "  ")}

    assert finish(begin(), forms.get(written, written.format(code))).status_code == 200


@pytest.mark.parametrize("written", ["{0}{1}", " {0} {1} ", "{0}-{1}", "{0}\u00a0{1}"], ids=ascii)
def test_a_code_is_accepted_in_the_spellings_of_apps(app, written):
    code = app.code()

    assert finish(begin(), written.format(code[:3], code[3:])).status_code == 200


@pytest.mark.parametrize("code", ["0", "12345", "1234567", "a" * 64, "\u0661" * 6, "-", "\u00a0\u2003x"], ids=ascii)
def test_a_malformed_code_is_a_wrong_code(app, code):
    assert code_of(finish(begin(), code)) == (401, "invalid-code")


@pytest.mark.parametrize("code", ["", "x" * 65, "12\x003456", 123456, None, ["123456"], {}], ids=ascii)
def test_a_code_of_wrong_type_or_length_is_refused_unchecked(app, code):
    assert finish(begin(), code).status_code == 400
    assert Challenge.objects.get().tries == 0


def test_a_lone_surrogate_is_refused_unchecked(app):
    body = f'{{"challenge_token": "{begin()}", "code": "\\ud800"}}'

    assert Api().send("POST", "/login/2fa", body.encode()).status_code == 400
    assert Challenge.objects.get().tries == 0


def test_every_recovery_code_is_accepted_once(app):
    assert {finish(begin(), code).status_code for code in app.recovery_codes} == {200}
    assert {code_of(finish(begin(), code)) for code in app.recovery_codes[:5]} == {(401, "invalid-code")}
    assert not RecoveryCode.objects.exists()


def test_the_recovery_code_of_another_user_is_invalid(app, bob):
    others = an_app(bob).recovery_codes

    assert code_of(finish(begin(), others[0])) == (401, "invalid-code")
    assert RecoveryCode.objects.filter(user=bob).count() == 10


@pytest.mark.parametrize("steps", [-1, 0, 1])
def test_a_code_is_good_once(app, steps):
    code = app.code(steps=steps)

    assert finish(begin(), code).status_code == 200
    assert code_of(finish(begin(), code)) == (401, "invalid-code")


def test_a_code_older_than_the_last_one_is_invalid(app):
    assert finish(begin(), app.code(steps=1)).status_code == 200

    assert code_of(finish(begin(), app.code())) == (401, "invalid-code")


def test_a_used_code_remains_invalid_after_the_clock_goes_back(app, clock):
    code = app.code()
    assert finish(begin(), code).status_code == 200
    clock.shift(-300)
    earlier = app.code()

    assert code_of(finish(begin(), earlier)) == (401, "invalid-code")
    clock.shift(300)
    assert code_of(finish(begin(), code)) == (401, "invalid-code")


def test_a_secret_that_was_never_confirmed_is_no_factor(alice, clock):
    totp.begin_setup(alice, at=timezone.now())

    assert Api().post("/login", {"username": "alice", "password": PASSWORD}).json()["two_factor_required"] is False


def test_a_sealed_secret_in_another_users_row_does_not_open(app, bob):
    bobs = an_app(bob)
    stolen = TotpDevice.objects.get(user=bob).sealed_secret
    TotpDevice.objects.exclude(user=bob).update(sealed_secret=stolen)

    assert code_of(finish(begin(), bobs.code())) == (401, "invalid-code")


def test_the_admin_sign_in_gives_a_non_admin_no_challenge(app, bob):
    an_app(bob)

    response = Api().post("/admin-login", {"username": "Bob", "password": PASSWORD})

    assert code_of(response) == (403, "admin-required")
    assert not Challenge.objects.exists()


@BOTH
@pytest.mark.parametrize("headers", [{"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}], ids=repr)
def test_a_code_from_another_site_is_refused_untried(app, door, headers):
    assert code_of(finish(begin(door), app.code(), door, **headers)) == (403, "cross-site")
    assert Challenge.objects.get().tries == 0


@BOTH
@pytest.mark.parametrize("body", [{}, {"code": "123456"}, {"challenge_token": "x"}, [], "x", {"challenge_token": 5}])
def test_a_body_without_both_is_refused(app, door, body):
    assert Api().post(f"{door}/2fa", body).status_code == 400


@BOTH
@pytest.mark.parametrize("verb", ["GET", "HEAD", "PUT", "PATCH", "DELETE"])
def test_both_steps_are_posts(app, door, verb):
    assert {Api().send(verb, path).status_code for path in (door, f"{door}/2fa")} == {405}


@BOTH
def test_an_options_request_signs_nobody_in(app, door):
    body = b'{"username": "alice", "password": "correct horse battery staple"}'

    response = Api().send("OPTIONS", door, body)

    assert not response.cookies
    assert not Challenge.objects.exists()


def test_a_sign_in_uses_no_session_that_the_browser_brought(app, alice):
    old = a_token(alice)
    client = Api(cookie=old)

    client.post("/login/2fa", {"challenge_token": begin(), "code": app.code()})

    assert client._client.cookies["service.token"].value != old


def test_the_lifetime_of_a_session_counts_from_its_code(app, clock):
    challenge = begin()
    clock.shift(60)

    end = finish(challenge, app.code()).json()["expires_at"]

    assert datetime.fromisoformat(end) == MOMENT + timedelta(hours=24, seconds=60)


def test_the_repr_of_secret_values_hides_the_secrets(app, alice):
    challenge = challenges.begin(alice, "login", amr=["pwd"], at=MOMENT)
    setup = totp.Setup("SECRET", "otpauth://SECRET")
    issued = tokens.issue(
        user_id=1, session_version=1, audiences=["gate"], amr=["pwd"], at=MOMENT, lifetime=timedelta(hours=1)
    )

    assert challenge.token not in repr(challenge)
    assert "SECRET" not in repr(setup)
    assert issued.text not in repr(issued)


def test_a_secret_whose_key_is_lost_opens_nothing_and_recovery_codes_still_do(app, alice, settings, caplog):
    TotpDevice.objects.update(sealed_secret="v1.gone." + "A" * 80)

    assert code_of(finish(begin(), app.code(at=MOMENT.timestamp()))) == (401, "invalid-code")
    assert f"the second factor of user {alice.pk} cannot be decrypted" in caplog.text
    assert finish(begin(), app.recovery_codes[0]).status_code == 200
