"""Key rotation: the next key starts to sign, a new one becomes next, old ones still verify. Pure.

A ring is ``[in use, next, retired...]``. A process that still has the previous ring knows the key in
use: it was the next key there.
"""

import secrets
from collections.abc import Collection
from datetime import UTC, datetime, timedelta

from gatewall.credentials.keyring import KeyRing, SigningKey

RESTART_GRACE = timedelta(days=1)
"""How long processes may use the old ring after a rotation."""
_KEY_BYTES = 32
_KID_TIME = "%Y%m%dT%H%M%SZ"


def new_key(at: datetime) -> SigningKey:
    """Generate a random key; its name begins with the creation time (UTC)."""
    return SigningKey(f"{at.strftime(_KID_TIME)}-{secrets.token_hex(4)}", secrets.token_bytes(_KEY_BYTES))


def new_ring(at: datetime) -> KeyRing:
    """Generate a ring of two keys."""
    return KeyRing((new_key(at), new_key(at)))


def made_at(key: SigningKey) -> datetime | None:
    """Return a key's creation time, or None if its name was chosen by hand."""
    try:
        return datetime.strptime(key.kid.partition("-")[0], _KID_TIME).replace(tzinfo=UTC)
    except ValueError:
        return None


def next_key(ring: KeyRing) -> SigningKey | None:
    """Return the second key if it was created as the next one: known to every process, not signing yet."""
    if len(ring.keys) < 2:
        return None
    made, current_made = made_at(ring.keys[1]), made_at(ring.signing)
    announced = made is not None and (current_made is None or made >= current_made)
    return ring.keys[1] if announced else None


def rotated(ring: KeyRing, at: datetime) -> KeyRing:
    """Return the rotated ring: the next key signs, and a new one is next.

    A ring without a next key only gets one: a key unknown to running processes must not sign.
    """
    if next_key(ring) is None:
        return KeyRing((ring.signing, new_key(at), *ring.keys[1:]))
    current, following, *retired = ring.keys
    return KeyRing((following, new_key(at), current, *retired))


def replaced(ring: KeyRing, at: datetime) -> KeyRing:
    """Return a ring of two new keys, followed by all the old ones, retired."""
    following = next_key(ring)
    newest_first = [following] if following else []
    return KeyRing((*new_ring(at).keys, *newest_first, *(key for key in ring.keys if key is not following)))


def is_announced(ring: KeyRing, at: datetime) -> bool:
    """True if every process started within the last RESTART_GRACE knows the next signing key."""
    following = next_key(ring)
    made = made_at(following) if following else None
    return made is None or made + RESTART_GRACE <= at


def pruned(ring: KeyRing, retired_before: datetime, needed: Collection[str] = ()) -> KeyRing:
    """Return the ring without keys retired before this time, except those in ``needed``."""
    if next_key(ring) is None:
        return ring  # ordered by hand: retirement times are unknown
    current, following, *retired = ring.keys
    newest_first = [following, current, *retired]
    kept = [current, following]
    for key, replacement in zip(retired, newest_first, strict=False):  # the key two places newer (ADR 0015)
        retired_at = made_at(replacement)
        if retired_at is None or retired_at > retired_before or key.kid in needed:
            kept.append(key)
    return KeyRing(tuple(kept))
