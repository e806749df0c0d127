"""Send a probe and return its status and some headers, never a body. No I/O except the network.

The request is written without ``http.client``, which cannot send non-ASCII bytes.
"""

import http.client
import socket
import ssl
from dataclasses import dataclass, replace
from ipaddress import IPv6Address

from gatewall.doctor.probing.evidence import SHOWN_HEADERS, Reply
from gatewall.doctor.probing.probes import Probe
from gatewall.doctor.probing.target import Target
from gatewall.engine.addresses import parse_address
from gatewall.engine.messages import Message
from gatewall.engine.messages import gettext_noop as _
from gatewall.engine.special_addresses import CLOUD_METADATA, inside_of
from gatewall.kernel.deadline import Deadline
from gatewall.kernel.downloads import DownloadRefused, addresses_of

SECONDS = 5.0
_MAX_SHOWN = 500
_MAX_WHY = 200
_LAST_ASCII = "\x7f"


@dataclass(frozen=True, slots=True)
class Way:
    """How to reach the site: address and port, by default those of its name, and whether to accept any certificate."""

    address: str | None = None
    port: int | None = None
    self_signed: bool = False


def send(target: Target, probe: Probe, way: Way, seconds: float = SECONDS) -> Reply:
    """Send a probe and return the response; network errors are returned, not raised."""
    deadline = Deadline(seconds)
    ends = ("", "")
    try:
        with _connected(target, way, deadline) as connection:
            ends = (str(connection.getsockname()[0]), str(connection.getpeername()[0]))
            return replace(_sent(connection, target, probe, way, deadline), from_address=ends[0], to_address=ends[1])
    except DownloadRefused as refused:
        return Reply(failure=refused.message)
    except (OSError, http.client.HTTPException, ValueError) as error:
        late = Message(_("no answer within %(seconds)s s"), seconds=f"{seconds:g}")
        failure = late if deadline.left <= 0 else _failure_reason(error)
        return Reply(failure=failure, from_address=ends[0], to_address=ends[1])
    finally:
        deadline.cancel()


def _sent(connection: socket.socket, target: Target, probe: Probe, way: Way, deadline: Deadline) -> Reply:
    if target.scheme == "https":
        connection = _context(way).wrap_socket(connection, server_hostname=target.host.name.strip("[]"))
    with connection:
        connection.sendall(_bytes_of(target, probe))
        response = http.client.HTTPResponse(connection, method=probe.method)
        try:
            response.begin()
            if deadline.left <= 0:
                raise TimeoutError  # truncated headers look complete
            headers = {name: _ascii_line(response.headers[name]) for name in SHOWN_HEADERS if name in response.headers}
            return Reply(response.status, headers)
        finally:
            response.close()


def _bytes_of(target: Target, probe: Probe) -> bytes:
    headers = {
        "Host": target.authority,
        "User-Agent": probe.user_agent,
        "Accept": "*/*",
        "Connection": "close",
        **({"Content-Length": "0"} if probe.method == "POST" else {}),
    }
    lines = [f"{probe.method} {probe.uri} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in {**headers, **dict(probe.headers)}.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _connected(target: Target, way: Way, deadline: Deadline) -> socket.socket:
    """Connect to one of the site's addresses. Raises DownloadRefused, OSError."""
    port = way.port or target.port
    found = addresses_of(way.address or target.host.name.strip("[]"), port, private=True)
    return deadline.connect(map(_ordinary_host, found), port)


def _ordinary_host(text: str) -> str:
    """Return the address. Raises DownloadRefused unless it is one of an ordinary host (cloud metadata is not)."""
    address = parse_address(text.partition("%")[0])
    if isinstance(address, IPv6Address):
        address = address.ipv4_mapped or inside_of(address) or address
    if address is None or address in CLOUD_METADATA:
        raise DownloadRefused(_("%(address)s cannot be the address of a proxy"), address=text)
    if address.is_link_local or address.is_multicast or address.is_unspecified:
        raise DownloadRefused(_("%(address)s cannot be the address of a proxy"), address=text)
    return text


def _context(way: Way) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if way.self_signed:  # chosen by the operator for their own site; nothing secret is sent
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _ascii_line(value: str | None) -> str:
    """Return a header value as one line of ASCII."""
    cut = (value or "")[:_MAX_SHOWN]
    return "".join(char if " " <= char < _LAST_ASCII else "?" for char in cut)


def _failure_reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return Message(_("no answer in time"))
    if isinstance(error, ssl.SSLError):
        return Message(_("TLS failed (%(reason)s)"), reason=error.reason or type(error).__name__)
    words = error.strerror if isinstance(error, OSError) else None
    return (words or type(error).__name__)[:_MAX_WHY]
