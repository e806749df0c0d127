"""JWT attacks that need more than one token: other token kinds, replays, challenges, several credentials at once."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.utils import timezone

from accounts import services
from accounts.models import RecoveryCode
from accounts.sign_in import challenges, recovery, recovery_codes, totp
from gatewall.credentials.keyring import KeyRing
from gatewall.credentials.rotation import new_key
from tests.support.proxies import PASSWORD, Api, a_git_token, a_license, a_token, a_user
from tests.support.token_attacks import staged
from tests.support.token_forger import Forger, claims_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("socket_disabled")]
INVALID = (401, "credential-invalid")


def a_challenge(user, flow="login", *, at=None):
    return challenges.begin(user, flow, amr=["pwd"], at=at or timezone.now()).token


def refusals_of(auth, token, *, cookie=False):
    """Return the answers of gate and API to a token sent as a session."""
    if cookie:
        return auth(cookie=f"service.token={token}").verdict, Api(cookie=token).get("/session").status_code
    return auth(service_authorization=token).verdict, Api(token).get("/session").status_code


def answer(token, code="123456", flow="login"):
    """Answer a challenge; return the code of the problem, or ``signed-in``."""
    response = Api().post(f"/{flow}/2fa", {"challenge_token": token, "code": code})
    assert response.status_code in {200, 401}
    return response.json().get("code", "signed-in")


# J-15: a token of one kind sent as another kind.

KINDS = {
    "J-15 challenge token as session": lambda auth, bob: refusals_of(auth, a_challenge(bob)) == (INVALID, 401),
    "J-15 challenge token as cookie": lambda auth, bob: (
        refusals_of(auth, a_challenge(bob, "guard"), cookie=True) == (INVALID, 401)
    ),
    "J-15 session as challenge token": lambda _, bob: (
        {answer(a_token(bob), flow=flow) for flow in ("login", "admin-login")} == {"invalid-challenge"}
    ),
    "J-15 git token as session": lambda auth, bob: refusals_of(auth, a_git_token(bob)) == (INVALID, 401),
    "J-15 license as session": lambda auth, _: refusals_of(auth, a_license()) == (INVALID, 401),
    "J-15 session as git token": lambda auth, bob: auth(service_git_token=f"Bob:{a_token(bob)}").verdict == INVALID,
    "J-15 session as license": lambda auth, bob: auth(service_license=a_token(bob)).verdict == INVALID,
    "J-15 git token as license": lambda auth, bob: auth(service_license=a_git_token(bob)).verdict == INVALID,
    "J-15 license as git token": lambda auth, _: auth(service_git_token=f"Bob:{a_license()}").verdict == INVALID,
}


@pytest.mark.parametrize("case", staged("J-15"))
def test_a_token_of_one_kind_is_refused_as_another_kind(auth, bob, case):
    assert KINDS[case](auth, bob)


# J-17: a token that was valid before.


def rotate(settings):
    settings.GATEWALL_JWT_KEYS = KeyRing((new_key(timezone.now()),))


REPLAYS = {
    "J-17 after logout": lambda token, **_: Api(token).post("/logout"),
    "J-17 after a password change": lambda user, **_: services.change_user(
        user, actor="alice", password=f"{PASSWORD} 2"
    ),
    "J-17 after the user was deleted": lambda user, **_: services.delete_user(user, actor="alice"),
    "J-17 after the key left the ring": lambda settings, **_: rotate(settings),
    "J-17 after the second factor was taken away": lambda user, **_: recovery.reset(user, actor="alice"),
}


@pytest.mark.parametrize("case", staged("J-17"))
def test_a_formerly_valid_token_is_refused(new_gate, settings, alice, case):
    a_user("other", is_admin=True)
    second_factor_of(alice)
    token = a_token(alice, amr=("pwd", "otp"))
    gate = new_gate()
    assert refusals_of(gate, token) == ((200, "session-valid"), 200)

    REPLAYS[case](user=alice, token=token, settings=settings)

    # Keys are read at start, so a new process must be asked after the change.
    gate = new_gate() if case.endswith("ring") else gate
    assert refusals_of(gate, token) == (INVALID, 401)
    assert Api(cookie=token).get("/session").status_code == 401


# J-18: challenges.


def second_factor_of(user):
    """Enable the second factor without an app; return its recovery codes."""
    now = timezone.now()
    totp.begin_setup(user, at=now)
    user.totp_devices.update(confirmed_at=now)
    return recovery_codes.replace(user)


def used_twice(alice, bob):
    token, codes = a_challenge(alice), second_factor_of(alice)
    assert answer(token, codes[0]) == "signed-in"
    return answer(token, codes[1])


def of_another(alice, bob):
    token, codes = a_challenge(alice), second_factor_of(bob)
    second_factor_of(alice)
    said = answer(token, codes[0])
    assert RecoveryCode.objects.filter(user=bob).count() == recovery_codes.CODES
    return said


def expired(alice, bob):
    codes = second_factor_of(alice)
    return answer(a_challenge(alice, at=timezone.now() - timedelta(minutes=5, seconds=1)), codes[0])


def after_five(alice, bob):
    token, codes = a_challenge(alice), second_factor_of(alice)
    assert {answer(token, "not-a-code") for _ in range(challenges.MAX_TRIES)} == {"invalid-code"}
    return answer(token, codes[0])


CHALLENGES = {
    "J-18 challenge used twice": (used_twice, "invalid-challenge"),
    "J-18 challenge with the code of another user": (of_another, "invalid-code"),
    "J-18 challenge expired": (expired, "invalid-challenge"),
    "J-18 challenge after five wrong codes": (after_five, "invalid-challenge"),
}


@pytest.mark.parametrize("case", staged("J-18"))
def test_a_challenge_works_once_and_only_for_its_user(alice, bob, case):
    act, said = CHALLENGES[case]

    assert act(alice, bob) == said


def test_the_test_challenge_can_be_answered(alice):
    token, codes = a_challenge(alice), second_factor_of(alice)

    assert answer(token, codes[0]) == "signed-in"


# J-21: the row decides, not the claims of the token.


@pytest.mark.parametrize("case", staged("J-21"))
def test_claims_do_not_override_the_rights_in_the_row(auth, charlie, case):
    forger = Forger(settings.GATEWALL_JWT_KEYS.signing, claims_of(a_token(charlie)), 0, {}, {}, {})
    token = forger.claiming(is_admin=True, role="admin", all_domains=True, groups=["admins"])

    assert auth(service_authorization=token).headers["Remote-Groups"] == ""
    assert auth(service_authorization=token, x_forwarded_host="other.example").reason == "host-not-in-scope"
    assert Api(token).get("/users").status_code == 403


# J-23: several at once. The gate takes the first valid one; the API requires a valid header if one is sent.

BAD = "no.good.token"
MIXES = {
    "J-23 bad header, good cookie": (lambda _, other: (BAD, other), "alice", 401),
    "J-23 good header, bad cookie": (lambda mine, _: (mine, BAD), "Bob", "Bob"),
    "J-23 bad header, bad cookie": (lambda *_: (BAD, BAD), None, 401),
    "J-23 header of one, cookie of another": (lambda mine, other: (mine, other), "Bob", "Bob"),
}


@pytest.mark.parametrize("case", staged("J-23"))
def test_of_two_tokens_only_the_valid_one_identifies_the_visitor(auth, alice, bob, case):
    mix, at_the_gate, at_the_api = MIXES[case]
    header, cookie = mix(a_token(bob), a_token(alice))

    gate = auth(service_authorization=header, cookie=f"service.token={cookie}")
    api = Api(header, cookie=cookie).get("/session")

    assert (gate.headers["Remote-User"] if gate.status == 200 else None) == at_the_gate
    assert (api.json()["user"]["username"] if api.status_code == 200 else api.status_code) == at_the_api
