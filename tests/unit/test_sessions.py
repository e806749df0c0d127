"""Session tokens: only tokens that we issued are accepted."""

import json

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewall.credentials.keyring import KeyRing
from gatewall.credentials.sessions import SessionClaims, SessionVerifier, verify_payload
from tests.support.cast import (
    ALICE,
    AUDIENCE,
    BOB,
    DAY,
    HOUR,
    ISSUER,
    KEYS,
    NOW,
    a_credential,
    a_credential_check,
    a_policy,
    a_session_token,
    some_claims,
)
from tests.unit.forgeries import FORGERIES, GOOD, HEADER, signed, with_claims, with_header

VERIFIER = SessionVerifier(KEYS, issuer=ISSUER, audience=AUDIENCE)
POLICY = a_policy()


def subject_of(token, at=NOW):
    return a_credential_check().subject_of(a_credential(token), POLICY, at)


def test_token_that_we_issued_gives_its_claims():
    claims = VERIFIER.verify(GOOD)

    assert claims == SessionClaims(
        user_id=BOB.id,
        jti="session-1",
        session_version=1,
        issued_at=int(NOW) - HOUR,
        not_before=int(NOW) - HOUR,
        expires_at=int(NOW) + DAY,
        amr=("pwd",),
    )


PLAIN = (
    '{"typ":"session","exp":1795891652,"iat":1795870052,"jti":"a","nbf":1795870052,"sub":"7","sv":1,"amr":["pwd"],'
    '"aud":["api","%s"],"iss":"%s"}'
)


@pytest.mark.parametrize(
    ("audience", "issuer", "is_ours"),
    [(AUDIENCE, ISSUER, True), ("other", ISSUER, False), (AUDIENCE, "other", False), ("other", "other", False)],
)
def test_token_in_the_format_that_we_write_needs_issuer_and_audience(audience, issuer, is_ours):
    token = signed(HEADER, (PLAIN % (audience, issuer)).encode())

    assert (VERIFIER.verify(token) is not None) is is_ours


@pytest.mark.parametrize("claims", [{"sub": 7}, {"jti": 7}, {"sub": 7, "jti": 7}])
def test_payload_needs_subject_and_id_as_text(claims):
    assert verify_payload(with_claims(**claims), KEYS, issuer=ISSUER, audience=AUDIENCE) is None


@pytest.mark.parametrize("attack", FORGERIES)
def test_forged_token_proves_nobody(attack):
    believed = [name for name, token in FORGERIES[attack].items() if subject_of(token) is not None]

    assert believed == []


def test_table_of_forgeries_is_long_and_each_differs_from_the_good_token():
    tokens = [token for table in FORGERIES.values() for token in table.values()]

    assert len(tokens) == len(set(tokens)) >= 80
    assert GOOD not in tokens
    assert subject_of(GOOD) is not None


def test_forgeries_are_refused_for_their_fault_and_not_for_their_builder():
    assert subject_of(with_claims()) is not None
    assert subject_of(with_header()) is not None
    assert subject_of(signed(json.dumps(HEADER).encode(), json.dumps(some_claims(BOB)).encode())) is not None


@pytest.mark.parametrize("key", KEYS.keys, ids=lambda key: key.kid)
def test_every_key_of_the_ring_verifies(key):
    assert VERIFIER.verify(a_session_token(BOB, key=key)) is not None


def test_key_that_left_the_ring_verifies_no_more():
    shrunk = SessionVerifier(KeyRing(KEYS.keys[:1]), issuer=ISSUER, audience=AUDIENCE)

    assert shrunk.verify(a_session_token(BOB, key=KEYS.keys[1])) is None


@pytest.mark.parametrize("audience", ["gate", ["gate"], ["gate", "api"], ["api", "gate"]])
def test_audience_may_be_one_of_several(audience):
    assert subject_of(with_claims(aud=audience)) is not None


@pytest.mark.parametrize(("audience", "accepted"), [("api", True), (["gate", "api"], True), ("gate", False)])
def test_verifier_of_another_audience_wants_its_own(audience, accepted):
    verifier = SessionVerifier(KEYS, issuer=ISSUER, audience="api")

    assert (verifier.verify(with_claims(aud=audience)) is not None) is accepted


def test_payload_can_be_read_with_any_audience():
    payload = verify_payload(with_claims(aud="elsewhere"), KEYS, issuer=ISSUER, audience=None)

    assert payload is not None
    assert payload["aud"] == "elsewhere"


def test_header_needs_no_type():
    assert subject_of(with_header(typ=None)) is not None


