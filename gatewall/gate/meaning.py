"""Memo of the parsed request of a known head, for requests that differ only in the varying lines. Pure.

The parsed request depends only on the bytes of the lines, the peer and the path of the gate (gatewall/server/heads.py).
"""

from gatewall.engine.hosts import Host
from gatewall.engine.messages import Refused
from gatewall.engine.model import AccessRequest
from gatewall.engine.shared import Shared
from gatewall.engine.waf.plain_target import Asked
from gatewall.gate.headers import Headers, checked_uri, from_lines, one_value
from gatewall.server.heads import Head, KnownLines

_URI = "x-forwarded-uri"
_MAX_URI = 1_024
"""Requests with a longer URI are parsed in full."""


class Meaning:
    """Headers of a head except the varying ones, and the request that was parsed from them, once there is one."""

    __slots__ = ("_headers", "_host", "_names", "_others", "_places", "_referer", "_request", "_uri", "shared")

    def __init__(self, head: Head) -> None:
        self._headers = from_lines(head.common_lines())
        self._names: list[str] | None = [name for _, name in head.places]
        if len(self._names) != len(set(self._names)) or not self._headers.keys().isdisjoint(self._names):
            self._names = None  # lines with the same name would have to be joined
        self._places: list[tuple[int, str]] = []
        self._request: AccessRequest | None = None
        self.shared = Shared()
        self._host: Host | None = None
        self._uri: int | None = None
        self._referer: int | None = None
        self._others: list[int] = []

    def headers(self, lines: KnownLines) -> Headers:
        """Return the headers of a request with this head."""
        if self._names is None:
            return from_lines(lines)
        varying = [value.decode("latin-1") for value in lines.values]
        return {**self._headers, **dict(zip(self._names, varying, strict=True))}

    def keep(self, request: AccessRequest) -> None:
        """Keep a parsed request without a fault and without a body."""
        if self._names is None:
            return
        varying = set(self._names)
        self._places = [(place, name) for place, (name, _) in enumerate(request.headers) if name in varying]
        self._request, self.shared = request, Shared(tuple([place for place, _ in self._places]))
        numbers = {name: number for number, name in enumerate(self._names)}
        self._host, self._uri, self._referer = request.host, numbers.pop(_URI, None), numbers.pop("referer", None)
        self._others = list(numbers.values())

    def asked(self, lines: KnownLines) -> Asked | None:
        """Return the varying parts of a request with this head; None if its URI may have to be refused."""
        values, uri_number, referer_number = lines.values, self._uri, self._referer
        uri = "" if uri_number is None else values[uri_number].decode("latin-1")
        if not (uri.startswith("/") and uri.isascii() and uri.isprintable()) or "#" in uri or len(uri) > _MAX_URI:
            return None
        referer = None if referer_number is None else values[referer_number].decode("latin-1")
        others = b",".join([values[number] for number in self._others])
        return Asked(uri, self._host, referer, others.decode("latin-1"))

    def again(self, headers: Headers, at: float) -> AccessRequest | None:
        """Return the known request with the varying values of these headers; None if it must be parsed in full."""
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
            shared=self.shared,
        )
