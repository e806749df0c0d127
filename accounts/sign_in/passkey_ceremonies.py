"""Passkey ceremonies: options for browsers, and verified answers of authenticators. Adapter of py_webauthn.

WebAuthn level 2, sections 7.1 and 7.2. The library verifies everything; checks that have a refusal reason of their own
run before that, on its parsed values. User verification is required, attestation is not requested. Callers import this
module when they need it, because the library takes 5 MiB.
"""

import hashlib
import hmac
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from webauthn import (
    generate_authentication_options,
    generate_registration_options,
    verify_authentication_response,
    verify_registration_response,
)
from webauthn.helpers import (
    base64url_to_bytes,
    bytes_to_base64url,
    options_to_json_dict,
    parse_attestation_object,
    parse_authentication_credential_json,
    parse_authenticator_data,
    parse_client_data_json,
    parse_registration_credential_json,
)
from webauthn.helpers.cose import COSEAlgorithmIdentifier
from webauthn.helpers.structs import (
    AuthenticatorData,
    AuthenticatorSelectionCriteria,
    AuthenticatorTransport,
    CollectedClientData,
    CredentialDeviceType,
    PublicKeyCredentialDescriptor,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from accounts.sign_in.passkey_challenges import LIFETIME
from accounts.sign_in.passkey_refusals import PasskeyRefused, Why
from accounts.sign_in.passkey_values import Assertion, KnownPasskey, NewPasskey, Verified
from accounts.sign_in.relying_party import RelyingParty

_NAME = "Gatewall"
_TIMEOUT = int(LIFETIME.total_seconds() * 1000)
_ALGORITHMS = [
    COSEAlgorithmIdentifier.ECDSA_SHA_256,
    COSEAlgorithmIdentifier.EDDSA,
    COSEAlgorithmIdentifier.RSASSA_PKCS1_v1_5_SHA_256,
]
_UNCOUNTED = -1
"""Stored counter for the library, which every answer exceeds: the caller compares it after verification."""


def registration_options(
    party: RelyingParty, challenge: bytes, *, user_handle: str, username: str, known: Iterable[KnownPasskey]
) -> dict[str, Any]:
    """Return the options of ``navigator.credentials.create()``, as JSON, for a discoverable passkey."""
    options = generate_registration_options(
        rp_id=party.id,
        rp_name=_NAME,
        user_id=base64url_to_bytes(user_handle),
        user_name=username,
        user_display_name=username,
        challenge=challenge,
        timeout=_TIMEOUT,
        authenticator_selection=AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.REQUIRED,
            require_resident_key=True,
            user_verification=UserVerificationRequirement.REQUIRED,
        ),
        exclude_credentials=_descriptors(known),
        supported_pub_key_algs=_ALGORITHMS,
    )
    return options_to_json_dict(options)


def sign_in_options(party: RelyingParty, challenge: bytes, *, known: Iterable[KnownPasskey] = ()) -> dict[str, Any]:
    """Return the options of ``navigator.credentials.get()``, as JSON; without known passkeys the browser asks."""
    options = generate_authentication_options(
        rp_id=party.id,
        challenge=challenge,
        timeout=_TIMEOUT,
        allow_credentials=_descriptors(known),
        user_verification=UserVerificationRequirement.REQUIRED,
    )
    return options_to_json_dict(options)


@contextmanager
def _refused_as(why: Why) -> Iterator[None]:
    """Turn any exception of the library into PasskeyRefused.

    The library raises its own errors, those of CBOR and of cryptography, and for some bytes those of Python: none may
    accept an answer, or become a server error.
    """
    try:
        yield
    except Exception as error:
        raise PasskeyRefused(why) from error


def challenge_of_registration(answer: object) -> bytes:
    """Return the challenge that a registration answers, unverified. Raises PasskeyRefused."""
    with _refused_as(Why.MALFORMED):
        response = parse_registration_credential_json(_object(answer)).response
        return parse_client_data_json(response.client_data_json).challenge


