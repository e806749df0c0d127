"""Download a URL an operator configured: SSRF-safe, with limits on redirects, size and time. Pure."""

import http.client
import re
import socket
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO
from urllib.parse import SplitResult, urlsplit

from gatewall.engine import special_addresses
from gatewall.engine.addresses import parse_address
from gatewall.engine.hosts import Authority
from gatewall.engine.messages import Refused
from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.clientip import TrustedProxies
from gatewall.kernel.deadline import Deadline

_CONNECT_SECONDS = 30
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_PIECE = 64 * 1024
_MOST_DIGITS = 20
_LOOPBACK = TrustedProxies.parse(["127.0.0.0/8", "::1"])


class DownloadRefused(Refused):
    """The URL must not be fetched; the message has neither query nor password."""


class DownloadFailed(Exception):
    """The server did not deliver; the message has no query."""


@dataclass(frozen=True, slots=True)
class Reach:
    """URLs that may be fetched: http from anywhere, http from this machine, private addresses."""

    http: bool
    http_from_here: bool
    private: bool


BY_HAND = Reach(http=False, http_from_here=True, private=True)
"""For an operator at this machine, who could fetch the URL anyway."""
PUBLIC = Reach(http=False, http_from_here=False, private=False)
"""For automatic downloads of a URL that came over the network."""
ANYWHERE = Reach(http=True, http_from_here=True, private=True)
"""For automatic downloads where an admin allowed private networks."""


