"""Leaves SQLite's one lock to write to others between transactions that follow each other."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

_SHORTEST_PAUSE = 0.11  # SQLite waits 100 ms at most between two looks


@contextmanager
def shared() -> Iterator[None]:
    """After the block, in which the lock was held, leave it on SQLite for as long as that took.

    Who waits for it looks again every 100 ms and is in no queue: without a pause he would never get it.
    """
    began = time.monotonic()
    yield
    if connection.vendor == "sqlite":
        time.sleep(max(time.monotonic() - began, _SHORTEST_PAUSE))