def test_session_without_methods_has_none():
    claims = VERIFIER.verify(with_claims(amr=None))

    assert claims is not None
    assert claims.amr == ()


def test_claims_that_we_do_not_know_are_ignored():
    token = with_claims(is_admin=True, role="admin", all_domains=True)

    subject = subject_of(token)

    assert subject is not None
    assert not subject.is_admin


@pytest.mark.parametrize("claim", ["nbf", "iat"])
@pytest.mark.parametrize(("seconds", "begun"), [(59, True), (60, True), (61, False)])
def test_minute_of_clock_skew_is_granted_to_a_token_that_has_not_begun(claim, seconds, begun):
    assert (subject_of(with_claims(**{claim: int(NOW) + seconds})) is not None) is begun


@pytest.mark.parametrize(("seconds", "live"), [(-1, True), (-0.001, True), (0, False), (1, False), (59, False)])
def test_token_ends_at_its_expiry_without_skew(seconds, live):
    assert (subject_of(GOOD, at=int(NOW) + DAY + seconds) is not None) is live


def test_token_of_an_admin_is_the_admins():
    subject = subject_of(a_session_token(ALICE))

    assert subject is not None
    assert (subject.name, subject.is_admin) == ("alice", True)


@given(st.binary(max_size=200))
def test_any_text_is_verified_without_an_exception(text):
    assert VERIFIER.verify(text.decode("latin-1")) is None


@given(st.integers(0, len(GOOD) - 1), st.sampled_from("AZaz09-_.= \n\xff"))
def test_token_with_one_other_character_proves_nobody(position, character):
    token = GOOD[:position] + character + GOOD[position + 1 :]

    assert (VERIFIER.verify(token) is None) is (token != GOOD)


@pytest.mark.parametrize("claim", ["iss", "aud", "sub", "iat", "nbf", "exp", "jti", "typ", "sv"])
def test_payload_without_a_required_claim_is_refused(claim):
    assert verify_payload(with_claims(**{claim: None}), KEYS, issuer=ISSUER, audience=None) is None


@pytest.mark.parametrize(("claim", "moment"), [("exp", 1), ("nbf", 4_102_444_800), ("iat", 4_102_444_800)])
def test_times_of_a_payload_are_not_checked(claim, moment):
    payload = verify_payload(with_claims(**{claim: moment}), KEYS, issuer=ISSUER, audience=AUDIENCE)

    assert payload is not None
    assert payload[claim] == moment


@pytest.mark.parametrize(("digits", "read"), [(18, True), (19, False)])
def test_id_of_a_user_has_at_most_18_digits(digits, read):
    assert (VERIFIER.verify(with_claims(sub="9" * digits)) is not None) is read


@pytest.mark.parametrize("claim", ["iat", "nbf", "exp"])
@pytest.mark.parametrize(
    ("moment", "read"), [(0, True), (-1, False), (253_402_300_799, True), (253_402_300_800, False)]
)
def test_times_outside_of_the_calendar_are_refused(claim, moment, read):
    assert (VERIFIER.verify(with_claims(**{claim: moment})) is not None) is read


def test_longest_token_is_read_and_a_longer_one_is_not():
    headers = (HEADER, {"alg": "HS256", "kid": "new"})  # one payload cannot give every length
    tokens = [signed(header, some_claims(BOB, x="x" * size)) for header in headers for size in range(2600, 2900)]
    tokens = {len(token): token for token in tokens}

    assert VERIFIER.verify(tokens[4096]) is not None
    assert VERIFIER.verify(tokens[4097]) is None


@given(place=st.integers(0, len(GOOD) - 1), letter=st.sampled_from("Aa0-_.=+ \u00e9"), claims=st.booleans())
def test_a_changed_token_is_believed_where_pyjwt_believes_it_and_no_further(place, letter, claims):
    token = with_claims(aud=["elsewhere", AUDIENCE]) if claims else GOOD
    token = token[:place] + letter + token[place + 1 :]
    options = {"verify_exp": False, "verify_nbf": False, "verify_iat": False}
    try:
        believed = jwt.decode(
            token, KEYS.signing.secret, algorithms=["HS256"], issuer=ISSUER, audience=AUDIENCE, options=options
        )
    except jwt.InvalidTokenError:
        believed = None

    found = verify_payload(token, KEYS, issuer=ISSUER, audience=AUDIENCE)

    assert found is None or found == believed
    assert (found is not None) == (token in {GOOD, with_claims(aud=["elsewhere", AUDIENCE])})
