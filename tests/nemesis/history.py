"""History of a run: the edits made over the API, and the times in which a host is excused."""

import math
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.nemesis.oracle import Key, World

Changes = Mapping[Key, Mapping[str, Any] | None]


@dataclass(slots=True)
class Edit:
    """A change of the policy: in force at the earliest when sent, at the latest a bound after its 2xx.

    All times are monotonic. An unfinished edit has no end.
    """

    changes: Changes
    sent: float
    done: float = math.inf
    host: str = ""
    pending: bool = False
    """The response said that this host could not be notified in time."""


@dataclass(slots=True)
class Excuse:
    """A time in which a host cannot receive changes from others."""

    host: str
    since: float
    until: float = math.inf


@dataclass
class History:
    """The edits of one editor in order, and the excuses of the hosts."""

    edits: list[Edit] = field(default_factory=list)
    excuses: list[Excuse] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def edit(self, changes: Changes) -> Iterator[Edit]:
        """Record an edit before it is sent; the block sets ``host`` and ``pending`` and ends with its 2xx."""
        edit = Edit(changes, time.monotonic())
        with self._lock:
            self.edits.append(edit)
        yield edit
        edit.done = time.monotonic()

    @contextmanager
    def excused(self, *hosts: str) -> Iterator[None]:
        """Excuse these hosts from changes on others during the block."""
        excuses = [Excuse(host, time.monotonic()) for host in hosts]
        with self._lock:
            self.excuses += excuses
        try:
            yield
        finally:
            for excuse in excuses:
                excuse.until = time.monotonic()


def worlds(edits: list[Edit]) -> list[World]:
    """Return the worlds after no edit, the first, the second and so on."""
    found: list[World] = [{}]
    for edit in edits:
        world = dict(found[-1])
        for key, values in edit.changes.items():
            if values is None:
                world.pop(key, None)
            else:
                world[key] = values
        found.append(world)
    return found
