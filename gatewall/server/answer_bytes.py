"""Serialize answers to HTTP/1.1 bytes. Pure."""

from collections.abc import Iterable
from http import HTTPStatus

from gatewall.engine.values import value

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_STARTS = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\n" for status in HTTPStatus}
_CLOSE = "connection: close\n"


@value
class Answer:
    """What goes back to whoever asked; the body is a page for a browser, and nearly always empty."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes = b""


class Unsendable(Exception):
    """The status or a header of the answer cannot stand on one line of its own."""


def answer_bytes(answer: Answer, date: str, *, shows_body: bool, keep_alive: bool) -> bytes:
    """Return the whole answer; ``date`` is a line of its own. Raises Unsendable."""
    own = f"{date}content-length: {len(answer.body)}\n{'' if keep_alive else _CLOSE}"
    head = head_bytes(_STARTS[answer.status], answer.headers, own)
    return head + answer.body if shows_body and answer.body else head


def head_bytes(start: str, headers: Iterable[tuple[str, str]], own: str) -> bytes:
    """Return a head: the status line, the headers of the answer, lines of the server. Raises Unsendable."""
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
"""Answers that end the connection: to what is no request, and 500 or 503 to one that got no other answer."""
