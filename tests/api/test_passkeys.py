"""Passkeys over the API: register, list, rename, remove."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import Passkey, RecoveryCode
from audit.models import SecurityEvent
from tests.api.passkeys import ORIGIN, forged, refusals, register, sign_in
from tests.support.authenticator import Authenticator
from tests.support.proxies import PASSWORD, Api, a_token, code_of
from tests.support.second_factor import an_app

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("passkey_home")]
PROVED = ("mfa", "hwk", "phr")
"""The authentication methods of a session that was opened with a passkey."""


def test_the_first_second_factor_brings_recovery_codes_and_ends_other_sessions(bob):
    other, own = a_token(bob), a_token(bob)

    made = register(Api(own), bob, Authenticator(ORIGIN))

    assert made.status_code == 201
    assert made.headers["Location"] == f"/wall/users/{bob.pk}/passkeys/{Passkey.objects.get().pk}"
    assert len(made.json()["recovery_codes"]) == 10
    assert Api(own).get("/session").status_code == 200
    assert Api(other).get("/session").status_code == 401
    more = register(Api(a_token(bob, amr=PROVED)), bob, Authenticator(ORIGIN), "key")
    assert (more.status_code, "recovery_codes" in more.json()) == (201, False)

    challenge = Api().post("/login", {"username": "bob", "password": PASSWORD}).json()["challenge_token"]
    code = made.json()["recovery_codes"][0]
    assert Api().post("/login/2fa", {"challenge_token": challenge, "code": code}).status_code == 200


def test_passkeys_are_listed_renamed_and_removed(bob, key):
    client = Api(a_token(bob, amr=PROVED))
    [shown] = client.get(f"/users/{bob.pk}/passkeys").json()["results"]
    assert {name: shown[name] for name in ("name", "transports", "backed_up", "rp_id", "last_used_at")} == {
        "name": "phone",
        "transports": ["internal"],
        "backed_up": False,
        "rp_id": "example.com",
        "last_used_at": None,
    }
    path = f"/users/{bob.pk}/passkeys/{shown['id']}"

    assert client.put(path, {"name": "old phone"}).json()["name"] == "old phone"
    assert client.get(path).json()["name"] == "old phone"
    assert client.delete(path).status_code == 204
    assert client.get(path).status_code == 404
    assert not RecoveryCode.objects.exists()
    assert [event.detail for event in SecurityEvent.objects.filter(kind="passkey.removed")] == [
        {"actor": "Bob", "passkey": "old phone"}
    ]
    assert Api().post("/login", {"username": "bob", "password": PASSWORD}).json()["two_factor_required"] is False


def test_recovery_codes_stay_while_the_app_is_there(bob, key):
    an_app(bob)

    Api(a_token(bob, amr=PROVED)).delete(f"/users/{bob.pk}/passkeys/{Passkey.objects.get().pk}")

    assert RecoveryCode.objects.filter(user=bob).count() == 10


def test_the_last_way_to_sign_in_cannot_be_removed(bob, key):
    bob.set_unusable_password()
    bob.save()
    path = f"/users/{bob.pk}/passkeys/{Passkey.objects.get().pk}"

    client = Api(a_token(bob, amr=PROVED))
    assert code_of(client.delete(path)) == (409, "last-way-in")

    register(client, bob, Authenticator(ORIGIN), "key")
    assert client.delete(path).status_code == 204


def test_a_stale_session_must_prove_itself_to_add_or_remove_a_passkey(bob, key):
    old, app = Api(a_token(bob, amr=PROVED, at=timezone.now() - timedelta(minutes=11))), an_app(bob)
    path = f"/users/{bob.pk}/passkeys/{Passkey.objects.get().pk}"

    for proof, code in (({"password": PASSWORD}, "code-required"), ({"code": "wrong"}, "reauthentication-failed")):
        assert code_of(register(old, bob, Authenticator(ORIGIN), **proof)) == (403, code)
        assert code_of(old.delete(path, data=proof)) == (403, code)
    assert register(old, bob, Authenticator(ORIGIN), code=app.code()).status_code == 201
    assert old.delete(path, data={"code": app.recovery_codes[0]}).status_code == 204


def test_registration_is_bound_to_the_session(bob, key):
    client = Api(a_token(bob, amr=PROVED))
    begun = client.post(f"/users/{bob.pk}/passkeys/register/begin", {}).json()["public_key"]
    answer = Authenticator(ORIGIN).create(begun)
    other = Api(a_token(bob))
    other._client.cookies = client._client.cookies

    refused = other.post(f"/users/{bob.pk}/passkeys/register/finish", {"name": "x", "credential": answer})

    assert code_of(refused) == (401, "passkey-refused")
    assert refusals() == ["passkey-other-challenge"]


def test_an_authenticator_is_registered_once(alice, bob, key):
    assert code_of(register(Api(a_token(alice)), alice, key)) == (401, "passkey-refused")
    assert refusals() == ["passkey-registered"]


def test_no_admin_registers_a_passkey_for_another_user(admin, bob, key):
    begun = admin.post(f"/users/{bob.pk}/passkeys/register/begin", {})

    assert code_of(begun) == (403, "not-allowed")
    assert admin.get(f"/users/{bob.pk}/passkeys").json()["count"] == 1


def test_a_user_has_at_most_twenty(bob, key):
    known = Passkey.objects.get()
    for number in range(19):
        Passkey.objects.create(user=bob, name=f"{number}", credential_id=f"{number}", rp_id="example.com")

    client = Api(a_token(bob, amr=PROVED))
    assert code_of(register(client, bob, Authenticator(ORIGIN))) == (409, "too-many-passkeys")
    assert known.user_handle


def test_a_deleted_user_has_no_passkeys(admin, bob, key):
    assert admin.delete(f"/users/{bob.pk}").status_code == 204

    assert not Passkey.objects.exists()
    assert code_of(sign_in(key)) == (401, "passkey-refused")


def test_no_key_or_id_is_in_a_response_or_event(bob, key):
    row = Passkey.objects.get()
    sign_in(key)
    forged(key)
    sign_in(key)

    texts = [Api(a_token(bob)).get(f"/users/{bob.pk}/passkeys").text]
    texts += [str(event.detail) for event in SecurityEvent.objects.all()]
    for secret in (row.public_key, row.credential_id, row.user_handle):
        assert not any(secret in text for text in texts)
