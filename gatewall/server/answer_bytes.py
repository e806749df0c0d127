"""Serialize answers to HTTP/1.1 bytes. Pure."""

from collections.abc import Iterable
from dataclasses import field
from functools import lru_cache
from http import HTTPStatus

from gatewall.engine.values import value

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_STARTS = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\n" for status in HTTPStatus}
_CLOSE = "connection: close\n"


@value
class Answer:
    """An HTTP response of the gate; the body is an HTML page for a browser, or nearly always empty."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes = b""
    wire: bytes = field(default=b"", compare=False, repr=False)
    """Cached result of ``wire_of``, or empty."""


class Unsendable(Exception):
    """The status or a header of the answer contains a line break, NUL or a character outside latin-1."""


def answer_bytes(answer: Answer, date: str, *, shows_body: bool, keep_alive: bool) -> bytes:
    """Serialize a whole response; ``date`` is the Date header line. Raises Unsendable."""
    wire = answer.wire or wire_of(answer)
    head = wire + _own_lines(date, len(answer.body), keep_alive=keep_alive)
    return head + answer.body if shows_body and answer.body else head


def wire_of(answer: Answer) -> bytes:
    """Serialize status line and headers, without the server's own lines. Raises Unsendable."""
    return head_bytes(_STARTS[answer.status], answer.headers, "")[:-2]


@lru_cache(64)  # the date changes once a second
def _own_lines(date: str, length: int, *, keep_alive: bool) -> bytes:
    text = f"{date}content-length: {length}\n{'' if keep_alive else _CLOSE}\n"
    return text.replace("\n", "\r\n").encode()


def head_bytes(start: str, headers: Iterable[tuple[str, str]], own: str) -> bytes:
    """Serialize a response head: status line, headers, then the server's ``own`` lines. Raises Unsendable."""
    lines = [f"{name}: {value}\n" for name, value in headers]
    text = "".join(lines)
    if text.count("\n") != len(lines) or "\r" in text or "\0" in text:
        raise Unsendable
    try:
        return f"{start}{text}{own}\n".replace("\n", "\r\n").encode("latin-1")
    except UnicodeEncodeError as error:
        raise Unsendable from error


def _refusal(status: int) -> bytes:
    again = "retry-after: 1\n" if status == HTTPStatus.SERVICE_UNAVAILABLE else ""
    text = f"{_STARTS[status]}cache-control: no-store\n{again}content-length: 0\n{_CLOSE}\n"
    return text.replace("\n", "\r\n").encode()


REFUSALS = {status: _refusal(status) for status in (400, 408, 414, 417, 431, 500, 503)}
"""Responses without a body that close the connection: malformed requests, timeouts, and internal errors (500, 503)."""