def parse_assertion(answer: object) -> Assertion:
    """Parse the answer to a sign-in. Raises PasskeyRefused."""
    with _refused_as(Why.MALFORMED):
        credential = parse_authentication_credential_json(_object(answer))
        challenge = parse_client_data_json(credential.response.client_data_json).challenge
    handle = credential.response.user_handle
    return Assertion(
        credential,
        bytes_to_base64url(credential.raw_id),
        None if handle is None else bytes_to_base64url(handle),
        challenge,
    )


def verify_registration(answer: object, party: RelyingParty, challenge: bytes) -> NewPasskey:
    """Verify a registration, whose challenge was accepted. Raises PasskeyRefused."""
    with _refused_as(Why.MALFORMED):
        credential = parse_registration_credential_json(_object(answer))
        client = parse_client_data_json(credential.response.client_data_json)
        data = parse_attestation_object(credential.response.attestation_object).auth_data
    _refuse(client, data, party)
    with _refused_as(Why.WRONG_SIGNATURE):
        verified = verify_registration_response(
            credential=credential,
            expected_challenge=challenge,
            expected_rp_id=party.id,
            expected_origin=list(party.origins),
            require_user_verification=True,
            supported_pub_key_algs=_ALGORITHMS,
        )
    return NewPasskey(
        credential_id=bytes_to_base64url(verified.credential_id),
        public_key=bytes_to_base64url(verified.credential_public_key),
        sign_count=verified.sign_count,
        transports=sorted(transport.value for transport in set(credential.response.transports or ())),
        backup_eligible=verified.credential_device_type is CredentialDeviceType.MULTI_DEVICE,
        backed_up=verified.credential_backed_up,
    )


def refuse_elsewhere(assertion: Assertion, party: RelyingParty) -> None:
    """Raise PasskeyRefused if the answer to a sign-in is of another origin or domain, or of an unverified user."""
    with _refused_as(Why.MALFORMED):
        client = parse_client_data_json(assertion.credential.response.client_data_json)
        data = parse_authenticator_data(assertion.credential.response.authenticator_data)
    _refuse(client, data, party)


def verify_assertion(assertion: Assertion, party: RelyingParty, public_key: str) -> Verified:
    """Verify the answer to a sign-in with the passkey's key; the caller compares the counter. Raises PasskeyRefused."""
    with _refused_as(Why.WRONG_SIGNATURE):
        verified = verify_authentication_response(
            credential=assertion.credential,
            expected_challenge=assertion.challenge,
            expected_rp_id=party.id,
            expected_origin=list(party.origins),
            credential_public_key=base64url_to_bytes(public_key),
            credential_current_sign_count=_UNCOUNTED,
            require_user_verification=True,
        )
    return Verified(verified.new_sign_count, verified.credential_backed_up)


def _refuse(client: CollectedClientData, data: AuthenticatorData, party: RelyingParty) -> None:
    if client.origin not in party.origins or client.cross_origin:
        raise PasskeyRefused(Why.WRONG_ORIGIN)
    if not hmac.compare_digest(data.rp_id_hash, hashlib.sha256(party.id.encode()).digest()):
        raise PasskeyRefused(Why.WRONG_RP_ID)
    if not (data.flags.up and data.flags.uv):
        raise PasskeyRefused(Why.NOT_VERIFIED)


def _object(answer: object) -> dict[str, Any]:
    """Return the answer if it is a JSON object. Raises TypeError."""
    if not isinstance(answer, dict):
        raise TypeError
    return answer


def _descriptors(known: Iterable[KnownPasskey]) -> list[PublicKeyCredentialDescriptor]:
    return [
        PublicKeyCredentialDescriptor(
            id=base64url_to_bytes(each.credential_id),
            transports=[AuthenticatorTransport(name) for name in each.transports],
        )
        for each in known
    ]
