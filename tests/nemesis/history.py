"""What the policy was and may have been, when: the edits that were asked of the API, and what excuses a host."""

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
    """A change of the policy: in force at the earliest when it was sent, to be so a bound after its 2xx.

    All moments are of the monotonic clock. An edit that is not done has no end.
    """

    changes: Changes
    sent: float
    done: float = math.inf
    host: str = ""
    pending: bool = False
    """The answer said that this host was not told in time."""


@dataclass(slots=True)
class Excuse:
    """A time in which a host cannot hear of what was changed elsewhere."""

    host: str
    since: float
    until: float = math.inf


@dataclass
class History:
    """The edits of one editor, one after the other, and the excuses of the hosts."""

    edits: list[Edit] = field(default_factory=list)
    excuses: list[Excuse] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def edit(self, changes: Changes) -> Iterator[Edit]:
        """Write an edit down before it is sent; the block sets ``host`` and ``pending`` and ends with its 2xx."""
        edit = Edit(changes, time.monotonic())
        with self._lock:
            self.edits.append(edit)
        yield edit
        edit.done = time.monotonic()

    @contextmanager
    def excused(self, *hosts: str) -> Iterator[None]:
        """These hosts cannot be reached by what is changed elsewhere until the end of the block."""
        excuses = [Excuse(host, time.monotonic()) for host in hosts]
        with self._lock:
            self.excuses += excuses
        try:
            yield
        finally:
            for excuse in excuses:
                excuse.until = time.monotonic()


def worlds(edits: list[Edit]) -> list[World]:
    """The world after no edit, the first, the second and so on."""
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
