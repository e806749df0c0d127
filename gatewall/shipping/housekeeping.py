"""Throws away what nobody reads any more: challenges, failure counts, sessions. A little at a time."""

from collections.abc import Callable
from datetime import datetime, timedelta
from importlib import import_module

from django.conf import settings

from accounts import challenges, services, throttling

EVERY = timedelta(minutes=10)
_PRUNES: tuple[Callable[[datetime], int], ...] = (challenges.prune, throttling.prune, services.prune_sessions)


def tidy(at: datetime) -> int:
    """Delete old rows of sign-in, at most 1,000 of a kind; return how many. There is no more to do after 0."""
    import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()  # those of the Django admin
    return sum(prune(at) for prune in _PRUNES)
