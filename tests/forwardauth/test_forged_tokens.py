"""Session tokens that we did not issue, or not like this: each opens nothing, here and at the API."""

import hashlib
import hmac
import json
import secrets
import time
import uuid

import jwt
import pytest
from django.conf import settings

from accounts.models import Session
from tests.cast import base64url
from tests.wall import Api, a_token

pytestmark = pytest.mark.django_db


def ours():
    return settings.GATEWALL_JWT_KEYS.signing


def claims(user, **changes):
    """Return the claims of a session of the user that is recorded; None leaves a claim out."""
    now = int(time.time())
    usual = {
        "iss": "gatewall",
        "aud": ["gate", "api"],
        "sub": str(user.pk),
        "iat": now,
        "nbf": now,
        "exp": now + 3600,
        "jti": str(Session.objects.get(user=user).pk),
        "typ": "session",
        "sv": user.session_version,
        "amr": ["pwd"],
    }
    return {name: value for name, value in (usual | changes).items() if value is not None}


def signed(payload, header=None, secret=None):
    """Return a token with our key's signature over whatever is in it."""
    head = {"alg": "HS256", "typ": "JWT", "kid": ours().kid} if header is None else header
    parts = [part if isinstance(part, bytes) else json.dumps(part).encode() for part in (head, payload)]
    body = ".".join(map(base64url, parts))
    key = ours().secret if secret is None else secret
    return f"{body}.{base64url(hmac.digest(key, body.encode(), hashlib.sha256))}"


def header(**changes):
    return {"alg": "HS256", "typ": "JWT", "kid": ours().kid, **changes}


def other_algorithm(user, name, digest):
    body = f"{base64url(json.dumps(header(alg=name)).encode())}.{base64url(json.dumps(claims(user)).encode())}"
    return f"{body}.{base64url(hmac.digest(ours().secret, body.encode(), digest))}"


def doubled(user):
    text = json.dumps(claims(user, exp=1))
    return text[:-1].encode() + f', "exp": {int(time.time()) + 3600}, "sub": "999999"}}'.encode()


def with_tail(user, tail):
    return signed(claims(user)) + tail


