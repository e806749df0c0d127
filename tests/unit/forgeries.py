"""Forged tokens that must be refused: more variants of the attacks in ``tests/support/token_attacks.py``, by row."""

import hashlib
import hmac
import json

import jwt

from gatewall.credentials.keyring import SigningKey
from tests.support.cast import (
    BOB,
    BOBS_GIT_TOKEN,
    HOUR,
    KEYS,
    NOW,
    OPEN_LICENSE,
    STRANGERS_KEY,
    a_session_token,
    base64url,
    some_claims,
)

HEADER = {"alg": "HS256", "kid": "new", "typ": "JWT"}
GOOD = a_session_token(BOB)
HEAD, BODY, SIGNATURE = GOOD.split(".")
SECRET = KEYS.signing.secret


def signed(header, payload, secret=SECRET):
    """Return a token over exactly these bytes or values, with a valid signature."""
    parts = [part if isinstance(part, bytes) else json.dumps(part).encode() for part in (header, payload)]
    signing_input = ".".join(map(base64url, parts))
    return f"{signing_input}.{base64url(hmac.digest(secret, signing_input.encode(), hashlib.sha256))}"


def with_header(**fields):
    """Return a token signed by our key, with some header fields replaced; None omits a field."""
    return signed({name: value for name, value in (HEADER | fields).items() if value is not None}, some_claims(BOB))


def with_claims(**claims):
    return signed(HEADER, some_claims(BOB, **claims))


def _payload(text):
    """The usual claims as JSON, one of them written by hand: what ``json.dumps`` would not write."""
    return json.dumps(some_claims(BOB)).replace(f'"exp": {int(NOW) + 24 * HOUR}', text).encode()


def _flipped(position):
    raw = bytearray(jwt.utils.base64url_decode(SIGNATURE))
    raw[position] ^= 1
    return f"{HEAD}.{BODY}.{base64url(bytes(raw))}"


