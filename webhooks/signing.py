"""Sign messages by the Standard Webhooks specification, version v1 (symmetric). Pure.

A secret is shown as ``whsec_`` and base64; the signed content is ``id.timestamp.body``.
"""

import base64
import hmac
import secrets
from collections.abc import Iterable, Mapping

SECRET_BYTES = 32
"""The specification requires 24 to 64."""
_PREFIX = "whsec_"


def new_secret() -> bytes:
    """Return a random secret."""
    return secrets.token_bytes(SECRET_BYTES)


def shown(secret: bytes) -> str:
    """Format a secret for its receiver."""
    return f"{_PREFIX}{base64.b64encode(secret).decode()}"


def headers(message_id: str, timestamp: int, body: bytes, keys: Iterable[bytes]) -> Mapping[str, str]:
    """Return the headers of a message, with a signature by each key, for receivers during a rotation."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    signatures = [base64.b64encode(hmac.digest(key, signed, "sha256")).decode() for key in keys]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(f"v1,{signature}" for signature in signatures),
    }
