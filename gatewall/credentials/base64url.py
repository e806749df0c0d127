"""Base64url without padding, canonical form only (RFC 4648 sections 3.5 and 5)."""

import base64


def encode(content: bytes) -> str:
    """Encode bytes as base64url."""
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def decode(text: str) -> bytes | None:
    """Decode base64url; None for text that ``encode`` would not write."""
    letters = text.replace("-", "").replace("_", "")
    if not (text.isascii() and (letters.isalnum() or not letters)) or len(text) % 4 == 1:
        return None
    content = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    return content if encode(content) == text else None  # unused trailing bits must be zero
