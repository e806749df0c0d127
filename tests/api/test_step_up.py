"""Users with a second factor must prove it before they change their sign-in or create credentials.

A session with the password only, such as one of a remembered browser, is not enough, even if it is fresh.
"""

import pytest
from django.utils import timezone

from accounts.models import ApiToken, Passkey, TotpDevice
from licensing.models import AppToken, GitToken
from tests.api.own import NEW, OLD, of
from tests.support.proxies import PASSWORD, Api, a_token, code_of
from tests.support.second_factor import an_app

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("passkey_home")]


@pytest.fixture
def app(clock, alice):
    Passkey.objects.create(user=alice, name="phone", credential_id="the id", public_key="k", rp_id="a.example")
    return an_app(alice)


def new_password(client, user, **proof):
    if "password" in proof:
        proof = {"current_password": proof["password"], **proof}
        del proof["password"]
    return client.put(of(user, "password"), {"new_password": NEW, **proof})


def own_password(client, user, **proof):
    return new_password(client, user, **{"password": PASSWORD, **proof})


def removed_app(client, user, **proof):
    return client.delete(f"{of(user, 'totp-devices')}/{user.totp_devices.get().pk}", data=proof)


def removed_passkey(client, user, **proof):
    return client.delete(f"{of(user, 'passkeys')}/{user.passkeys.get().pk}", data=proof)


CHANGES = {
    "add an app": lambda client, user, **proof: client.post(of(user, "totp/setup"), {"name": "tablet", **proof}),
    "remove an app": removed_app,
    "remove all apps": lambda client, user, **proof: client.delete(of(user, "totp"), data=proof),
    "remove all apps by POST": lambda client, user, **proof: client.post(of(user, "totp/disable"), proof),
    "add a passkey": lambda client, user, **proof: client.post(of(user, "passkeys/register/begin"), proof),
    "remove a passkey": removed_passkey,
    "change the own password": own_password,
    "make a git token": lambda client, user, **proof: client.post(of(user, "git-tokens"), {"name": "laptop", **proof}),
    "make an app token": lambda client, user, **proof: client.post(
        of(user, "app-tokens"), {"name": "calendar", "all_domains": True, **proof}
    ),
    "make an API token": lambda client, _user, **proof: client.post(
        "/api-tokens", {"name": "ci", "scopes": ["policy:read"], **proof}
    ),
    "make a license": lambda client, _user, **proof: client.post("/licenses", {"name": "build farm", **proof}),
    "make a user": lambda client, _user, **proof: client.post(
        "/users", {"username": "dora", "password": NEW, **({"code": proof["code"]} if "code" in proof else {})}
    ),
    "send a reset link": lambda client, user, **proof: client.post(of(user, "password-reset"), proof),
}
EACH = pytest.mark.parametrize("what", CHANGES)


def kept(user):
    user.refresh_from_db()
    tokens = [model.objects.count() for model in (GitToken, AppToken, ApiToken)]
    return user.password, TotpDevice.objects.count(), Passkey.objects.count(), tokens


@EACH
@pytest.mark.parametrize(("amr", "age"), [(("pwd",), OLD - OLD), (("pwd", "otp"), OLD)], ids=["password", "stale"])
def test_neither_the_password_nor_an_old_proof_is_enough(app, alice, what, amr, age):
    client, before = Api(a_token(alice, amr=amr, at=timezone.now() - age)), kept(alice)

    assert code_of(CHANGES[what](client, alice)) == (403, "code-required")
    assert code_of(CHANGES[what](client, alice, password=PASSWORD)) == (403, "code-required")
    assert code_of(CHANGES[what](client, alice, code=app.wrong)) == (403, "reauthentication-failed")
    assert kept(alice) == before
    assert CHANGES[what](client, alice, code=app.code()).status_code < 300


@EACH
@pytest.mark.parametrize("amr", [("pwd", "otp"), ("mfa", "hwk", "phr")], ids=["app", "passkey"])
def test_a_session_with_a_fresh_proof_is_asked_for_nothing(app, alice, what, amr):
    assert CHANGES[what](Api(a_token(alice, amr=amr)), alice).status_code < 300


def test_a_wrong_current_password_does_not_use_up_the_code(app, alice):
    client, code = Api(a_token(alice)), app.code()

    assert code_of(new_password(client, alice, password="wrong", code=code)) == (403, "reauthentication-failed")
    assert new_password(client, alice, password=PASSWORD, code=code).status_code == 200


def test_a_recovery_code_is_accepted_in_place_of_an_app_code(app, alice):
    assert CHANGES["remove an app"](Api(a_token(alice)), alice, code=app.recovery_codes[0]).status_code == 204
