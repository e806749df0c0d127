"""Throws away what nobody reads any more: challenges, failure counts, sessions. A little at a time."""

from collections.abc import Callable
from datetime import datetime, timedelta
from importlib import import_module

from django.conf import settings

from accounts import challenges, services, throttling

EVERY = timedelta(minutes=10)
_ROUNDS = 50  # of at most 1,000 rows each: what is left waits for the next time
_PRUNES: tuple[Callable[[datetime], int], ...] = (challenges.prune, throttling.prune, services.prune_sessions)


def tidy(at: datetime) -> int:
    """Delete old rows of sign-in, at most 50,000 of a kind; return how many."""
    import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()
    return sum(_emptied(prune, at) for prune in _PRUNES)


def _emptied(prune: Callable[[datetime], int], at: datetime) -> int:
    total = 0
    for _ in range(_ROUNDS):
        deleted = prune(at)
        total += deleted
        if not deleted:
            break
    return total
