"""A passkey authenticator for tests, written from WebAuthn level 2: ES256 keys, a counter, user verification."""

import hashlib
import json
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field
from typing import Any

import cbor2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

PRESENT, VERIFIED, BACKUP_ELIGIBLE, BACKED_UP, ATTESTED = 1, 4, 8, 16, 64
_COORDINATE = 32


def b64(data: bytes) -> str:
    """Encode as base64url without padding."""
    return urlsafe_b64encode(data).decode().rstrip("=")


def unb64(text: str) -> bytes:
    """Decode base64url without padding."""
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


@dataclass
class Authenticator:
    """An authenticator with one passkey, in a browser that shows a page of ``origin``."""

    origin: str
    flags: int = PRESENT | VERIFIED
    counter: int = 0
    counts: bool = True
    rp_id: str = ""
    """An RP ID other than that of the options; no browser would allow it."""
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    credential_id: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    user_handle: str | None = None
    algorithm: int = -7
    """COSE algorithm that the key claims: ES256."""

    def create(self, options: dict[str, Any]) -> dict[str, Any]:
        """Answer ``navigator.credentials.create()`` as ``credential.toJSON()`` does."""
        self.user_handle = options["user"]["id"]
        numbers = self.key.public_key().public_numbers()
        x, y = (number.to_bytes(_COORDINATE, "big") for number in (numbers.x, numbers.y))
        public = {1: 2, 3: self.algorithm, -1: 1, -2: x, -3: y}
        attested = bytes(16) + len(self.credential_id).to_bytes(2, "big") + self.credential_id + cbor2.dumps(public)
        data = self._data(options["rp"]["id"], self.flags | ATTESTED) + attested
        client = self._client("webauthn.create", options["challenge"])
        attestation = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})
        response = {"clientDataJSON": b64(client), "attestationObject": b64(attestation), "transports": ["internal"]}
        return self._credential(response)

    def get(self, options: dict[str, Any]) -> dict[str, Any]:
        """Answer ``navigator.credentials.get()`` as ``credential.toJSON()`` does."""
        self.counter += self.counts
        client, data = self._client("webauthn.get", options["challenge"]), self._data(options["rpId"], self.flags)
        signature = self.key.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(hashes.SHA256()))
        response = {"clientDataJSON": b64(client), "authenticatorData": b64(data), "signature": b64(signature)}
        return self._credential({**response, "userHandle": self.user_handle})

    def _client(self, kind: str, challenge: str) -> bytes:
        said = {"type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": False}
        return json.dumps(said).encode()

    def _data(self, rp_id: str, flags: int) -> bytes:
        digest = hashlib.sha256((self.rp_id or rp_id).encode()).digest()
        return digest + bytes([flags]) + self.counter.to_bytes(4, "big")

    def _credential(self, response: dict[str, Any]) -> dict[str, Any]:
        name = b64(self.credential_id)
        return {
            "id": name,
            "rawId": name,
            "type": "public-key",
            "response": response,
            "authenticatorAttachment": "platform",
            "clientExtensionResults": {},
        }
