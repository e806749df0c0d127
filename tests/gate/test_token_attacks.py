"""The JWT attack list against ``/auth`` of the control plane and against the API, without network connections."""

import uuid

import pytest
import time_machine
from django.conf import settings

from accounts import services
from accounts.models import Session
from tests.support.cast import NOW
from tests.support.proxies import Api, a_token, a_user
from tests.support.token_attacks import TOKENS
from tests.support.token_forger import Forger, claims_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("socket_disabled")]
REFUSED = {(401, "credential-invalid"), (401, "credential-missing")}


@pytest.fixture(autouse=True)
def _still():
    """Stop the clock, so that 61 seconds ahead remain 61."""
    with time_machine.travel(NOW, tick=False):
        yield


@pytest.fixture
def forger_of(db):
    """Return a function that makes a forger with a session of this user."""

    def new(user):
        admin = a_user("admin", is_admin=True)
        deleted, disabled = a_user("deleted"), a_user("disabled")
        others = {
            "admin": claims(admin),
            "deleted": claims(deleted),
            "disabled": claims(services.change_user(disabled, actor="alice", is_active=False)),
        }
        services.delete_user(deleted, actor="alice")
        return Forger(settings.GATEWALL_JWT_KEYS.signing, claims_of(a_token(user)), int(NOW), **others)

    def claims(user):
        return {"sub": str(user.pk), "sv": user.session_version}

    return new


def test_each_attack_is_refused_at_the_gate(auth, bob, forger_of):
    forger = forger_of(bob)
    tokens = {name: attack(forger) for name, attack in TOKENS.items()}

    in_header = {name: auth(service_authorization=token).verdict for name, token in tokens.items()}
    in_cookie = {name: auth(cookie=f"service.token={token}").status for name, token in tokens.items()}

    assert {name: verdict for name, verdict in in_header.items() if verdict not in REFUSED} == {}
    assert {name: status for name, status in in_cookie.items() if status != 401} == {}
    assert auth(service_authorization=forger.good()).verdict == (200, "session-valid")


def test_each_attack_on_an_admin_is_refused_at_the_api(alice, forger_of):
    forger = forger_of(alice)
    tokens = {name: attack(forger) for name, attack in TOKENS.items()}

    in_header = {name: Api(token).get("/users").status_code for name, token in tokens.items()}
    in_cookie = {name: Api(Cookie=f"service.token={token}").get("/users").status_code for name, token in tokens.items()}

    for found in (in_header, in_cookie):
        assert {name: status for name, status in found.items() if status != 401} == {}
    assert Api(forger.good()).get("/users").status_code == 200


def test_the_forger_can_make_a_valid_token(auth, alice, forger_of):
    token = forger_of(alice).good()

    assert auth(service_authorization=token).verdict == (200, "session-valid")
    assert Api(token).get("/users").status_code == 200


@pytest.mark.parametrize("seconds", [59, 60])
@pytest.mark.parametrize("claim", ["nbf", "iat"])
def test_a_minute_of_clock_skew_is_granted(auth, alice, forger_of, claim, seconds):
    token = forger_of(alice).claiming(**{claim: int(NOW) + seconds})

    assert auth(service_authorization=token).status == 200
    assert Api(token).get("/users").status_code == 200


def test_every_bit_of_the_signature_counts(auth, bob):
    head, _, signature = a_token(bob).rpartition(".")
    flipped = [
        signature[:at] + ("A" if signature[at] != "A" else "B") + signature[at + 1 :] for at in range(len(signature))
    ]

    assert {auth(service_authorization=f"{head}.{each}").status for each in flipped} == {401}


def test_no_variant_of_a_revoked_sessions_token_passes(auth, bob, forger_of):
    forger = forger_of(bob)
    services.revoke_session(uuid.UUID(str(forger.claims["jti"])), at=Session.objects.get(user=bob).issued_at)

    for token in (forger.good(), forger.claiming(x=1), TOKENS["J-06 last bits of the signature"](forger)):
        assert auth(service_authorization=token).verdict == (401, "credential-invalid")


def test_a_token_that_was_never_recorded_does_not_open_the_api(alice, forger_of):
    forger = forger_of(alice)
    Session.objects.all().delete()

    assert Api(forger.good()).get("/users").status_code == 401


@pytest.mark.parametrize("jti", ["7c9e6679-7425-40de-944b-e07fc1f90ae7", "'; DROP TABLE"])
def test_a_token_of_an_unknown_session_does_not_open_the_api(alice, forger_of, jti):
    assert Api(forger_of(alice).claiming(jti=jti)).get("/users").status_code == 401
