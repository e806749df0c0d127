"""One HTTP exchange with a URL an operator configured: SSRF-safe, bounded in time and size. Pure.

It uses no proxy and follows no redirect. It connects to the address that it has checked.
"""

import http.client
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

from gatewall.kernel.deadline import Deadline
from gatewall.kernel.downloads import DownloadRefused, Reach, addresses_of, require_acceptable

_MAX_WHY = 200
_PIECE = 64 * 1024


class ExchangeFailed(Exception):
    """No usable response. The message has no body, query or password."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A response: status, media type in lower case without parameters, and the whole body."""

    status: int
    media_type: str
    body: bytes = field(repr=False)


def exchange(
    method: str,
    url: str,
    *,
    body: bytes | None = None,
    headers: Mapping[str, str],
    reach: Reach,
    seconds: float,
    at_most: int,
) -> Answer:
    """Send a request and return the response with its body, up to ``at_most`` bytes. Raises ExchangeFailed."""
    with opened(method, url, body, headers, reach=reach, seconds=seconds) as response:
        media_type = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        return Answer(response.status, media_type, _read(response, at_most))


@contextmanager
def opened(
    method: str, url: str, body: bytes | None, headers: Mapping[str, str], *, reach: Reach, seconds: float
) -> Iterator[http.client.HTTPResponse]:
    """Send a request and yield the response, to be read within ``seconds``. Raises ExchangeFailed."""
    deadline = Deadline(seconds)
    try:
        require_acceptable(url, reach)
        with _send(method, urlsplit(url), body, headers, reach, deadline) as response:
            _refuse_late(deadline)
            yield response
            _refuse_late(deadline)
    except DownloadRefused as refused:
        raise ExchangeFailed(str(refused)[:_MAX_WHY]) from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise ExchangeFailed(f"no answer within {seconds:g} s" if deadline.left <= 0 else _why(error)) from None
    finally:
        deadline.cancel()


@contextmanager
def _send(
    method: str, parts: SplitResult, body: bytes | None, headers: Mapping[str, str], reach: Reach, deadline: Deadline
) -> Iterator[http.client.HTTPResponse]:
    """Yield the response. Raises DownloadRefused, OSError, HTTPException, ValueError."""
    host, is_encrypted = parts.hostname or "", parts.scheme == "https"
    connection = http.client.HTTPConnection(host, parts.port or (443 if is_encrypted else 80))
    try:
        addresses = addresses_of(host, connection.port, private=reach.private)
        connection.sock = deadline.connect(addresses, connection.port)
        if is_encrypted:
            connection.sock = ssl.create_default_context().wrap_socket(connection.sock, server_hostname=host)
        target = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
        connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        length = {} if body is None else {"Content-Length": str(len(body))}
        for name, value in {"Host": parts.netloc, **length, **headers}.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        with connection.getresponse() as response:
            yield response
    finally:
        connection.close()


def _read(response: http.client.HTTPResponse, at_most: int) -> bytes:
    body = b""
    while piece := response.read1(_PIECE):
        body += piece
        if len(body) > at_most:
            raise ExchangeFailed(f"the answer has more than {at_most // 1024} KiB")
    missing = response.length
    if missing:
        raise ExchangeFailed("the response ended early")
    return body


def _refuse_late(deadline: Deadline) -> None:
    if deadline.left <= 0:
        raise TimeoutError  # http.client accepts truncated headers as complete


def _why(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed ({error.reason or type(error).__name__})"[:_MAX_WHY]
    if isinstance(error, http.client.RemoteDisconnected):
        return "the connection was closed without an answer"
    if isinstance(error, http.client.HTTPException):
        return f"the answer is not valid HTTP ({type(error).__name__})"
    words = error.strerror if isinstance(error, OSError) else None
    return (words or type(error).__name__)[:_MAX_WHY]
