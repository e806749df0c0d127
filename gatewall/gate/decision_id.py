"""Generate decision ids: UUID version 7 (RFC 9562 section 5.7), sortable by time."""

import os


def new_decision_id(at: float) -> str:
    """Return a new UUIDv7 for a decision made at ``at`` (seconds since the epoch)."""
    milliseconds = int(at * 1000) & 0xFFFF_FFFF_FFFF
    random = int.from_bytes(os.urandom(10), "big") >> 6
    number = milliseconds << 80 | 0x7 << 76 | (random >> 62) << 64 | 0b10 << 62 | random & ((1 << 62) - 1)
    digits = f"{number:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
