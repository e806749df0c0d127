"""Download a URL an operator configured: SSRF-safe, with limits on redirects, size and time. Pure."""

import http.client
import re
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Timer
from typing import Any, BinaryIO
from urllib.parse import SplitResult, urlsplit

from gatewall.engine import special_addresses
from gatewall.engine.addresses import parse_address
from gatewall.engine.hosts import Authority
from gatewall.engine.messages import Refused
from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.clientip import TrustedProxies

_CONNECT_SECONDS = 30
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_PIECE = 64 * 1024
_MOST_DIGITS = 20
_LOOPBACK = TrustedProxies.parse(["127.0.0.0/8", "::1"])


class DownloadRefused(Refused):
    """Nothing is fetched from there; the message says why and holds no query and no password."""


class DownloadFailed(Exception):
    """The other side did not give it; the message holds no query either."""


@dataclass(frozen=True, slots=True)
class Reach:
    """From where is fetched: over https, or also over http; from public addresses, or also from others."""

    http: bool
    http_from_here: bool
    private: bool


BY_HAND = Reach(http=False, http_from_here=True, private=True)
"""For who sits at this machine: what they can fetch themselves."""
PUBLIC = Reach(http=False, http_from_here=False, private=False)
"""For what is fetched by itself, by a URL that came over the network."""
ANYWHERE = Reach(http=True, http_from_here=True, private=True)
"""The same, where an admin allowed their own network."""


@contextmanager
def download(url: str, *, reach: Reach = BY_HAND, seconds: float = 600, tag: str = "") -> Iterator["Download"]:
    """Give what is at the URL, to be read in pieces, unless it still has this entity tag.

    After so many seconds it breaks off, whatever the other side does. Raises DownloadRefused, DownloadFailed.
    """
    parts = _acceptable(url, reach)
    deadline = Deadline(seconds)
    try:
        response = _opened(url, parts, reach, deadline, tag)
        with response:
            yield Download(response, shown(parts), deadline)
    finally:
        deadline.cancel()


class Download:
    """The body of an answer, and its entity tag; ``is_unchanged`` if there is none because it has not changed."""

    def __init__(self, response: Any, name: str, deadline: "Deadline") -> None:
        self._response = response
        self._name = name
        self._deadline = deadline
        self.is_unchanged = response.status == http.client.NOT_MODIFIED
        self.tag = str(response.headers.get("ETag") or "")
        length = response.headers.get("Content-Length") or ""
        is_number = length.isascii() and length.isdigit() and len(length) <= _MOST_DIGITS
        self._missing = int(length) if is_number and not self.is_unchanged else 0

    def read(self, size: int) -> bytes:
        """Return up to that many bytes, none at the end. Raises DownloadFailed."""
        try:
            piece: bytes = self._response.read1(size)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self._deadline.refuse_late(self._name)
            raise DownloadFailed(f"{self._name} broke off ({_why(error)})") from None
        self._deadline.refuse_late(self._name)
        self._missing -= len(piece)
        if not piece and self._missing > 0:
            raise DownloadFailed(f"{self._name} broke off")
        return piece

    def save(self, file: BinaryIO, *, at_most: int, should_stop: Callable[[], bool] = lambda: False) -> None:
        """Write the body to a file. Raises DownloadRefused if it is longer, and DownloadFailed."""
        size = 0
        while piece := self.read(_PIECE):
            if should_stop():
                raise DownloadFailed(f"{self._name} was not read to its end")
            size += len(piece)
            if size > at_most:
                raise DownloadRefused(f"{self._name} has more than {at_most // 1024 // 1024} MiB")
            file.write(piece)


class Deadline:
    """Shuts the connections of a download when its time is over: a slow side may dribble for ever."""

    def __init__(self, seconds: float) -> None:
        self._ends = time.monotonic() + seconds
        self._watched: list[tuple[Timer, socket.socket]] = []

    def watch(self, connection: socket.socket) -> None:
        """Shut this connection in time, also below TLS: its duplicate is the same connection."""
        same = connection.dup()
        timer = Timer(max(0.0, self.left), _shut, [same])
        timer.daemon = True
        timer.start()
        self._watched.append((timer, same))

    @property
    def left(self) -> float:
        """How many seconds are left; none or less when the time is over."""
        return self._ends - time.monotonic()

    def refuse_late(self, name: str) -> None:
        """Raise DownloadFailed if the time is over."""
        if self.left <= 0:
            raise DownloadFailed(f"{name} took too long")

    def cancel(self) -> None:
        """Watch no more."""
        for timer, same in self._watched:
            timer.cancel()
            timer.join()
            same.close()


def _shut(connection: socket.socket) -> None:
    with suppress(OSError):  # it has ended by itself
        connection.shutdown(socket.SHUT_RDWR)


