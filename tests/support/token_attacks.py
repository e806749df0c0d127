"""JWT attacks by id: tokens that must be rejected, and attacks that need a test of their own.

More variants are in ``tests/unit/forgeries.py``.
"""

import json
from collections.abc import Callable
from typing import Any

from tests.support.cast import base64url
from tests.support.token_forger import (
    HOUR,
    Attack,
    bytes_of,
    json_serialization,
    jwk_of,
    loosened,
    segment_of,
    twice,
    with_claims,
    with_doubled_claim,
    with_doubled_header,
    with_header,
    with_hmac,
    with_letter,
    with_loose_payload,
    with_rsa,
    with_secret,
    with_signature,
    with_time,
    with_written,
)

COUNTS = {
    "J-01": 10, "J-02": 5, "J-03": 13, "J-04": 5, "J-05": 8, "J-06": 8, "J-07": 8, "J-08": 8, "J-09": 14,
    "J-10": 10, "J-11": 9, "J-12": 6, "J-13": 8, "J-14": 4, "J-15": 9, "J-16": 8, "J-17": 5, "J-18": 4,
    "J-19": 4, "J-20": 3, "J-21": 2, "J-23": 4, "J-24": 3,
}  # fmt: skip
"""Number of cases of each row of the list: 158 in total. J-22 is not counted: it stands for the Wycheproof vectors."""


_NONE = ("none", "None", "NONE", "nOnE", "none ")
_ASYMMETRIC = [f"{family}{size}" for family in ("RS", "ES", "PS") for size in (256, 384, 512)] + ["EdDSA"]


def _unsigned(alg: str, part: slice = slice(None)) -> Attack:
    return lambda forger: forger.unsigned(alg)[part]


def _at(claim: str, value: Callable[[Any], object]) -> Attack:
    return lambda forger: forger.claiming(**{claim: value(forger.now)})


_MOMENTS: dict[str, Callable[[Any], object]] = {
    "in an hour": lambda now: now + HOUR,
    "61 s ahead": lambda now: now + 61,
    "negative": lambda _: -1,
    "a float": lambda now: now + 0.5,
    "a string": str,
}

