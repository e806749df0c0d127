"""POST a body to a URL an operator configured: SSRF-safe, one attempt, bounded time. Pure.

It uses no proxy, follows no redirect, and reads only the status of the response.
"""

import http.client
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from gatewall.kernel.deadline import Deadline
from gatewall.kernel.downloads import DownloadRefused, Reach, addresses_of, require_acceptable

_MAX_WHY = 200


@dataclass(frozen=True, slots=True)
class Posted:
    """Result of a POST: the response status, or the failure. Contains no body, query or password."""

    status: int | None = None
    failure: str = ""

    @property
    def is_taken(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


def post(url: str, body: bytes, headers: Mapping[str, str], *, reach: Reach, seconds: float) -> Posted:
    """Send the body and return the result; raises nothing, and gives up after ``seconds``."""
    deadline = Deadline(seconds)
    try:
        require_acceptable(url, reach)
        return Posted(_answer(urlsplit(url), body, headers, reach, deadline))
    except DownloadRefused as refused:
        return Posted(failure=str(refused)[:_MAX_WHY])
    except (OSError, http.client.HTTPException, ValueError) as error:
        return Posted(failure=f"no answer within {seconds:g} s" if deadline.left <= 0 else _why(error))
    finally:
        deadline.cancel()


def _answer(parts: SplitResult, body: bytes, headers: Mapping[str, str], reach: Reach, deadline: Deadline) -> int:
    """Return the response status. Raises DownloadRefused, OSError, HTTPException, ValueError."""
    host, is_encrypted = parts.hostname or "", parts.scheme == "https"
    connection = http.client.HTTPConnection(host, parts.port or (443 if is_encrypted else 80))
    try:
        addresses = addresses_of(host, connection.port, private=reach.private)
        connection.sock = deadline.connect(addresses, connection.port)
        if is_encrypted:
            connection.sock = ssl.create_default_context().wrap_socket(connection.sock, server_hostname=host)
        connection.putrequest("POST", parts.path or "/", skip_host=True, skip_accept_encoding=True)
        for name, value in {"Host": parts.netloc, "Content-Length": str(len(body)), **headers}.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        status = connection.getresponse().status
        if deadline.left <= 0:
            raise TimeoutError  # http.client takes truncated headers for complete ones
        return status
    finally:
        connection.close()


def _why(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed ({error.reason or type(error).__name__})"[:_MAX_WHY]
    words = error.strerror if isinstance(error, OSError) else None
    return (words or type(error).__name__)[:_MAX_WHY]