def _loose_last_bits(segment):
    """Another spelling of the same bytes: the unused last bits of base64url are not zero."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return segment[:-1] + alphabet[alphabet.index(segment[-1]) + 1]


def _none(alg):
    return f"{base64url(json.dumps(HEADER | {'alg': alg}).encode())}.{BODY}."


def _hmac(algorithm, digest):
    header = base64url(json.dumps(HEADER | {"alg": algorithm}).encode())
    return f"{header}.{BODY}.{base64url(hmac.digest(SECRET, f'{header}.{BODY}'.encode(), digest))}"


JWK = json.dumps({"kty": "oct", "kid": "new", "k": base64url(SECRET)})

FORGERIES: dict[str, dict[str, str]] = {
    "J-01, J-02, J-03: the algorithm": {
        **{
            f"alg {alg!r} without signature": _none(alg)
            for alg in ("none", "None", "NONE", "nOnE", "none ", "HS256", "")
        },
        **{f"alg {alg!r} with a signature": _none(alg) + SIGNATURE for alg in ("none", "None", "NONE", "nOnE")},
        "alg none without the last dot": _none("none")[:-1],
        **{
            f"alg is {alg!r}": with_header(alg=alg)
            for alg in (None, 1, 256, True, [], ["HS256"], {}, "", "hs256", "HS256 ")
        },
        **{
            f"alg {alg} over our key": with_header(alg=alg)
            for alg in ("HS1", "RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS512", "EdDSA", "dir")
        },
        "alg HS384 with its own digest": _hmac("HS384", hashlib.sha384),
        "alg HS512 with its own digest": _hmac("HS512", hashlib.sha512),
    },
    "J-04, J-22: the signature": {
        "signature left out": f"{HEAD}.{BODY}.",
        "signature cut": GOOD[:-4],
        "signature's first bit flipped": _flipped(0),
        "signature's last bit flipped": _flipped(-1),
        "signature of zeros": f"{HEAD}.{BODY}.{base64url(bytes(32))}",
        "signature of 64 zeros": f"{HEAD}.{BODY}.{base64url(bytes(64))}",
        "signature of another token": f"{HEAD}.{BODY}.{a_session_token(BOB, jti='other').split('.')[2]}",
        "signature twice": f"{GOOD}{SIGNATURE}",
    },
    "J-05: the number of segments, and other serializations": {
        "nothing": "",
        "one segment": HEAD,
        "two segments": f"{HEAD}.{BODY}",
        "four segments": f"{GOOD}.{SIGNATURE}",
        "five segments": f"{HEAD}.{SIGNATURE}.{BODY}.{BODY}.{SIGNATURE}",
        "dots only": "..",
        "empty header": f".{BODY}.{SIGNATURE}",
        "empty payload": f"{HEAD}..{SIGNATURE}",
        "JSON serialization": json.dumps({"protected": HEAD, "payload": BODY, "signature": SIGNATURE}),
    },
    "J-06: base64": {
        "padding": f"{HEAD}.{BODY}.{SIGNATURE}=",
        "padding of the payload": f"{HEAD}.{BODY}==.{SIGNATURE}",
        "leading space": f" {GOOD}",
        "trailing space": f"{GOOD} ",
        "line feed": f"{GOOD}\n",
        "space inside": f"{HEAD}.{BODY} .{SIGNATURE}",
        "standard alphabet": with_claims(jti="\u07ff\u07ff\u07ff>>>???").replace("-", "+").replace("_", "/") + "+",
        "loose last bits of the signature": f"{HEAD}.{BODY}.{_loose_last_bits(SIGNATURE)}",
        "letters beyond ASCII": f"{HEAD}.{BODY}.{SIGNATURE[:-1]}\xff",
        "letters beyond latin-1": f"{HEAD}.{BODY}.{SIGNATURE[:-1]}\u20ac",
        "NUL byte": f"{GOOD}\0",
    },
    "J-07: not the JSON that is expected": {
        **{
            f"header is {name}": signed(content, some_claims(BOB))
            for name, content in {
                "no JSON": b"{",
                "a list": b"[]",
                "a text": b'"HS256"',
                "null": b"null",
                "deep": b"[" * 2500,
                "no UTF-8": b'{"alg":"HS256","kid":"\xff"}',
                "behind a byte order mark": b"\xef\xbb\xbf" + json.dumps(HEADER).encode(),
                "in UTF-16": json.dumps(HEADER).encode("utf-16-le"),
            }.items()
        },
        **{
            f"payload is {name}": signed(HEADER, content)
            for name, content in {
                "no JSON": b"{",
                "a list": b"[]",
                "a text": b'"sub"',
                "null": b"null",
                "deep": b"[" * 2500,
                "no UTF-8": b'{"sub":"\xff"}',
                "empty": b"{}",
                "in UTF-16": json.dumps(some_claims(BOB)).encode("utf-16-le"),
                "large": b'{"x":"' + b"x" * 4000 + b'"}',
            }.items()
        },
        "a megabyte": "a" * 1_000_000,
        "4097 bytes": f"{HEAD}.{BODY}.{'A' * (4097 - len(HEAD) - len(BODY) - 2)}",
    },
    "J-09: exp": {
        **{
            f"exp is {exp!r}": with_claims(exp=exp)
            for exp in (0, -1, int(NOW), int(NOW) - 1, "9999999999", True, [1], {}, 2e9)
        },
        **{
            f"exp written {text}": signed(HEADER, _payload(f'"exp": {text}'))
            for text in ("1e400", "NaN", "Infinity", "null")
        },
        "exp left out": with_claims(exp=None),
    },
    "J-10: nbf and iat": {
        **{
            f"{name} is {value!r}": with_claims(**{name: value})
            for name in ("nbf", "iat")
            for value in (int(NOW) + 61, int(NOW) + HOUR, "1", 1.5, True, [])
        },
        "nbf left out": with_claims(nbf=None),
        "iat left out": with_claims(iat=None),
    },
    "J-11: sub": {
        **{
            f"sub is {str(sub)[:8]!r}": with_claims(sub=sub)
            for sub in (
                "99",
                "",
                "-2",
                "+2",
                " 2",
                "2 ",
                "2.0",
                "0x2",
                "bob",
                "\u0662",
                "2\0",
                2,
                True,
                ["2"],
                {},
                "9" * 2000,
            )
        },
        "sub left out": with_claims(sub=None),
    },
    "J-12: the key": {
        "stranger's key": a_session_token(BOB, key=STRANGERS_KEY),
        "empty key": signed(HEADER, some_claims(BOB), b""),
        "key is the base64 text": signed(HEADER, some_claims(BOB), base64url(SECRET).encode()),
        "key is the JWK text": signed(HEADER, some_claims(BOB), JWK.encode()),
        "key is the kid": signed(HEADER, some_claims(BOB), b"new"),
        "our old key under the new name": a_session_token(BOB, key=SigningKey("new", KEYS.keys[1].secret)),
    },
    "J-13: kid": {
        **{
            f"kid is {str(kid)[:20]!r}": with_header(kid=kid)
            for kid in (
                "",
                "unknown",
                "NEW",
                "new ",
                "../../dev/null",
                "' or 1=1 --",
                "new\0",
                0,
                [],
                ["new"],
                {},
                "k" * 900,
            )
        },
        "kid left out": with_header(kid=None),
    },
    "J-14, J-19, J-20: header fields that ask the verifier for something": {
        **{
            f"header field {name}": with_header(**{name: value})
            for name, value in {
                "jku": "https://evil.test/jwks",
                "x5u": "https://evil.test/x",
                "jwk": json.loads(JWK),
                "x5c": ["MIIB"],
                "zip": "DEF",
                "b64": False,
                "cty": "JWT",
                "crit": ["exp"],
                "x": 1,
            }.items()
        },
        "crit empty": with_header(crit=[]),
        "crit no list": with_header(crit="exp"),
    },
    "J-15: the kind of token": {
        **{
            f"typ is {typ!r}": with_claims(typ=typ)
            for typ in ("challenge", "two-factor", "Session", "access", "", 1, ["session"])
        },
        "typ left out": with_claims(typ=None),
        "git token": BOBS_GIT_TOKEN,
        "license": OPEN_LICENSE,
    },
    "J-16: audience and issuer": {
        **{
            f"aud is {aud!r}": with_claims(aud=aud)
            for aud in ("api", "GATE", "gate/", "gat", "", [], ["api"], 1, {"gate": 1})
        },
        "aud left out": with_claims(aud=None),
        **{
            f"iss is {iss!r}": with_claims(iss=iss)
            for iss in ("evil", "GATEWALL", "gatewall/", "gate", "", ["gatewall"], 1)
        },
        "iss left out": with_claims(iss=None),
    },
    "J-17, J-21: other claims": {
        **{f"sv is {sv!r}": with_claims(sv=sv) for sv in (0, 2, "1", True, 1.0, [])},
        "sv left out": with_claims(sv=None),
        **{f"jti is {jti!r}": with_claims(jti=jti) for jti in ("", 1, [], {})},
        "jti left out": with_claims(jti=None),
        **{f"amr is {amr!r}": with_claims(amr=amr) for amr in ("otp", {}, [1], ["pwd", 1], 1)},
        "claims raised without a new signature": ".".join(
            (HEAD, base64url(json.dumps(some_claims(BOB, sub="1")).encode()), SIGNATURE)
        ),
    },
}
