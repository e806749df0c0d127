"""Validation of ID tokens: attacks on tokens, and the rotation of keys (RFC 9700, RFC 8725)."""

import base64
import hashlib
import hmac
import json
import time

import pytest
from joserfc import jws

from accounts.models import User
from accounts.openid import documents as cache
from accounts.openid.documents import Documents
from accounts.openid.settings import ProviderSettings
from accounts.openid.signatures import _REGISTRY
from tests.support.openid_provider import CLIENT_ID, CLIENT_SECRET, a_key
from tests.support.provider_visits import sign_in, whys
from tests.support.visitor import Visitor, words

pytestmark = pytest.mark.django_db
NOW = time.time


def part(value):
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def by_hmac(secret, header, claims):
    signed = f"{part(header)}.{part(claims)}"
    tag = hmac.digest(secret, signed.encode(), hashlib.sha256)
    return f"{signed}.{base64.urlsafe_b64encode(tag).decode().rstrip('=')}"


def refused(corp, why):
    answer = sign_in(Visitor(), corp)
    assert answer.status_code == 403, answer.text
    assert "could not be verified" in words(answer)
    assert not User.objects.filter(username="dora").exists()
    assert whys("provider.refused") == [why]


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"aud": "another-client"}, "audience"),
        ({"aud": ["another-client"]}, "audience"),
        ({"aud": None}, "audience"),
        ({"aud": [CLIENT_ID, "another-client"]}, "audience"),
        ({"azp": "another-client"}, "audience"),
        ({"iss": "https://attacker.example"}, "issuer"),
        ({"iss": None}, "issuer"),
        ({"sub": None}, "malformed"),
        ({"sub": ""}, "malformed"),
        ({"sub": "x" * 256}, "malformed"),
        ({"sub": 7}, "malformed"),
        ({"exp": None}, "malformed"),
        ({"exp": True}, "malformed"),
        ({"exp": 1e300}, "malformed"),
        ({"nonce": None}, "nonce"),
        ({"sid": 7}, "malformed"),
    ],
)
def test_wrong_audience_issuer_and_subject(corp, set_up, claims, why):
    corp.in_token = claims

    refused(corp, why)


@pytest.mark.parametrize(
    ("shift", "why"),
    [
        ({"exp": -61}, "expired"),
        ({"iat": 75, "exp": 300}, "not-yet-valid"),
        ({"nbf": 75}, "not-yet-valid"),
        ({"iat": -75, "exp": 300}, "issued-too-early"),
        ({"iat": 0, "exp": 90_000}, "expired"),
    ],
)
def test_clock_skew(corp, set_up, shift, why):
    corp.in_token = {name: int(NOW()) + seconds for name, seconds in shift.items()}
    if "exp" in corp.in_token and "iat" not in corp.in_token:
        corp.in_token["iat"] = int(NOW())

    refused(corp, why)


@pytest.mark.parametrize("shift", [{"iat": -45}, {"iat": 45, "nbf": 45}, {"exp": -30}])
def test_clock_skew_of_less_than_a_minute_is_borne(corp, set_up, shift):
    corp.in_token = {name: int(NOW()) + seconds for name, seconds in shift.items()}

    assert sign_in(Visitor(), corp).status_code == 303


def test_alg_none(corp, set_up):
    corp.sign = lambda header, claims: f"{part({**header, 'alg': 'none'})}.{part(claims)}."

    refused(corp, "algorithm")


@pytest.mark.parametrize("secret", [CLIENT_SECRET.encode(), b"public"])
def test_alg_swap_to_hmac(corp, set_up, secret):
    secret = corp.keys[0].as_pem(private=False) if secret == b"public" else secret
    corp.sign = lambda header, claims: by_hmac(secret, {**header, "alg": "HS256"}, claims)

    refused(corp, "algorithm")


def test_alg_swap_to_that_of_another_kind_of_key(corp, set_up):
    corp.sign = lambda header, claims: by_hmac(b"key", {**header, "alg": "RS256"}, claims)

    refused(corp, "unknown-key")


