"""Argon2id password hasher at OWASP's minimum cost (cheat sheet, 2026-08)."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore

from django.contrib.auth.hashers import Argon2PasswordHasher

from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.refusals import TooMany

AT_ONCE = 2
"""Concurrent hashes per process: bounds memory and CPU."""
PATIENCE_SECONDS = 5.0
_turn = BoundedSemaphore(AT_ONCE)


class TooBusy(TooMany):
    """The wait for a free password check timed out."""

    code = "too-busy"


class Argon2idHasher(Argon2PasswordHasher):
    """Argon2id with 19 MiB, two passes, one lane; Django's default takes 100 MiB.

    ``encode`` and ``verify`` wait for a free slot; they raise TooBusy on timeout.
    """

    memory_cost = 19 * 1024
    time_cost = 2
    parallelism = 1

    def encode(self, password: str, salt: str) -> str:
        with _own_turn():
            encoded: str = super().encode(password, salt)
        return encoded

    def verify(self, password: str, encoded: str) -> bool:
        with _own_turn():
            matches: bool = super().verify(password, encoded)
        return matches


@contextmanager
def _own_turn() -> Iterator[None]:
    if not _turn.acquire(timeout=PATIENCE_SECONDS):
        raise TooBusy(_("many people are signing in: try again in a moment"), retry_after_seconds=5)
    try:
        yield
    finally:
        _turn.release()