@contextmanager
def download(url: str, *, reach: Reach = BY_HAND, seconds: float = 600, tag: str = "") -> Iterator["Download"]:
    """Open a URL for reading, unless it still has this entity tag. Aborts after ``seconds``.

    Raises DownloadRefused, DownloadFailed.
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
    """Response body and entity tag; ``is_unchanged`` after 304."""

    def __init__(self, response: Any, name: str, deadline: Deadline) -> None:
        self._response = response
        self._name = name
        self._deadline = deadline
        self.is_unchanged = response.status == http.client.NOT_MODIFIED
        self.tag = str(response.headers.get("ETag") or "")
        length = response.headers.get("Content-Length") or ""
        is_number = length.isascii() and length.isdigit() and len(length) <= _MOST_DIGITS
        self._missing = int(length) if is_number and not self.is_unchanged else 0

    def read(self, size: int) -> bytes:
        """Return up to ``size`` bytes, none at the end. Raises DownloadFailed."""
        try:
            piece: bytes = self._response.read1(size)
        except (OSError, http.client.HTTPException, ValueError) as error:
            _refuse_late(self._deadline, self._name)
            raise DownloadFailed(f"{self._name} broke off ({_why(error)})") from None
        _refuse_late(self._deadline, self._name)
        self._missing -= len(piece)
        if not piece and self._missing > 0:
            raise DownloadFailed(f"{self._name} broke off")
        return piece

    def save(self, file: BinaryIO, *, at_most: int, should_stop: Callable[[], bool] = lambda: False) -> None:
        """Write the body to a file. Raises DownloadRefused if it is longer than ``at_most`` bytes, DownloadFailed."""
        size = 0
        while piece := self.read(_PIECE):
            if should_stop():
                raise DownloadFailed(f"{self._name} was not read to its end")
            size += len(piece)
            if size > at_most:
                raise DownloadRefused(f"{self._name} has more than {at_most // 1024 // 1024} MiB")
            file.write(piece)


def _refuse_late(deadline: Deadline, name: str) -> None:
    if deadline.left <= 0:
        raise DownloadFailed(f"{name} took too long")


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
    except DownloadRefused:  # a ValueError, too
        raise
    except (OSError, http.client.HTTPException, ValueError) as error:  # URLError is an OSError, a bad URL a ValueError
        _refuse_late(deadline, shown(parts))
        raise DownloadFailed(f"{shown(parts)} cannot be reached ({_why(error)})") from None


def _opener(reach: Reach, deadline: Deadline) -> urllib.request.OpenerDirector:
    def by(kind: type[http.client.HTTPConnection]) -> Any:
        def new(*arguments: Any, **options: Any) -> http.client.HTTPConnection:
            made = kind(*arguments, **options)
            made._create_connection = partial(_connect, reach, deadline)  # type: ignore[attr-defined]  # noqa: SLF001 - the only hook to check the address that is connected to
            return made

        return new

    class Plain(urllib.request.HTTPHandler):
        def http_open(self, req: Any) -> Any:
            return self.do_open(by(http.client.HTTPConnection), req)

    class Encrypted(urllib.request.HTTPSHandler):
        def https_open(self, req: Any) -> Any:
            return self.do_open(by(http.client.HTTPSConnection), req)

    # No file:, ftp: or data:. A proxy for https only (this machine is reached directly), and none where addresses must
    # be public, because a proxy resolves names itself.
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


def _connect(reach: Reach, deadline: Deadline, place: tuple[str, int], *more: Any) -> socket.socket:
    host, port = place
    try:
        if not reach.private:
            host = addresses_of(host, port, private=False)[0]
        connection = socket.create_connection((host, port), *more)
    except UnicodeError:  # an empty label, or one over 63 characters
        raise DownloadRefused(_("that is not a host name")) from None
    deadline.watch(connection)
    return connection


def addresses_of(host: str, port: int, *, private: bool) -> list[str]:
    """Resolve a host to addresses, to connect to without another lookup (DNS rebinding).

    Raises DownloadRefused if an address is not public and ``private`` is False, OSError.
    """
    try:
        found = [str(place[0]) for *_, place in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    except UnicodeError:  # an empty label, or one over 63 characters
        raise DownloadRefused(_("that is not a host name")) from None
    if not private and not (found and all(map(is_public, found))):
        raise DownloadRefused(f"{host} has an address that is not public")
    return found


def is_public(text: str) -> bool:
    """True for the text of a public address without a zone."""
    address = parse_address(text)
    return address is not None and special_addresses.is_public(address)


class _Redirects(urllib.request.HTTPRedirectHandler):
    max_redirections = 5

    def __init__(self, reach: Reach) -> None:
        self._reach = reach

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        try:
            _acceptable(newurl, self._reach, encrypted=req.type == "https")
        finally:
            fp.close()  # urllib would read the whole body, of any length
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def is_url(text: str) -> bool:
    """True for a URL of any scheme, False for a file name."""
    return _URL.match(text) is not None


def shown(parts: SplitResult) -> str:
    """Return a URL without its secrets: user, password and query."""
    return f"{parts.scheme}://{parts.hostname or ''}{parts.path}"


def require_acceptable(url: str, reach: Reach) -> None:
    """Raise DownloadRefused for a URL that would not be fetched, as far as is known without a DNS lookup."""
    parts = _acceptable(url, reach)
    address = parse_address(parts.hostname or "")
    if address is not None and not reach.private and not is_public(str(address)):
        raise DownloadRefused(f"{parts.hostname} is not a public address")


def _acceptable(url: str, reach: Reach, *, encrypted: bool = False) -> SplitResult:
    """Parse a URL that may be fetched, over https only if ``encrypted``. Raises DownloadRefused."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        raise DownloadRefused("that is not a URL") from None
    if parts.username is not None or parts.password is not None:
        raise DownloadRefused("URLs with a user or password are not allowed")
    if parts.scheme in {"http", "https"} and host and Authority.of_url(url) is None:
        raise DownloadRefused("the URL has no valid host name")
    if parts.scheme == "https" and host:
        return parts
    address = parse_address(host)
    here = host == "localhost" or (address is not None and _LOOPBACK.trusts(address))
    may = reach.http or (reach.http_from_here and here)
    if parts.scheme == "http" and host and may and not encrypted:
        return parts
    raise DownloadRefused(
        "only https URLs are allowed, or http from this machine"
        if reach.http_from_here
        else "only https URLs are allowed"
    )


def _why(error: Exception) -> str:
    reason = getattr(error, "reason", error)
    return str(reason) if isinstance(reason, OSError) else type(error).__name__