TOKENS: dict[str, Attack] = {
    **{f"J-01 alg {alg!r}, with the last dot": _unsigned(alg) for alg in _NONE},
    **{f"J-01 alg {alg!r}, without the last dot": _unsigned(alg, slice(-1)) for alg in _NONE},
    "J-02 alg missing": with_header(alg=None),
    "J-02 alg null": lambda forger: forger.sign({**forger.header(), "alg": None}),
    "J-02 alg a number": with_header(alg=256),
    "J-02 alg a list": with_header(alg=["HS256"]),
    "J-02 alg empty": with_header(alg=""),
    "J-03 HS1 with its digest": with_hmac("HS1", "sha1"),
    "J-03 HS384 with its digest": with_hmac("HS384", "sha384"),
    "J-03 HS512 with its digest": with_hmac("HS512", "sha512"),
    **{f"J-03 {name} over our key": with_header(alg=name) for name in _ASYMMETRIC},
    "J-04 signature removed": with_signature(lambda _: ""),
    "J-04 signature truncated": with_signature(lambda text: text[:-4]),
    "J-04 one bit of the signature flipped": with_signature(
        lambda text: bytes_of(text, lambda raw: bytes([raw[0] ^ 1]) + raw[1:])
    ),
    "J-04 signature of zeros": with_signature(lambda _: base64url(bytes(32))),
    "J-04 signature of another token": lambda forger: ".".join(
        [*forger.good().split(".")[:2], forger.claiming(x=1).rpartition(".")[2]]
    ),
    "J-05 no segment": lambda _: "",
    "J-05 one segment": lambda forger: forger.good().partition(".")[0],
    "J-05 two segments": lambda forger: forger.good().rpartition(".")[0],
    "J-05 four segments": lambda forger: f"{forger.good()}.e30",
    "J-05 five segments": lambda forger: f"{forger.good()}.e30.e30",
    "J-05 JWE compact": lambda forger: (
        f"{segment_of({'alg': 'dir', 'enc': 'A256GCM', 'kid': forger.key.kid})}..AAAA.AAAA.AAAA"
    ),
    "J-05 JWS JSON, flattened": lambda forger: json_serialization(forger, general=False),
    "J-05 JWS JSON, general": lambda forger: json_serialization(forger, general=True),
    "J-06 padding": lambda forger: f"{forger.good()}=",
    "J-06 plus for minus": with_letter("-", "+"),
    "J-06 slash for underscore": with_letter("_", "/"),
    "J-06 white space inside": lambda forger: forger.good().replace(".", " .", 1),
    "J-06 tab inside": lambda forger: forger.good().replace(".", ".\t", 1),
    "J-06 line feed inside": lambda forger: forger.good().replace(".", ".\n", 1),
    "J-06 last bits of the signature": with_signature(loosened),
    "J-06 last bits of the payload, signed": with_loose_payload,
    "J-07 header no JSON": lambda forger: forger.sign(b"{"),
    "J-07 payload no JSON": lambda forger: forger.sign(payload=b"{"),
    "J-07 payload an array": lambda forger: forger.sign(payload=[dict(forger.claims)]),
    "J-07 header a string": lambda forger: forger.sign("HS256"),
    "J-07 payload 10,000 deep": lambda forger: forger.sign(payload=b"[" * 10_000 + b"]" * 10_000),
    "J-07 payload of a megabyte": with_claims(x="x" * 1_000_000),
    "J-07 invalid UTF-8": lambda forger: forger.sign(
        payload=json.dumps(dict(forger.claims)).encode()[:-1] + b', "x": "\xff"}'
    ),
    "J-07 byte order mark": lambda forger: forger.sign(
        payload=b"\xef\xbb\xbf" + json.dumps(dict(forger.claims)).encode()
    ),
    "J-08 alg twice": with_doubled_header(alg=("none", "HS256")),
    "J-08 header's typ twice": with_doubled_header(typ=("at+jwt", "JWT")),
    "J-08 kid twice": lambda forger: forger.sign(twice(kid=("other", forger.key.kid))(forger.header())),
    "J-08 exp twice": with_doubled_claim("exp", 1),
    "J-08 sub twice": with_doubled_claim("sub", "1"),
    "J-08 payload's typ twice": with_doubled_claim("typ", "challenge"),
    "J-08 aud twice": with_doubled_claim("aud", "api"),
    "J-08 sv twice": with_doubled_claim("sv", 99),
    "J-09 exp absent": with_claims(exp=None),
    "J-09 exp past": with_time("exp", -1),
    "J-09 exp now": with_time("exp", 0),
    "J-09 exp 0": with_claims(exp=0),
    "J-09 exp -1": with_claims(exp=-1),
    **{f"J-09 exp {text}": with_written("exp", text) for text in ("1e400", "NaN", "Infinity")},
    "J-09 exp a string": with_claims(exp="9999999999"),
    "J-09 exp true": with_claims(exp=True),
    "J-09 exp a list": lambda forger: forger.claiming(exp=[forger.now + HOUR]),
    "J-09 exp in milliseconds": lambda forger: forger.claiming(exp=(forger.now + HOUR) * 1000),
    "J-09 exp 2^63": with_claims(exp=2**63),
    "J-09 exp 10^30": with_claims(exp=10**30),
    **{f"J-10 {name} {words}": _at(name, value) for name in ("nbf", "iat") for words, value in _MOMENTS.items()},
    "J-11 sub unknown": with_claims(sub="999999"),
    "J-11 sub deleted": lambda forger: forger.claiming(**forger.deleted),
    "J-11 sub disabled": lambda forger: forger.claiming(**forger.disabled),
    "J-11 sub null": lambda forger: forger.writing("sub", "null"),
    "J-11 sub a number": lambda forger: forger.claiming(sub=int(str(forger.claims["sub"]))),
    "J-11 sub a list": lambda forger: forger.claiming(sub=[forger.claims["sub"]]),
    "J-11 sub empty": with_claims(sub=""),
    "J-11 sub of 10 KB": with_claims(sub="9" * 10_240),
    "J-11 sub the admin's": lambda forger: forger.splicing(**forger.admin),
    "J-12 public data as key: the kid": with_secret(lambda forger: forger.key.kid.encode()),
    "J-12 JWK text as key": with_secret(lambda forger: json.dumps(jwk_of(forger)).encode()),
    "J-12 PEM as key": with_secret(lambda _: b"-----BEGIN PUBLIC KEY-----\nMAA=\n-----END PUBLIC KEY-----\n"),
    "J-12 file name as key": with_secret(lambda _: b"secrets/jwt-keys"),
    "J-12 empty key": with_secret(lambda _: b""),
    "J-12 base64 text as key": with_secret(lambda forger: base64url(forger.key.secret).encode()),
    "J-13 kid unknown": with_header(kid="unknown"),
    "J-13 kid missing": with_header(kid=None),
    "J-13 kid a path": lambda forger: forger.sign(forger.header(kid="../../../dev/null"), secret=b""),
    "J-13 kid SQL": lambda forger: forger.sign(forger.header(kid="x' UNION SELECT 'k' --"), secret=b"k"),
    "J-13 kid with NUL": lambda forger: forger.sign(forger.header(kid=f"{forger.key.kid}\0")),
    "J-13 kid of 10 KB": with_header(kid="k" * 10_240),
    "J-13 kid a list": lambda forger: forger.sign(forger.header(kid=[forger.key.kid])),
    "J-13 kid null": lambda forger: forger.sign({**forger.header(), "kid": None}),
    "J-14 jku": with_header(jku="https://attacker.example/jwks.json"),
    "J-14 x5u": with_header(x5u="https://attacker.example/chain.pem"),
    "J-14 jwk": lambda forger: forger.sign(forger.header(jwk={"kty": "oct", "k": "AAAA"}), secret=bytes(3)),
    "J-14 x5c": with_header(x5c=["MIIB"]),
    "J-16 aud wrong": with_claims(aud="elsewhere"),
    "J-16 aud in other case": with_claims(aud=["GATE", "API"]),
    "J-16 aud with a slash": with_claims(aud=["gate/", "api/"]),
    "J-16 aud a prefix": with_claims(aud=["gat", "ap"]),
    "J-16 iss wrong": with_claims(iss="attacker"),
    "J-16 iss in other case": with_claims(iss="Gatewall"),
    "J-16 iss with a slash": with_claims(iss="gatewall/"),
    "J-16 iss a list with the right one": with_claims(iss=["gatewall"]),
    "J-19 zip": with_header(zip="DEF"),
    "J-19 b64 false": with_header(b64=False),
    "J-19 cty JWT": with_header(cty="JWT"),
    "J-19 a token in a token": lambda forger: forger.sign(payload=forger.good().encode()),
    "J-20 crit unknown": with_header(crit=["x"]),
    "J-20 crit empty": with_header(crit=[]),
    "J-20 crit no list": with_header(crit="exp"),
    "J-21 role raised behind the signature": lambda forger: forger.splicing(is_admin=True, role="admin"),
    "J-22 ES256 with r and s zero": lambda forger: f"{forger.unsigned('ES256')}{base64url(bytes(64))}",
    "J-22 RSA of 1,024 bits": with_rsa("RSA of 1,024 bits"),
    "J-22 RSA under a ROCA key": with_rsa("RSA under a ROCA key"),
}
"""Each must be rejected by the verifier, by ``/auth`` and by the API."""

STAGED = (
    "J-15 challenge token as session",
    "J-15 challenge token as cookie",
    "J-15 session as challenge token",
    "J-15 git token as session",
    "J-15 license as session",
    "J-15 session as git token",
    "J-15 session as license",
    "J-15 git token as license",
    "J-15 license as git token",
    "J-17 after logout",
    "J-17 after a password change",
    "J-17 after the user was deleted",
    "J-17 after the key left the ring",
    "J-17 after the second factor was taken away",
    "J-18 challenge used twice",
    "J-18 challenge with the code of another user",
    "J-18 challenge expired",
    "J-18 challenge after five wrong codes",
    "J-21 role in a signed token",
    "J-23 bad header, good cookie",
    "J-23 good header, bad cookie",
    "J-23 bad header, bad cookie",
    "J-23 header of one, cookie of another",
    "J-24 short key",
    "J-24 key of one letter",
    "J-24 key that everybody knows",
)
"""Attacks that need more than a token; each is the id of a test."""


def staged(row: str) -> list[str]:
    """Return the attacks of a row that need more than a token."""
    return [name for name in STAGED if name.startswith(row)]
