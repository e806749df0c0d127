"""TCP ports and Unix sockets: check that one is free, listen on it, find a free port."""

import errno
import os
import random
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple


class PortTakenError(Exception):
    """A port is taken; the message names the port and its variable."""


class Port(NamedTuple):
    """A TCP port and the variable that changes it."""

    address: str
    number: int
    variable: str


def require_free(port: Port) -> None:
    """Raise PortTakenError unless the port is free.

    Binds without SO_REUSEPORT, which would silently share a taken port, and with SO_REUSEADDR, to ignore closing
    connections of the last run.
    """
    family = socket.AF_INET6 if ":" in port.address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((port.address, port.number))
            probe.listen(1)
        except (OSError, OverflowError) as error:
            taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
            why = "is taken" if taken else f"cannot be used ({error})"
            raise PortTakenError(
                f"Port {port.number} on {port.address} {why}: stop what listens there, or set {port.variable}."
            ) from error


class Listening(NamedTuple):
    """Inheritable descriptor of a listening socket, and the path of a Unix socket."""

    descriptor: int
    path: str = ""


_BACKLOG = 2048
"""The same as in deploy/data_plane.conf.py, and gunicorn's default."""


def listen(address: str, number: int) -> Listening:
    """Listen on a port. Raises OSError."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return Listening(_inheritable(socket.create_server((address, number), family=family, backlog=_BACKLOG)))


def listen_at(path: Path) -> Listening:
    """Listen at a Unix socket to which the owner's group may connect. Raises OSError."""
    listening = socket.socket(socket.AF_UNIX)
    before = os.umask(0o117)  # as in deploy/data_plane.conf.py
    try:
        listening.bind(str(path))
    finally:
        os.umask(before)
    listening.listen(_BACKLOG)
    return Listening(_inheritable(listening), str(path))


def _inheritable(listening: socket.socket) -> int:
    listening.set_inheritable(True)
    return listening.detach()


def require_free_socket(path: Path, variable: str) -> None:
    """Raise PortTakenError unless the Unix socket is free; remove the stale socket of a killed server."""
    why = ""
    if not os.access(path.parent, os.W_OK | os.X_OK):
        why = f"{path.parent} is no folder that we may write to"
    elif path.exists() and not path.is_socket():
        why = "it is another file"
    if why:
        raise PortTakenError(f"The socket {path} cannot be used ({why}): set {variable}.")
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except FileNotFoundError:
            return
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
            return
        except OSError as error:
            raise PortTakenError(f"The socket {path} cannot be used ({error}): set {variable}.") from error
    raise PortTakenError(f"The socket {path} is taken: stop what listens there, or set {variable}.")


def _lowest_ephemeral_port() -> int:
    """Return the lowest ephemeral port of the kernel."""
    try:
        return int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return 32768


def non_ephemeral_ports(lowest: int) -> range:
    """Return ports outside of the ephemeral range, which begins at `lowest`.

    If there are hardly any below it, return the ports from 10,000 on of the parity that Linux uses last.
    """
    return range(10_000, lowest) if lowest > 12_000 else range(10_001 - lowest % 2, 65_536, 2)


# Ports reserved by a caller that does not listen on them yet.
_given: set[int] = set()


def _is_ours(number: int) -> bool:
    """Reserve a port among all processes of this host until this process ends; return False if it is reserved.

    Uses a name in Linux's abstract socket namespace, which is released at the end of the process and needs no file.
    """
    if sys.platform != "linux":
        return True
    sign = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        sign.bind(f"\0gatewall-port-{number}")
    except OSError:
        sign.close()
        return False
    sign.detach()  # the socket remains open until the process ends
    return True


def free_port() -> int:
    """Return a free loopback port outside of the ephemeral range.

    No two calls return the same port while their processes run. Raises PortTakenError when there is none.
    """
    left = [number for number in non_ephemeral_ports(_lowest_ephemeral_port()) if number not in _given]
    for number in random.sample(left, min(len(left), 1_000)):
        with suppress(PortTakenError):
            require_free(Port("127.0.0.1", number, ""))
            if _is_ours(number):
                _given.add(number)
                return number
    raise PortTakenError("No loopback port is free.")