FORGED = {
    "no algorithm": lambda user: jwt.encode(claims(user), None, "none", headers={"kid": ours().kid}),
    "no algorithm, no signature": lambda user: signed(claims(user), header(alg="none")).rpartition(".")[0] + ".",
    "algorithm in other case": lambda user: signed(claims(user), header(alg="hs256")),
    "algorithm is a list": lambda user: signed(claims(user), header(alg=["HS256"])),
    "algorithm is missing": lambda user: signed(claims(user), {"typ": "JWT", "kid": ours().kid}),
    "HS384": lambda user: other_algorithm(user, "HS384", hashlib.sha384),
    "HS512": lambda user: other_algorithm(user, "HS512", hashlib.sha512),
    "key of a stranger": lambda user: signed(claims(user), secret=secrets.token_bytes(32)),
    "empty key": lambda user: signed(claims(user), secret=b""),
    "key name as key": lambda user: signed(claims(user), secret=ours().kid.encode()),
    "signature removed": lambda user: signed(claims(user)).rpartition(".")[0] + ".",
    "signature cut short": lambda user: signed(claims(user))[:-4],
    "signature of zeros": lambda user: signed(claims(user)).rpartition(".")[0] + "." + base64url(bytes(32)),
    "two segments": lambda user: signed(claims(user)).rpartition(".")[0],
    "four segments": lambda user: with_tail(user, ".e30"),
    "padding": lambda user: with_tail(user, "="),
    "line feed in it": lambda user: signed(claims(user)).replace(".", ".\n", 1),
    "header is no JSON": lambda user: signed(claims(user), b"{"),
    "header is a list": lambda user: signed(claims(user), b"[]"),
    "header is deep": lambda user: signed(claims(user), b"[" * 1400),
    "payload is no JSON": lambda _: signed(b"\xff\xfe"),
    "payload is a list": lambda _: signed(b"[]"),
    "claims twice": lambda user: signed(doubled(user)),
    "no expiry": lambda user: signed(claims(user, exp=None)),
    "expired": lambda user: signed(claims(user, exp=int(time.time()) - 1)),
    "expiry is text": lambda user: signed(claims(user, exp="9999999999")),
    "expiry is true": lambda user: signed(claims(user, exp=True)),
    "expiry is infinite": lambda user: signed(json.dumps(claims(user)).encode()[:-1] + b', "exp": 1e400}'),
    "not yet": lambda user: signed(claims(user, nbf=int(time.time()) + 3600)),
    "issued in an hour": lambda user: signed(claims(user, iat=int(time.time()) + 3600)),
    "subject unknown": lambda user: signed(claims(user, sub="999999")),
    "subject is a number": lambda user: signed(claims(user, sub=user.pk)),
    "subject is long": lambda user: signed(claims(user, sub="9" * 300)),
    "subject in other digits": lambda user: signed(claims(user, sub="\u0661")),
    "key unknown": lambda user: signed(claims(user), header(kid="other")),
    "key is a path": lambda user: signed(claims(user), header(kid="../../dev/null"), b""),
    "key is missing": lambda user: signed(claims(user), {"alg": "HS256", "typ": "JWT"}),
    "key brought along": lambda user: signed(claims(user), header(jwk={"kty": "oct", "k": "AA"}), b"\0"),
    "key at an address": lambda user: signed(claims(user), header(jku="http://evil.example/")),
    "critical header": lambda user: signed(claims(user), header(crit=["exp"])),
    "compressed": lambda user: signed(claims(user), header(zip="DEF")),
    "type of a challenge": lambda user: signed(claims(user, typ="challenge")),
    "no type": lambda user: signed(claims(user, typ=None)),
    "other issuer": lambda user: signed(claims(user, iss="gatewall.evil")),
    "other audience": lambda user: signed(claims(user, aud="gateway")),
    "audience in a list of lists": lambda user: signed(claims(user, aud=[["gate", "api"]])),
    "audience is an object": lambda user: signed(claims(user, aud={"gate": "api"})),
    "no audience": lambda user: signed(claims(user, aud=None)),
    "session version of tomorrow": lambda user: signed(claims(user, sv=user.session_version + 1)),
    "session version is true": lambda user: signed(claims(user, sv=True)),
    "long": lambda user: signed(claims(user, amr=["x" * 4096])),
}


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED)
def test_a_forged_token_opens_nothing(auth, bob, forge):
    a_token(bob)

    assert auth(service_authorization=forge(bob)).verdict == (401, "credential-invalid")


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED)
def test_a_forged_token_of_an_admin_does_not_open_the_api(alice, forge):
    a_token(alice)

    assert Api(forge(alice)).get("/users").status_code == 401


def test_the_forger_can_make_a_good_token(auth, bob):
    a_token(bob)

    assert auth(service_authorization=signed(claims(bob))).verdict == (200, "session-valid")


def test_every_bit_of_the_signature_counts(auth, bob):
    head, _, signature = a_token(bob).rpartition(".")
    flipped = [
        signature[:at] + ("A" if signature[at] != "A" else "B") + signature[at + 1 :] for at in range(len(signature))
    ]

    assert {auth(service_authorization=f"{head}.{each}").status for each in flipped} == {401}


def test_a_token_that_was_never_recorded_does_not_open_the_api(alice):
    token = a_token(alice)
    Session.objects.all().delete()

    assert Api(token).get("/users").status_code == 401


def test_a_token_of_an_unknown_session_does_not_open_the_api(alice):
    a_token(alice)

    assert Api(signed(claims(alice, jti=str(uuid.uuid4())))).get("/users").status_code == 401


def test_an_end_that_no_calendar_has_does_not_open_the_api(alice):
    a_token(alice)

    assert Api(signed(claims(alice, exp=10**30))).get("/users").status_code == 401


def test_a_session_id_that_is_no_uuid_does_not_open_the_api(alice):
    a_token(alice)

    assert Api(signed(claims(alice, jti="'; DROP TABLE"))).get("/users").status_code == 401
