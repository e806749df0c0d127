"""What a rotation makes of a key ring: the next key signs, a new one is next, the old ones verify. Pure.

A ring is ``[in use, next, retired...]``. A process that still has the ring of before the last rotation
knows the key in use, because it was the next one there.
"""

import secrets
from datetime import datetime

from gatewall.credentials.keyring import KeyRing, SigningKey

_KEY_BYTES = 32
_KID_TIME = "%Y%m%dT%H%M%SZ"


def new_key(at: datetime) -> SigningKey:
    """Return a random key; its name begins with the time (UTC) at which it was made."""
    return SigningKey(f"{at.strftime(_KID_TIME)}-{secrets.token_hex(4)}", secrets.token_bytes(_KEY_BYTES))


def new_ring(at: datetime) -> KeyRing:
    """Return a ring of two new keys."""
    return KeyRing((new_key(at), new_key(at)))
