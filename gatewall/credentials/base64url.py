"""Base64url without padding, in its one canonical spelling (RFC 4648 section 3.5 and section 5)."""

import base64


def encode(content: bytes) -> str:
    """Return the text of some bytes."""
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def decode(text: str) -> bytes | None:
    """Return the bytes of a text, or None for one that ``encode`` would not write."""
    letters = text.replace("-", "").replace("_", "")
    if not (text.isascii() and (letters.isalnum() or not letters)) or len(text) % 4 == 1:
        return None
    content = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    return content if encode(content) == text else None  # else an unused last bit is not zero
