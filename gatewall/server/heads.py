"""Memo of parsed request heads, for requests that differ only in the lines that vary within a page. Pure.

A page load consists of dozens of requests of one visitor that differ only in these lines. The memo keeps the result of
parsing the other lines, which depends only on their bytes and the peer, not on policy, time or the verdict about a
credential. So no edit, revocation or rotation changes anything in it (docs/adr/0106-memo-of-heads.md).

    admitted   on the second occurrence, so that requests that never recur cost only a search and a hash
    bounded    MOST heads of at most LONGEST bytes in each of two generations
    dropped    after FORGET_SECONDS to twice that without use, because the lines contain credentials
"""

import itertools
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from threading import Thread
from typing import Any

from gatewall.server.http1 import BoundsOf, Line, Phase, Request, RequestReader

Key = tuple[str | bytes, ...]

FORGET_SECONDS = 120.0
_REPORT_SECONDS = 10.0
MOST, LONGEST = 512, 6_144
_MOST_SEEN = 4_096
_VARYING = re.compile(
    rb"\r\n([Xx]-[Ff]orwarded-[Uu]ri|[Rr]eferer|[Ii]f-[Nn]one-[Mm]atch|[Ii]f-[Mm]odified-[Ss]ince"
    rb"|[Aa]ccept|[Ss]ec-[Ff]etch-(?:[Dd]est|[Mm]ode|[Ss]ite)|[Pp]riority|[Rr]ange): "
    rb"([!-~\x80-\xff][\t -~\x80-\xff]*)(?<![ \t])(?=\r\n)"
)
"""A line that varies, as proxies write it: one value that every parser reads alike."""


class Head:
    """The lines of a head; those that vary are replaced for each request."""

    __slots__ = ("_lines", "_names", "keep_alive", "meaning", "method", "places", "target")

    def __init__(self, request: Request, places: list[tuple[int, str]], names: list[bytes]) -> None:
        """``places``: the index of each line that varies, and its name in lower case; ``names`` as they are written."""
        self._names = names
        self.method, self.target, lines, _, self.keep_alive, _ = request
        self._lines: list[Line] = list(lines)
        self.places = places
        self.meaning: Any = None
        """Data that the application keeps for these lines; dropped with them."""

    def request(self, values: list[bytes]) -> Request:
        """Return the request with this head and these values of the lines that vary."""
        return Request(self.method, self.target, KnownLines(self, values), None, self.keep_alive, self)

    def common_lines(self) -> list[Line]:
        """Return the lines that do not vary."""
        places = {place for place, _ in self.places}
        return [line for place, line in enumerate(self._lines) if place not in places]

    def lines_with(self, values: list[bytes]) -> list[Line]:
        """Return the lines with these values of those that vary."""
        lines = self._lines.copy()
        for (place, _), name, value in zip(self.places, self._names, values, strict=True):
            lines[place] = (name, value)
        return lines


class KnownLines(Sequence[Line]):
    """The lines of a known head, put together on access; ``values`` are those of the lines that vary."""

    __slots__ = ("_head", "values")

    def __init__(self, head: Head, values: list[bytes]) -> None:
        self._head = head
        self.values = values

    def __len__(self) -> int:
        return len(self._head.lines_with(self.values))

    def __getitem__(self, place: Any) -> Any:
        return self._head.lines_with(self.values)[place]

    def __iter__(self) -> Iterator[Line]:
        return iter(self._head.lines_with(self.values))

    def __eq__(self, other: object) -> bool:
        return self._head.lines_with(self.values) == other

    __hash__ = None  # type: ignore[assignment]  # compared by its lines


class Heads:
    """The memo of one worker. Requests are read by one thread; another one may ``forget``."""

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._young: dict[Key, Head] = {}
        self._old: dict[Key, Head] = {}
        self._hits = self._misses = 0

    def find(self, key: Key) -> Head | None:
        """Return the head of this key, if it is known."""
        head = self._young.get(key)
        if head is None and (head := self._old.get(key)) is not None:
            self._keep(key, head)
        if head is None:
            self._misses += 1
        else:
            self._hits += 1
        return head

    def figures(self) -> dict[str, int]:
        """Return hits and misses so far, and number and bytes of the heads that are kept."""
        keys = {*list(self._young), *list(self._old)}
        size = sum([len(part) for key in keys for part in key])
        return {"hits": self._hits, "misses": self._misses, "number": len(keys), "bytes": size}

    def admits(self, key: Key) -> bool:
        """Return whether this key was seen before, and record it as seen."""
        digest = hash(key)
        if digest in self._seen:
            return True
        if len(self._seen) >= _MOST_SEEN:
            self._seen = set()
        self._seen.add(digest)
        return False

    def keep(self, key: Key, request: Request, parts: list[bytes]) -> Head | None:
        """Keep the head of a request; None if its lines differ from ``parts``, the split bytes."""
        places, place = [], -1
        for before, name, value in zip(parts[0::3], parts[1::3], parts[2::3], strict=False):
            place += 1 + before.count(b"\r\n")
            if request.lines[place : place + 1] != [(name, value)]:
                return None
            places.append((place, name.decode("ascii").lower()))
        head = Head(request, places, parts[1::3])
        self._keep(key, head)
        return head

    def forget(self) -> None:
        """Drop the heads that were not used since the last call but one."""
        self._young, self._old = {}, self._young
        self._seen = set()

    def forget_regularly(self, report: Callable[[dict[str, int]], None]) -> None:
        """Start a thread that forgets heads, also without requests, and reports changed figures."""
        Thread(target=self._forget_regularly, args=(report,), name="heads", daemon=True).start()

    def _forget_regularly(self, report: Callable[[dict[str, int]], None]) -> None:
        reported, turns = self.figures(), round(FORGET_SECONDS / _REPORT_SECONDS)
        for turn in itertools.count(1):
            time.sleep(_REPORT_SECONDS)
            if turn % turns == 0:
                self.forget()
            figures = self.figures()
            if figures != reported:
                with suppress(OSError):  # the next turn tries again
                    report(figures)
                    reported = figures

    def _keep(self, key: Key, head: Head) -> None:
        if len(self._young) >= MOST:
            self.forget()
        self._young[key] = head


class RememberingReader(RequestReader):
    """Parser of a connection that takes heads from a memo, and puts those of requests without a body into it."""

    def __init__(self, bounds_of: BoundsOf, heads: Heads, peer: str) -> None:
        """Heads of different peers are kept apart."""
        super().__init__(bounds_of)
        self._heads = heads
        self._peer = peer

    def _parsed(self, head: bytes) -> Request | None:
        if len(head) > LONGEST:
            return super()._parsed(head)
        # The bytes before the first varying line, its name and value, the bytes between it and the second, and so on.
        parts = _VARYING.split(head)
        key = (self._peer, *parts[::3], *parts[1::3])
        known = self._heads.find(key)
        if known is not None:
            self.phase = Phase.IDLE
            return known.request(parts[2::3])
        request = super()._parsed(head)
        if request is None or request.body is not None or self._upgrade or not self._heads.admits(key):
            return request
        kept = self._heads.keep(key, request, parts)
        return request if kept is None else kept.request(parts[2::3])
