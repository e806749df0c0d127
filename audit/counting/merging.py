"""Puts summaries together, and remembers what came out: the same hours and days are asked for again and again. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b

from audit.counting.summaries import Summary

Part = tuple[str, int]
"""What ``Summary.to_text`` wrote, and the error of that summary."""

_REMEMBERED = 64
_MAX_CHARACTERS = 300_000
"""Longer texts together are not remembered: with this, what is held is at most some 50 MB, and as a rule a tenth."""
_DIGEST_BYTES = 16


@dataclass(slots=True, unsafe_hash=True)
class _Run:
    """Parts that are told from others by their digest; they are let go of when they have been put together."""

    digest: bytes
    parts: Sequence[Part] = field(compare=False)


def put_together(parts: Sequence[Part]) -> Summary:
    """Return what these summaries counted together. It belongs to others as well: do not change it."""
    if len(parts) == 1 or sum([len(text) for text, _ in parts]) > _MAX_CHARACTERS:
        return _added_up(parts)
    digest = blake2b(digest_size=_DIGEST_BYTES)
    for text, error in parts:
        digest.update(b"%d %d " % (len(text), error))
        digest.update(text.encode())
    return _remembered(_Run(digest.digest(), parts))


@lru_cache(maxsize=_REMEMBERED)
def _remembered(run: _Run) -> Summary:
    summary = _added_up(run.parts)
    run.parts = ()
    return summary


def _added_up(parts: Sequence[Part]) -> Summary:
    summary = Summary()
    for text, error in parts:
        summary.add_text(text, error)
    return summary
