"""Sign identity tokens (JWT) with asymmetric keys, and publish the public keys (JWKS, RFC 7517). No clock, no I/O.

The private keys are derived from the session keys, which both planes have: they rotate with the session keys and need
no file of their own. Nobody can compute a session key from a public key or from a derived private key.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, derive_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from jwt.algorithms import ECAlgorithm, OKPAlgorithm

from gatewall.credentials import base64url
from gatewall.credentials.keyring import KeyRing

EDDSA, ES256 = "EdDSA", "ES256"
_PURPOSE = "gatewall signed identity %s v1"
_ED25519_BYTES = 32
_P256_BYTES = 48  # FIPS 186-5 appendix A.2.1: 64 bits or more beyond the order, so that the remainder has no bias
_P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


class IdentityKeys:
    """The signing keys and the key set of a process; the keys derived from the first session key sign."""

    def __init__(self, ring: KeyRing) -> None:
        pairs = [pair for key in ring.keys for pair in (_ed25519(key.secret), _p256(key.secret))]
        self._signing = {algorithm: (private, public["kid"]) for algorithm, private, public in pairs[:2]}
        self.key_set = json.dumps({"keys": [public for _, _, public in pairs]}, separators=(",", ":")).encode()
        """The public keys as a JSON Web Key Set: of the key in use, the next one, and retired ones."""

    def sign(self, claims: Mapping[str, Any], algorithm: str) -> str:
        """Return a signed token of these claims; the algorithm is ``EdDSA`` or ``ES256``."""
        private, kid = self._signing[algorithm]
        return jwt.encode(dict(claims), private, algorithm=algorithm, headers={"kid": kid})


def _ed25519(secret: bytes) -> tuple[str, Any, dict[str, str]]:
    private = Ed25519PrivateKey.from_private_bytes(_derived(secret, EDDSA, _ED25519_BYTES))
    return EDDSA, private, _published(OKPAlgorithm.to_jwk(private.public_key(), as_dict=True), EDDSA)


def _p256(secret: bytes) -> tuple[str, Any, dict[str, str]]:
    number = int.from_bytes(_derived(secret, ES256, _P256_BYTES), "big") % (_P256_ORDER - 1) + 1
    private: EllipticCurvePrivateKey = derive_private_key(number, SECP256R1())
    return ES256, private, _published(ECAlgorithm.to_jwk(private.public_key(), as_dict=True), ES256)


def _derived(secret: bytes, algorithm: str, length: int) -> bytes:
    """Derive key material (HKDF, RFC 5869)."""
    return HKDF(SHA256(), length, salt=None, info=(_PURPOSE % algorithm).encode()).derive(secret)


def _published(jwk: Mapping[str, str], algorithm: str) -> dict[str, str]:
    """Return the public key with its use and its thumbprint (RFC 7638) as name."""
    required = {name: jwk[name] for name in sorted({"crv", "kty", "x", "y"} & set(jwk))}
    thumbprint = hashlib.sha256(json.dumps(required, separators=(",", ":")).encode()).digest()
    return {**required, "use": "sig", "alg": algorithm, "kid": base64url.encode(thumbprint)}
