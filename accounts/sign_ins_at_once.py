"""Limit concurrent sign-ins per process, so that password hashing cannot exhaust it.

Each costs a password hash and several writes. On SQLite all writers of the host wait in one queue, which stays short
this way: a flood of sign-ins keeps policy changes and the access log waiting for a few of them, not for all.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore

from accounts.hashers import TooBusy
from gatewall.engine.messages import gettext_noop as _

AT_ONCE = 3
PATIENCE_SECONDS = 10.0
_places = BoundedSemaphore(AT_ONCE)


@contextmanager
def few_at_once() -> Iterator[None]:
    """Wait for a place, and hold it until the end of the block. Raises TooBusy where none comes in time."""
    if not _places.acquire(timeout=PATIENCE_SECONDS):
        raise TooBusy(_("many people are signing in: try again in a moment"), retry_after_seconds=5)
    try:
        yield
    finally:
        _places.release()