@pytest.mark.parametrize(
    ("alg", "key"),
    [
        ("RS256", ("RSA", 2048)),
        ("PS256", ("RSA", 2048)),
        ("ES256", ("EC", "P-256")),
        ("EdDSA", ("OKP", "Ed25519")),
    ],
)
def test_each_algorithm_of_the_list_is_accepted(corp, set_up, alg, key):
    corp.keys, corp.header = [a_key("its", *key)], {"alg": alg}

    assert sign_in(Visitor(), corp).status_code == 303


def test_an_rsa_key_that_is_too_short(corp, set_up):
    corp.keys, corp.header = [a_key("short", "RSA", 1024)], {"alg": "RS256"}

    refused(corp, "weak-key")


def test_a_token_that_was_changed_after_it_was_signed(corp, set_up):
    def changed(header, claims):
        head, _, signature = corp._signed(header, claims).split(".")
        return f"{head}.{part({**claims, 'sub': 'admin'})}.{signature}"

    corp.sign = changed
    refused(corp, "signature")


def test_a_token_of_a_key_that_the_provider_does_not_have(corp, set_up):
    forger = a_key("first")
    corp.sign = lambda header, claims: jws.serialize_compact(header, json.dumps(claims), forger, registry=_REGISTRY)

    refused(corp, "signature")


@pytest.mark.parametrize(
    ("header", "why"),
    [
        ({"typ": "logout+jwt"}, "type"),
        ({"typ": "at+jwt"}, "type"),
        ({"crit": ["exp"]}, "malformed"),
        ({"kid": "unknown"}, "unknown-key"),
        ({"jwk": {"kty": "oct", "k": "AA"}, "kid": "unknown"}, "unknown-key"),
    ],
)
def test_a_header_that_is_not_that_of_an_id_token(corp, set_up, header, why):
    def signed(head, claims):
        content = f"{part({**head, **header})}.{part(claims)}"
        signature = _REGISTRY.get_alg("ES256").sign(content.encode(), corp.keys[0])
        return f"{content}.{base64.urlsafe_b64encode(signature).decode().rstrip('=')}"

    corp.sign = signed
    refused(corp, why)


def test_a_user_info_response_about_somebody_else(corp, set_up):
    corp.user_info = {"sub": "sub-of-another"}

    refused(corp, "user-info")


def test_user_info_completes_the_claims_of_the_token(corp, set_up):
    corp.user_info, corp.claims = dict(corp.claims), {"email": "signed@corp.example", "email_verified": True}

    assert sign_in(Visitor(), corp).status_code == 303
    assert User.objects.get().email == "signed@corp.example"


def test_jwks_rotation(corp, set_up):
    assert sign_in(Visitor(), corp).status_code == 303
    corp.keys = [a_key("second")]

    refused_before_the_minute = sign_in(Visitor(), corp)
    assert refused_before_the_minute.status_code == 403
    assert len(corp.calls("/jwks")) == 1


def test_jwks_rotation_is_followed_at_most_once_a_minute(corp, settings):
    now = [1000.0]
    documents = Documents(clock=lambda: now[0])
    provider = ProviderSettings(1, corp.issuer, CLIENT_ID, None, allow_private=True)

    assert [key["kid"] for key in documents.keys(provider, kid="first")] == ["first"]
    corp.keys = [a_key("second")]
    for _ in range(3):
        assert [key["kid"] for key in documents.keys(provider, kid="second")] == ["first"]
    now[0] += cache.AGAIN_AFTER_SECONDS + 1
    for _ in range(3):
        assert [key["kid"] for key in documents.keys(provider, kid="second")] == ["second"]
        documents.keys(provider, kid="made-up")
    assert len(corp.calls("/jwks")) == 2


def test_keys_and_discovery_document_are_kept_for_an_hour(corp, settings):
    now = [1000.0]
    documents = Documents(clock=lambda: now[0])
    provider = ProviderSettings(1, corp.issuer, CLIENT_ID, None, allow_private=True)
    for _ in range(3):
        documents.keys(provider, kid="first")
    now[0] += cache.KEPT_SECONDS + 1
    documents.keys(provider, kid="first")

    assert [len(corp.calls(path)) for path in ("/jwks", "/.well-known/openid-configuration")] == [2, 2]


def test_a_token_of_two_audiences_names_us_as_the_authorized_party(corp, set_up):
    corp.in_token = {"aud": [CLIENT_ID, "another"], "azp": CLIENT_ID, "iat": int(time.time())}

    assert sign_in(Visitor(), corp).status_code == 303
