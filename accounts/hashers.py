"""Argon2id password hasher at OWASP's minimum cost (cheat sheet, 2026-08), and limits of concurrent sign-ins."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore

from django.contrib.auth.hashers import Argon2PasswordHasher

from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.refusals import TooMany

AT_ONCE = 2
"""Concurrent hashes per process: bounds memory and CPU."""
SIGN_INS_AT_ONCE = 3
"""Concurrent sign-ins per process. On SQLite all writers of a host share one queue, which this keeps short."""
PATIENCE_SECONDS, SIGN_IN_PATIENCE_SECONDS = 5.0, 10.0
_hash_slots, _sign_in_slots = BoundedSemaphore(AT_ONCE), BoundedSemaphore(SIGN_INS_AT_ONCE)


class TooBusy(TooMany):
    """The wait for a free password check or sign-in timed out."""

    code = "too-busy"


class Argon2idHasher(Argon2PasswordHasher):
    """Argon2id with 19 MiB, two passes, one lane; Django's default takes 100 MiB.

    ``encode`` and ``verify`` wait for a free slot; they raise TooBusy on timeout.
    """

    memory_cost = 19 * 1024
    time_cost = 2
    parallelism = 1

    def encode(self, password: str, salt: str) -> str:
        with _slot(_hash_slots, PATIENCE_SECONDS):
            encoded: str = super().encode(password, salt)
        return encoded

    def verify(self, password: str, encoded: str) -> bool:
        with _slot(_hash_slots, PATIENCE_SECONDS):
            matches: bool = super().verify(password, encoded)
        return matches


@contextmanager
def limit_concurrency() -> Iterator[None]:
    """Occupy one of the slots for sign-ins during the block. Raises TooBusy on timeout."""
    with _slot(_sign_in_slots, SIGN_IN_PATIENCE_SECONDS):
        yield


@contextmanager
def _slot(slots: BoundedSemaphore, patience_seconds: float) -> Iterator[None]:
    if not slots.acquire(timeout=patience_seconds):
        raise TooBusy(_("many people are signing in: try again in a moment"), retry_after_seconds=5)
    try:
        yield
    finally:
        slots.release()
