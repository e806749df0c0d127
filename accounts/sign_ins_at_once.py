"""Limit concurrent sign-ins per process, so that password hashing cannot exhaust it.

Each takes a password hash and several writes. On SQLite all writers of a host share one queue; the limit keeps it short
for policy changes and the access log.
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
def limit_concurrency() -> Iterator[None]:
    """Hold one of three slots for the block. Raises TooBusy on timeout."""
    if not _places.acquire(timeout=PATIENCE_SECONDS):
        raise TooBusy(_("many people are signing in: try again in a moment"), retry_after_seconds=5)
    try:
        yield
    finally:
        _places.release()
