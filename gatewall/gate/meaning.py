"""What the lines of a known head mean, for requests that differ from earlier ones in lines that vary only. Pure.

It depends on the bytes of the lines, the peer and the path of the gate alone (gatewall/server/heads.py).
"""

from gatewall.engine.messages import Refused
from gatewall.engine.model import AccessRequest
from gatewall.engine.shared import Shared
from gatewall.gate.headers import Headers, checked_uri, from_lines, one_value
from gatewall.server.heads import Head
from gatewall.server.http1 import Line

_URI = "x-forwarded-uri"


class Meaning:
    """Headers but for those that vary, and the request that they were parsed to, once they were."""

    __slots__ = ("_headers", "_names", "_places", "_request", "_shared")

    def __init__(self, head: Head) -> None:
        names = [name for _, name in head.places]
        places = {place for place, _ in head.places}
        self._headers = from_lines([line for place, line in enumerate(head.lines) if place not in places])
        self._names: list[tuple[int, str]] | None = head.places
        if len(names) != len(set(names)) or not self._headers.keys().isdisjoint(names):
            self._names = None  # two lines of a name are joined
        self._places: list[tuple[int, str]] = []
        self._request: AccessRequest | None = None
        self._shared = Shared()

    def headers(self, lines: list[Line]) -> Headers:
        """Return the headers of a request with this head."""
        if self._names is None:
            return from_lines(lines)
        return {**self._headers, **{name: lines[place][1].decode("latin-1") for place, name in self._names}}

    def keep(self, request: AccessRequest) -> None:
        """Keep a parsed request without a fault and without a body."""
        if self._names is None:
            return
        varying = {name for _, name in self._names}
        self._places = [(place, name) for place, (name, _) in enumerate(request.headers) if name in varying]
        self._request, self._shared = request, Shared(tuple([place for place, _ in self._places]))

    def again(self, headers: Headers, at: float) -> AccessRequest | None:
        """Return the known request with what varies of these headers; None if it must be parsed, as if new."""
        known = self._request
        if known is None:
            return None
        try:
            uri = one_value(headers, _URI)
            uri = "/" if uri is None else checked_uri(uri)
        except Refused:
            return None
        shown = known.headers
        if self._places:
            changed = list(shown)
            for place, name in self._places:
                changed[place] = (name, headers[name])
            shown = tuple(changed)
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
            shared=self._shared,
        )
