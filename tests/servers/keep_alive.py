"""Send many requests to a server over one keep-alive connection, as a proxy does. Standard library only."""

import re
import socket
from collections.abc import Sequence
from typing import NamedTuple

from tests.support.processes import PATIENCE

_HEAD = re.compile(rb"HTTP/1\.1 (\d{3})")
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_REASON = re.compile(rb"\r\nx-gatewall-reason: *([^\r]*)", re.IGNORECASE)
_DECISION = re.compile(rb"\r\nx-gatewall-decision-id: *([^\r]*)", re.IGNORECASE)


class Asked(NamedTuple):
    """An answer of the gate."""

    status: int
    reason: str
    decision_id: str


def ask_all(port: int, requests: Sequence[bytes]) -> list[Asked]:
    """Send requests to a port of this machine, one after the other; return their answers.

    A request whose connection was closed without a byte of the answer is sent again on another one.
    """
    answers: list[Asked] = []
    while len(answers) < len(requests):
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
            for each in requests[len(answers) :]:
                connection.sendall(each)
                found = _answer(connection)
                if found is None:
                    break
                answers.append(found)
    return answers


def _answer(connection: socket.socket) -> Asked | None:
    """Return the next answer, None if the connection was closed instead."""
    data = b""
    while (ends := data.find(b"\r\n\r\n")) < 0:
        more = connection.recv(65_536)
        if not more:
            assert not data, data
            return None
        data += more
    head, length = data[: ends + 2], _LENGTH.search(data, 0, ends + 2)
    left = (int(length[1]) if length else 0) - (len(data) - ends - 4)
    while left > 0:
        left -= len(connection.recv(left))
    status, reason, decision = _HEAD.match(head), _REASON.search(head), _DECISION.search(head)
    assert status, head
    assert reason, head
    assert decision, head
    return Asked(int(status[1]), reason[1].decode(), decision[1].decode())
