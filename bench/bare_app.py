"""The least that an application can do: the ceiling of the data plane under the same server."""

from typing import Any

from gatewall.serving.answer_bytes import Answer
from gatewall.serving.connection import Application

_OK = Answer(200, ())


def application() -> Application:
    """Return what answers 200 to everything."""
    return _answer


def _answer(*request: Any) -> Answer:
    return _OK
