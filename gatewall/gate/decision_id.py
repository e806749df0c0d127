"""Decision ids: UUIDs version 7, with random parts read from the kernel in batches. Pure."""

import os
from functools import lru_cache

_AT_ONCE, _RANDOM_BYTES = 128, 10
_VARIANT = {digit: "89ab"[number % 4] for number, digit in enumerate("0123456789abcdef")}
"""Maps the digit of four random bits to a digit of the two variant bits and two random bits."""
_random_parts: list[str] = []
os.register_at_fork(after_in_child=_random_parts.clear)  # else two processes would give the same ids


def new_decision_id(at: float) -> str:
    """Return a new UUID version 7 (RFC 9562 section 5.7) for a decision at this time (seconds since the epoch)."""
    try:
        random_part = _random_parts.pop()
    except IndexError:
        random_part = _refill()
    return _time_part(int(at * 1000)) + random_part


@lru_cache(16)  # a busy process makes many decisions in a millisecond
def _time_part(milliseconds: int) -> str:
    digits = f"{milliseconds & 0xFFFF_FFFF_FFFF:012x}"
    return f"{digits[:8]}-{digits[8:]}-7"


def _refill() -> str:
    """Return a random part and store a batch of others: a system call for each would double the cost of an id."""
    digits = os.urandom(_AT_ONCE * _RANDOM_BYTES).hex()
    length = 2 * _RANDOM_BYTES
    first, *others = [_random_part(digits[at : at + length]) for at in range(0, len(digits), length)]
    _random_parts.extend(others)
    return first


def _random_part(random: str) -> str:
    return f"{random[:3]}-{_VARIANT[random[3]]}{random[4:7]}-{random[7:19]}"
