"""Merge summaries, with a cache: the same hours and days are requested repeatedly. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b

from audit.counting.summaries import Summary

Part = tuple[str, int]
"""Text of a summary (``Summary.to_text``) and its error."""

_REMEMBERED = 64
_MAX_CHARACTERS = 300_000
"""Parts with more characters in total are not cached: bounds the cache to about 50 MB; usually it takes a tenth."""
_DIGEST_BYTES = 16


@dataclass(slots=True, unsafe_hash=True)
class _Run:
    """Cache key: the digest of the parts, which are released after merging."""

    digest: bytes
    parts: Sequence[Part] = field(compare=False)


def merge(parts: Sequence[Part]) -> Summary:
    """Return the merged summary. Callers share the cached object: do not modify it."""
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
