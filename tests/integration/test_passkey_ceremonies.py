"""Passkey ceremonies with a software authenticator: accepted responses, and the reason of each refusal."""

import secrets

import pytest

from accounts.sign_in import passkey_ceremonies as ceremonies
from accounts.sign_in.passkey_refusals import PasskeyRefused, Why
from accounts.sign_in.relying_party import RelyingParty
from gatewall.kernel.cookie_domain import relying_party_id
from tests.support.authenticator import (
    BACKED_UP,
    BACKUP_ELIGIBLE,
    PRESENT,
    VERIFIED,
    Authenticator,
    b64,
    unb64,
)

ORIGIN = "https://wall.example.com"
PARTY = RelyingParty("example.com", (ORIGIN,))
HANDLE = b64(b"the handle of bob")


def registered(authenticator, party=PARTY):
    challenge = secrets.token_bytes(32)
    options = ceremonies.registration_options(party, challenge, user_handle=HANDLE, username="bob", known=())
    answer = authenticator.create(options)
    assert ceremonies.challenge_of_registration(answer) == challenge
    return ceremonies.verify_registration(answer, party, challenge)


def signed_in(authenticator, public_key, party=PARTY):
    options = ceremonies.sign_in_options(party, secrets.token_bytes(32))
    assertion = ceremonies.parse_assertion(authenticator.get(options))
    ceremonies.refuse_elsewhere(assertion, party)
    return ceremonies.verify_assertion(assertion, party, public_key)


def test_a_passkey_is_registered_and_signs_in():
    authenticator = Authenticator(ORIGIN)

    new = registered(authenticator)

    assert unb64(new.credential_id) == authenticator.credential_id
    assert (new.transports, new.backup_eligible, new.backed_up, new.sign_count) == (["internal"], False, False, 0)
    assert [signed_in(authenticator, new.public_key).sign_count for _ in range(2)] == [1, 2]


def test_a_synchronized_passkey_is_marked_as_backed_up():
    new = registered(Authenticator(ORIGIN, PRESENT | VERIFIED | BACKUP_ELIGIBLE | BACKED_UP))

    assert (new.backup_eligible, new.backed_up) == (True, True)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"origin": "https://wall.example.org"}, Why.WRONG_ORIGIN),
        ({"origin": "https://app.example.com"}, Why.WRONG_ORIGIN),
        ({"origin": "http://wall.example.com"}, Why.WRONG_ORIGIN),
        ({"rp_id": "wall.example.com"}, Why.WRONG_RP_ID),
        ({"flags": PRESENT}, Why.NOT_VERIFIED),
        ({"flags": VERIFIED}, Why.NOT_VERIFIED),
    ],
)
def test_a_response_from_another_page_or_without_user_verification_is_refused(changed, why):
    good = Authenticator(ORIGIN)
    key = registered(good).public_key

    with pytest.raises(PasskeyRefused) as at_registration:
        registered(Authenticator(**{"origin": ORIGIN, **changed}))
    with pytest.raises(PasskeyRefused) as at_sign_in:
        signed_in(Authenticator(**{"origin": ORIGIN, **changed}, key=good.key), key)

    assert (at_registration.value.why, at_sign_in.value.why) == (why, why)


def test_the_signature_of_another_key_is_refused():
    key = registered(Authenticator(ORIGIN)).public_key

    with pytest.raises(PasskeyRefused) as refused:
        signed_in(Authenticator(ORIGIN), key)

    assert refused.value.why is Why.WRONG_SIGNATURE


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        {},
        {"id": 1},
        {"id": "a", "rawId": "a", "type": "public-key", "response": {"clientDataJSON": "e30"}},
        {
            "id": "a",
            "rawId": "a",
            "type": "public-key",
            "response": {
                "clientDataJSON": "W10",
                "authenticatorData": "AA",
                "signature": "AA",
                "attestationObject": "AA",
            },
        },
    ],
)
def test_a_malformed_response_is_refused(answer):
    for read in (ceremonies.parse_assertion, ceremonies.challenge_of_registration):
        with pytest.raises(PasskeyRefused) as refused:
            read(answer)
        assert refused.value.why is Why.MALFORMED


def test_a_key_of_an_algorithm_that_was_not_offered_is_refused():
    authenticator = Authenticator(ORIGIN, algorithm=-35)

    with pytest.raises(PasskeyRefused) as refused:
        registered(authenticator)

    assert refused.value.why is Why.WRONG_SIGNATURE


def test_options_require_user_verification_and_a_discoverable_passkey():
    options = ceremonies.registration_options(PARTY, b"challenge", user_handle=HANDLE, username="bob", known=())

    assert options["rp"] == {"name": "Gatewall", "id": "example.com"}
    assert options["authenticatorSelection"]["userVerification"] == "required"
    assert options["authenticatorSelection"]["residentKey"] == "required"
    assert options["attestation"] == "none"
    assert ceremonies.sign_in_options(PARTY, b"challenge")["userVerification"] == "required"


@pytest.mark.parametrize(
    ("guard", "configured", "rp_id"),
    [
        ("wall.example.com", None, "example.com"),
        ("wall.example.com", "example.com", "example.com"),
        ("wall.apps.example.com", "apps.example.com", "apps.example.com"),
        ("wall.example.com", "example.org", "example.com"),
        ("wall.example.co.uk", None, "example.co.uk"),
        ("localhost", None, "localhost"),
        ("wall.localhost", None, "wall.localhost"),
        ("127.0.0.1", None, None),
        ("[::1]", None, None),
        ("com", None, None),
    ],
)
def test_the_rp_id_is_the_registrable_parent_that_the_cookie_domain_allows(guard, configured, rp_id):
    assert relying_party_id(guard, configured) == rp_id
