"""Memo of what header lines mean, for requests that differ from earlier ones in URI and referer only. Pure.

A page load is one visitor asking for dozens of parts with the same lines. What is kept is the result of parsing them,
which depends on their bytes alone: no policy, no time, no verdict about a credential. So nothing that an edit, a
revocation or a rotation changes is in it (docs/adr/0106-memo-of-heads.md).

    admitted   on the second sight, so that requests that never come again cost a hash
    bounded    MOST heads of at most LONGEST bytes in each of two generations
    dropped    FORGET_SECONDS to twice that after the last use, because the lines contain credentials
"""

import time
from collections.abc import Hashable, Iterable
from threading import Thread

from gatewall.engine.messages import Refused
from gatewall.engine.model import AccessRequest
from gatewall.gate.headers import Headers, checked_uri, from_lines, one_value

FORGET_SECONDS = 120.0
MOST, LONGEST = 512, 4_096
_MOST_SEEN = 4_096
URI, REFERER = "x-forwarded-uri", "referer"
_VARYING = {name.encode(): name for name in (URI, REFERER)}
_VARYING |= {name.title().encode(): name for name in _VARYING.values()}
Line = tuple[bytes, bytes]


class Head:
    """Header lines but for URI and referer, and what they were parsed to, once they were."""

    __slots__ = ("_referer_at", "_request", "headers")

    def __init__(self, headers: Headers) -> None:
        self.headers = headers
        self._request: AccessRequest | None = None
        self._referer_at = -1
        """Index of the referer among the headers of the request; -1 without one."""

    def keep(self, request: AccessRequest) -> None:
        """Keep a parsed request without a fault and without a body."""
        names = [name for name, _ in request.headers]
        self._referer_at = names.index(REFERER) if REFERER in names else -1
        self._request = request

    def again(self, headers: Headers, at: float) -> AccessRequest | None:
        """Return the known request with URI and referer of these headers; None if it must be parsed, as if new."""
        known, place = self._request, self._referer_at
        if known is None:
            return None
        try:
            uri = one_value(headers, URI)
            uri = "/" if uri is None else checked_uri(uri)
        except Refused:
            return None
        shown = known.headers
        if place >= 0:
            referer = headers[REFERER]
            shown = (*shown[:place], (REFERER, referer), *shown[place + 1 :])
        # Not dataclasses.replace, which costs more than all the rest.
        return AccessRequest(
            at=at,
            client=known.client,
            authority=known.authority,
            scheme=known.scheme,
            method=known.method,
            uri=uri,
            headers=shown,
            cookies=known.cookies,
            credentials=known.credentials,
            allowlist_applies=known.allowlist_applies,
            visible=known.visible,
            site_credentials=known.site_credentials,
        )


class Heads:
    """The memo of one worker. Requests are read by one thread; another one may ``forget``."""

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._young: dict[tuple[Hashable, ...], Head] = {}
        self._old: dict[tuple[Hashable, ...], Head] = {}

    def read(self, lines: Iterable[Line], *also: Hashable) -> tuple[Headers, Head | None]:
        """Return the headers of raw lines, and their head if it is known; ``also``: what else parsing depends on."""
        lines = list(lines)
        parts: list[Hashable] = [*also]
        varying: dict[str, str] = {}
        for line in lines:
            name = _VARYING.get(line[0])
            if name is None:
                parts.append(line)
            else:
                parts.append(name)
                varying[name] = line[1].decode("latin-1")
        key = tuple(parts)
        head = self._young.get(key)
        if head is None and (head := self._old.get(key)) is not None:
            self._keep(key, head)
        if head is None:
            return from_lines(lines), self._admitted(key, lines)
        return {**head.headers, **varying}, head

    def forget(self) -> None:
        """Drop the heads that were not used since the last call but one."""
        self._young, self._old = {}, self._young
        self._seen = set()

    def forget_regularly(self) -> None:
        """Forget in a thread of its own, also while nobody asks."""
        Thread(target=self._forget_regularly, name="heads", daemon=True).start()

    def _forget_regularly(self) -> None:
        while True:
            time.sleep(FORGET_SECONDS)
            self.forget()

    def _admitted(self, key: tuple[Hashable, ...], lines: list[Line]) -> Head | None:
        """Return a new head for lines that were seen before and can have one."""
        digest = hash(key)
        if digest not in self._seen:
            if len(self._seen) >= _MOST_SEEN:
                self._seen = set()
            self._seen.add(digest)
            return None
        rest = [line for line in lines if line[0] not in _VARYING]
        headers, varying = from_lines(rest), [_VARYING[name] for name, _ in lines if name in _VARYING]
        # Lines that vary must be single, and spelled as proxies spell them.
        is_plain = len(varying) == len(set(varying)) and URI not in headers and REFERER not in headers
        if not is_plain or sum([len(name) + len(value) for name, value in rest]) > LONGEST:
            return None
        head = Head(headers)
        self._keep(key, head)
        return head

    def _keep(self, key: tuple[Hashable, ...], head: Head) -> None:
        if len(self._young) >= MOST:
            self.forget()
        self._young[key] = head
