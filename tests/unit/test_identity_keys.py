"""Keys of signed identities: another library verifies their tokens with the published key set alone."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from joserfc import jwt
from joserfc.errors import BadSignatureError, InvalidKeyIdError
from joserfc.jwk import KeySet

from gatewall.credentials.identity_keys import EDDSA, ES256, IdentityKeys
from gatewall.credentials.rotation import RESTART_GRACE, new_ring, pruned, rotated

pytestmark = pytest.mark.filterwarnings("ignore:EdDSA is deprecated")  # RFC 9864; sites know this name
START = datetime(2026, 11, 1, tzinfo=UTC)
CLAIMS = {"sub": "2", "groups": ["büro"]}
EACH_ALGORITHM = pytest.mark.parametrize("algorithm", [EDDSA, ES256])


def verified(token, keys):
    """Return header and claims of a token, verified with the published key set. Raises JoseError."""
    found = jwt.decode(token, KeySet.import_key_set(json.loads(keys.key_set)), algorithms=[EDDSA, ES256])
    return found.header, found.claims


@EACH_ALGORITHM
def test_token_verifies_by_another_library_from_the_key_set(algorithm):
    keys = IdentityKeys(new_ring(START))

    header, claims = verified(keys.sign(CLAIMS, algorithm), keys)

    assert claims == CLAIMS
    assert (header["alg"], header["typ"]) == (algorithm, "JWT")


@EACH_ALGORITHM
def test_changed_token_does_not_verify(algorithm):
    keys = IdentityKeys(new_ring(START))
    head, _, signature = keys.sign(CLAIMS, algorithm).split(".")
    other = keys.sign({**CLAIMS, "sub": "1"}, algorithm).split(".")[1]

    with pytest.raises(BadSignatureError):
        verified(f"{head}.{other}.{signature}", keys)


@EACH_ALGORITHM
def test_token_of_another_installation_does_not_verify(algorithm):
    token = IdentityKeys(new_ring(START)).sign(CLAIMS, algorithm)

    with pytest.raises(InvalidKeyIdError):
        verified(token, IdentityKeys(new_ring(START)))


def test_keys_have_their_thumbprint_as_kid_and_state_their_use():
    published = json.loads(IdentityKeys(new_ring(START)).key_set)["keys"]

    for key in KeySet.import_key_set({"keys": published}).keys:
        assert key.kid == key.thumbprint()
    assert [(key["kty"], key["alg"], key["use"]) for key in published] == [
        ("OKP", EDDSA, "sig"),
        ("EC", ES256, "sig"),
    ] * 2


def test_key_set_has_no_private_part_and_nothing_of_the_session_keys():
    ring = new_ring(START)
    text = IdentityKeys(ring).key_set

    assert all("d" not in key for key in json.loads(text)["keys"])
    for key in ring.keys:
        assert key.kid.encode() not in text


def test_processes_with_the_same_session_keys_have_the_same_identity_keys():
    ring = new_ring(START)

    assert IdentityKeys(ring).key_set == IdentityKeys(ring).key_set


@EACH_ALGORITHM
def test_tokens_verify_across_a_rotation_in_both_directions(algorithm):
    before = new_ring(START)
    after = rotated(before, START + RESTART_GRACE)

    for signs in (before, after):
        for published in (before, after):
            assert verified(IdentityKeys(signs).sign(CLAIMS, algorithm), IdentityKeys(published))[1] == CLAIMS


@EACH_ALGORITHM
def test_public_key_is_dropped_with_its_retired_session_key(algorithm):
    ring = new_ring(START)
    token = IdentityKeys(ring).sign(CLAIMS, algorithm)
    retired = rotated(ring, START + RESTART_GRACE)

    kept = pruned(retired, START)
    gone = pruned(retired, START + 2 * RESTART_GRACE + timedelta(hours=24))

    assert verified(token, IdentityKeys(kept))[1] == CLAIMS
    with pytest.raises(InvalidKeyIdError):
        verified(token, IdentityKeys(gone))
