"""Base64url without padding, canonical form only (RFC 4648 sections 3.5 and 5).

Uses ``binascii`` directly: ``base64`` would add three function calls for each verified session.
"""

import string
from binascii import a2b_base64, b2a_base64

_LETTERS = (string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_").encode()
_TO_URL, _FROM_URL = bytes.maketrans(b"+/", b"-_"), bytes.maketrans(b"-_", b"+/")
_LAST = {0: _LETTERS, 2: _LETTERS[::16], 3: _LETTERS[::4]}
"""By length modulo 4, the allowed last letters (unused bits are zero); no other length is possible."""


def encode(content: bytes) -> str:
    """Encode bytes as base64url."""
    return b2a_base64(content, newline=False).translate(_TO_URL).rstrip(b"=").decode()


def decode(text: str) -> bytes | None:
    """Decode base64url; None for text that ``encode`` would not write."""
    if not text.isascii():
        return None
    letters = text.encode()
    if letters.translate(None, _LETTERS) or letters[-1:] not in _LAST.get(len(letters) % 4, ()):
        return None
    return a2b_base64(letters.translate(_FROM_URL) + b"==")  # the decoder ignores surplus padding