def _opened(url: str, parts: SplitResult, reach: Reach, deadline: Deadline, tag: str) -> Any:
    opener = _opener(reach, deadline)
    request = urllib.request.Request(url, headers={"If-None-Match": tag} if tag else {})  # noqa: S310 - checked above
    try:
        return opener.open(request, timeout=_CONNECT_SECONDS)
    except urllib.error.HTTPError as error:
        if tag and error.code == http.client.NOT_MODIFIED:
            return error
        error.close()
        raise DownloadFailed(f"{shown(parts)} answered {error.code}") from None
    except (OSError, http.client.HTTPException, ValueError) as error:  # URLError is an OSError, a bad URL a ValueError
        deadline.refuse_late(shown(parts))
        raise DownloadFailed(f"{shown(parts)} cannot be reached ({_why(error)})") from None


def _opener(reach: Reach, deadline: Deadline) -> urllib.request.OpenerDirector:
    def connect(place: tuple[str, int], *more: Any) -> socket.socket:
        try:
            connection = socket.create_connection(place if reach.private else _public(*place), *more)
        except UnicodeError:  # an empty label, or one over 63 characters
            raise DownloadRefused(_("that is no host name")) from None
        deadline.watch(connection)
        return connection

    def by(kind: type[http.client.HTTPConnection]) -> Any:
        def new(*arguments: Any, **options: Any) -> http.client.HTTPConnection:
            made = kind(*arguments, **options)
            made._create_connection = connect  # type: ignore[attr-defined]  # noqa: SLF001 - there is no other place to look at the address that is connected to
            return made

        return new

    class Plain(urllib.request.HTTPHandler):
        def http_open(self, req: Any) -> Any:
            return self.do_open(by(http.client.HTTPConnection), req)

    class Encrypted(urllib.request.HTTPSHandler):
        def https_open(self, req: Any) -> Any:
            return self.do_open(by(http.client.HTTPSConnection), req)

    # No file:, ftp: or data:, and a proxy for https alone: what is on this machine is fetched directly. A
    # proxy would resolve names itself, so there is none where addresses must be public.
    proxies = {name: proxy for name, proxy in urllib.request.getproxies().items() if name == "https" and reach.private}
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(proxies),
        Plain(),
        Encrypted(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _Redirects(reach),
    ):
        opener.add_handler(handler)
    return opener


def _public(host: str, port: int) -> tuple[str, int]:
    """Return an address of the host, which is the one that is then connected to. Raises DownloadRefused."""
    return addresses_of(host, port, private=False)[0], port


def addresses_of(host: str, port: int, *, private: bool) -> list[str]:
    """Return the addresses of the host, to be connected to and not looked up again.

    Raises DownloadRefused if one of them is not public and ``private`` does not allow it, and OSError.
    """
    try:
        found = [str(place[0]) for *_, place in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    except UnicodeError:  # an empty label, or one over 63 characters
        raise DownloadRefused(_("that is no host name")) from None
    if not private and not (found and all(map(is_public, found))):
        raise DownloadRefused(f"{host} has an address that is not public")
    return found


def is_public(text: str) -> bool:
    """True for the text of a public address; a zone makes it none."""
    address = parse_address(text)
    return address is not None and special_addresses.is_public(address)


class _Redirects(urllib.request.HTTPRedirectHandler):
    max_redirections = 5

    def __init__(self, reach: Reach = BY_HAND) -> None:
        self._reach = reach

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        try:
            _acceptable(newurl, self._reach, encrypted=req.type == "https")
        finally:
            fp.close()  # urllib would read all of its body, however long
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def is_url(text: str) -> bool:
    """True for what looks like a URL, of whatever scheme, and not like a file."""
    return _URL.match(text) is not None


def shown(parts: SplitResult) -> str:
    """Return a URL without what may be secret in it: user, password and query."""
    return f"{parts.scheme}://{parts.hostname or ''}{parts.path}"


def require_acceptable(url: str, reach: Reach) -> None:
    """Raise DownloadRefused for a URL that would not be fetched, as far as can be said without looking it up."""
    parts = _acceptable(url, reach)
    address = parse_address(parts.hostname or "")
    if address is not None and not reach.private and not is_public(str(address)):
        raise DownloadRefused(f"{parts.hostname} is not a public address")


def _acceptable(url: str, reach: Reach, *, encrypted: bool = False) -> SplitResult:
    """Return the parts of a URL that may be fetched, over https alone if ``encrypted``. Raises DownloadRefused."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        raise DownloadRefused("that is no URL") from None
    if parts.username is not None or parts.password is not None:
        raise DownloadRefused("a URL with a user in it is not fetched")
    if parts.scheme in {"http", "https"} and host and Authority.of_url(url) is None:
        raise DownloadRefused("the URL has no host name that every reader takes for the same")
    if parts.scheme == "https" and host:
        return parts
    address = parse_address(host)
    here = host == "localhost" or (address is not None and _LOOPBACK.trusts(address))
    may = reach.http or (reach.http_from_here and here)
    if parts.scheme == "http" and host and may and not encrypted:
        return parts
    raise DownloadRefused(
        "only https is fetched, or http from this machine" if reach.http_from_here else "only https is fetched"
    )


def _why(error: Exception) -> str:
    reason = getattr(error, "reason", error)
    return str(reason) if isinstance(reason, OSError) else type(error).__name__
