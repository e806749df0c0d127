"""Sign in with a passkey over the API: without a name, as second factor, and every refusal."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import Passkey, Session, UsedPasskeyChallenge
from audit.models import SecurityEvent
from gatewall.agent.housekeeping import delete_expired
from tests.api.passkeys import (
    ORIGIN,
    begin,
    cloned,
    disabled,
    forged,
    of_another_user,
    of_nobody,
    refusals,
    register,
    removed,
    sign_in,
    unknown,
    wrong_domain,
    wrong_flags,
    wrong_origin,
)
from tests.support.authenticator import BACKUP_ELIGIBLE, PRESENT, VERIFIED, Authenticator
from tests.support.proxies import PASSWORD, Api, a_token, code_of
from tests.support.second_factor import an_app

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("passkey_home")]


def test_a_passkey_signs_in_without_a_name(bob, key):
    signed_in = sign_in(key)

    assert signed_in.status_code == 200
    assert (signed_in.json()["two_factor_required"], signed_in.json()["user"]["username"]) == (False, "Bob")
    session = Api(signed_in.json()["token"]).get("/session").json()
    assert session["amr"] == ["mfa", "hwk", "phr"]
    assert Passkey.objects.get().last_used_at is not None
    assert Session.objects.latest("issued_at").amr == ["mfa", "hwk", "phr"]


def test_a_synchronized_passkey_is_a_software_key(bob):
    authenticator = Authenticator(ORIGIN, PRESENT | VERIFIED | BACKUP_ELIGIBLE)
    register(Api(a_token(bob)), bob, authenticator)

    assert Api(sign_in(authenticator).json()["token"]).get("/session").json()["amr"] == ["mfa", "swk", "phr"]


def test_a_passkey_answers_the_challenge_after_the_password(bob, key):
    client = Api()
    challenged = client.post("/login", {"username": "bob", "password": PASSWORD}).json()
    assert challenged["two_factor_required"] is True
    assert challenged["methods"] == ["passkey", "recovery-code"]

    token = challenged["challenge_token"]
    options = begin(client, challenge_token=token)
    assert [each["id"] for each in options["allowCredentials"]] == [Passkey.objects.get().credential_id]
    body = {"credential": key.get(options), "challenge_token": token}
    signed_in = client.post("/login/passkey/finish", body)

    assert Api(signed_in.json()["token"]).get("/session").json()["amr"] == ["pwd", "mfa", "hwk", "phr"]
    assert code_of(client.post("/login/passkey/finish", body)) == (401, "invalid-challenge")


def test_a_passkey_cannot_answer_the_challenge_of_another_user(alice, bob, key):
    an_app(alice)
    client = Api()
    token = client.post("/login", {"username": "alice", "password": PASSWORD}).json()["challenge_token"]

    assert code_of(sign_in(key, client=client, challenge_token=token)) == (401, "passkey-refused")
    assert refusals() == ["passkey-unknown"]


def test_only_admins_use_the_admin_sign_in_with_a_passkey(alice, bob, key):
    assert code_of(sign_in(key, "/admin-login")) == (403, "admin-required")

    authenticator = Authenticator(ORIGIN)
    register(Api(a_token(alice)), alice, authenticator)
    assert sign_in(authenticator, "/admin-login").status_code == 200


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (wrong_flags, "passkey-user-not-verified"),
        (wrong_origin, "passkey-wrong-origin"),
        (wrong_domain, "passkey-wrong-rp-id"),
        (cloned, "passkey-cloned"),
        (unknown, "passkey-unknown"),
        (of_nobody, "passkey-unknown"),
        (of_another_user, "passkey-unknown"),
        (forged, "passkey-wrong-signature"),
        (removed, "passkey-unknown"),
        (disabled, "passkey-unknown"),
    ],
)
def test_a_refusal_records_its_reason_in_an_event(bob, key, change, why):
    change(key)

    refused = sign_in(key)

    assert code_of(refused) == (401, "passkey-refused")
    assert refusals() == [why]
    assert not Session.objects.filter(amr__icontains="phr").exists()


def test_a_cloned_passkey_is_an_event_of_its_own(bob, key):
    assert sign_in(key).status_code == 200
    key.counter -= 1

    assert code_of(sign_in(key)) == (401, "passkey-refused")

    event = SecurityEvent.objects.get(kind="passkey.cloned")
    assert (event.severity, event.detail) == ("high", {"flow": "login", "passkey": "phone"})


def test_a_passkey_without_a_counter_signs_in_again_and_again(bob):
    authenticator = Authenticator(ORIGIN, counts=False)
    register(Api(a_token(bob)), bob, authenticator)

    assert [sign_in(authenticator).status_code for _ in range(3)] == [200, 200, 200]


def test_an_answer_is_accepted_once(bob, key):
    client = Api()
    answer = key.get(begin(client))

    assert client.post("/login/passkey/finish", {"credential": answer}).status_code == 200
    assert code_of(client.post("/login/passkey/finish", {"credential": answer})) == (401, "passkey-refused")
    assert refusals() == ["passkey-replayed"]


def test_an_answer_is_accepted_only_from_its_browser(bob, key):
    client, other = Api(), Api()
    answer = key.get(begin(client))
    begin(other)

    for each in (other, Api()):
        assert code_of(each.post("/login/passkey/finish", {"credential": answer})) == (401, "passkey-refused")
    assert client.post("/login/passkey/finish", {"credential": answer}).status_code == 200
    assert set(refusals()) == {"passkey-other-challenge"}


def test_an_answer_is_accepted_only_in_its_flow(alice):
    authenticator, client = Authenticator(ORIGIN), Api()
    register(Api(a_token(alice)), alice, authenticator)
    answer = authenticator.get(begin(client, "/admin-login"))

    assert code_of(client.post("/login/passkey/finish", {"credential": answer})) == (401, "passkey-refused")


def test_an_answer_is_accepted_for_five_minutes(bob, key, clock):
    client = Api()
    answer = key.get(begin(client))

    clock.shift(timedelta(minutes=5))

    assert code_of(client.post("/login/passkey/finish", {"credential": answer})) == (401, "passkey-refused")
    assert refusals() == ["passkey-late"]


def test_beginning_stores_nothing_and_used_challenges_are_forgotten(bob, key):
    before = UsedPasskeyChallenge.objects.count()
    for _ in range(3):
        begin(Api())
    assert UsedPasskeyChallenge.objects.count() == before == 1  # from the registration

    assert delete_expired(UsedPasskeyChallenge, timezone.now() + timedelta(minutes=6)) == 1
    assert not UsedPasskeyChallenge.objects.exists()


@pytest.mark.parametrize("credential", [None, 1, [], "text", {"id": "x" * 20_000}])
def test_a_malformed_credential_is_invalid(bob, key, credential):
    assert Api().post("/login/passkey/finish", {"credential": credential}).status_code == 400


def test_an_empty_answer_is_refused(bob, key):
    assert code_of(Api().post("/login/passkey/finish", {"credential": {}})) == (401, "passkey-refused")
    assert refusals() == ["passkey-malformed"]


@pytest.mark.parametrize("home", ["http://127.0.0.1:8000", "https://192.0.2.7", "http://wall.example.com", ""])
def test_an_address_or_plain_http_has_no_passkeys(settings, bob, home):
    settings.GATEWALL_PUBLIC_URL = home

    for client, path in ((Api(), "/login"), (Api(a_token(bob)), f"/users/{bob.pk}/passkeys/register")):
        begun = client.post(f"{path}/passkey/begin" if path == "/login" else f"{path}/begin", {})
        assert code_of(begun) == (409, "passkeys-unavailable")


@pytest.mark.parametrize(
    ("home", "host", "rp_id", "origin"),
    [
        ("", "app.example.com", "example.com", "https://app.example.com"),
        ("", "app.example.com:8443", "example.com", "https://app.example.com:8443"),
        ("", "localhost:8000", "localhost", "http://localhost:8000"),
        ("https://wall.example.com:8443", "app.example.com", "example.com", "https://wall.example.com:8443"),
        ("http://wall.localhost:8000", "wall.localhost:8000", "wall.localhost", "http://wall.localhost:8000"),
    ],
)
def test_the_origin_is_that_of_the_guard_page(settings, bob, home, host, rp_id, origin):
    settings.GATEWALL_PUBLIC_URL = home
    authenticator = Authenticator(origin)
    client = Api(a_token(bob), host=host)

    assert register(client, bob, authenticator).status_code == 201
    assert Passkey.objects.get().rp_id == rp_id
    assert sign_in(authenticator, client=Api(host=host)).status_code == 200


def test_each_parent_domain_has_passkeys_of_its_own(settings, bob, key):
    settings.GATEWALL_OTHER_PUBLIC_URLS = ("https://wall.example.net",)
    there = Api(host="wall.example.net")

    key.rp_id = "example.com"
    assert code_of(sign_in(key, client=there)) == (401, "passkey-refused")
    assert refusals() == ["passkey-wrong-origin"]


def test_guessing_is_throttled(bob, key):
    forged(key)

    answers = [sign_in(key) for _ in range(11)]

    assert [answer.status_code for answer in answers] == [401] * 10 + [429]
    assert Api().post("/login", {"username": "bob", "password": PASSWORD}).status_code == 200
