"""Fetches a file that the operator named. https, or http from this very machine; never further down."""

import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO
from urllib.parse import SplitResult, urlsplit

from gatewall.clientip import TrustedProxies
from gatewall.engine.addresses import parse_address

_CONNECT_SECONDS = 30
_TOTAL_SECONDS = 600
_LOOPBACK = TrustedProxies.parse(["127.0.0.0/8", "::1"])


class DownloadRefused(Exception):
    """Nothing is fetched from there; the message says why and holds no query and no password."""


class DownloadFailed(Exception):
    """The other side did not give it; the message holds no query either."""


@contextmanager
def download(url: str) -> Iterator["Download"]:
    """Give what is at the URL, to be read in pieces. Raises DownloadRefused, DownloadFailed."""
    parts = _acceptable(url)
    # No file:, ftp: or data:, and a proxy for https alone: what is on this machine is fetched directly.
    opener = urllib.request.OpenerDirector()
    proxies = {scheme: proxy for scheme, proxy in urllib.request.getproxies().items() if scheme == "https"}
    for handler in (
        urllib.request.ProxyHandler(proxies),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _Redirects(),
    ):
        opener.add_handler(handler)
    try:
        response = opener.open(url, timeout=_CONNECT_SECONDS)
    except urllib.error.HTTPError as error:
        error.close()
        raise DownloadFailed(f"{shown(parts)} answered {error.code}") from None
    except (OSError, http.client.HTTPException) as error:  # URLError is an OSError
        raise DownloadFailed(f"{shown(parts)} cannot be reached ({_why(error)})") from None
    with response:
        yield Download(response, shown(parts))


class Download:
    """The body of an answer."""

    def __init__(self, response: Any, name: str) -> None:
        self._response: BinaryIO = response
        self._name = name
        self._deadline = time.monotonic() + _TOTAL_SECONDS
        length = response.headers.get("Content-Length") or ""
        self._missing = int(length) if length.isascii() and length.isdigit() else 0

    def read(self, size: int) -> bytes:
        """Return up to that many bytes, none at the end. Raises DownloadFailed."""
        if time.monotonic() > self._deadline:
            raise DownloadFailed(f"{self._name} took too long")
        try:
            piece = self._response.read(size)
        except (OSError, http.client.HTTPException) as error:
            raise DownloadFailed(f"{self._name} broke off ({_why(error)})") from None
        self._missing -= len(piece)
        if not piece and self._missing > 0:
            raise DownloadFailed(f"{self._name} broke off")
        return piece


class _Redirects(urllib.request.HTTPRedirectHandler):
    max_redirections = 5

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        try:
            _acceptable(newurl, encrypted=req.type == "https")
        except DownloadRefused:
            fp.close()
            raise
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def shown(parts: SplitResult) -> str:
    """Return a URL without what may be secret in it: user, password and query."""
    return f"{parts.scheme}://{parts.hostname or ''}{parts.path}"


def _acceptable(url: str, *, encrypted: bool = False) -> SplitResult:
    """Return the parts of a URL that may be fetched, over https alone if ``encrypted``. Raises DownloadRefused."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        parts.port  # noqa: B018 - raises for what is no port
    except ValueError:
        raise DownloadRefused("that is no URL") from None
    if parts.username is not None or parts.password is not None:
        raise DownloadRefused("a URL with a user in it is not fetched")
    if parts.scheme == "https" and host:
        return parts
    address = parse_address(host)
    here = host == "localhost" or (address is not None and _LOOPBACK.trusts(address))
    if parts.scheme == "http" and here and not encrypted:
        return parts
    raise DownloadRefused("only https is fetched, or http from this machine")


def _why(error: Exception) -> str:
    reason = getattr(error, "reason", error)
    return str(reason) if isinstance(reason, OSError) else type(error).__name__
