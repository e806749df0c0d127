"""Exit codes, failures and backends (this host or the API) of ``gatewall policy``. Pure."""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any, Protocol

Json = Mapping[str, Any]


class Exit(IntEnum):
    """Exit codes."""

    DONE = 0
    REFUSED = 1
    CANNOT_RUN = 2
    CHANGES = 3


class Failure(Exception):
    """An action that was refused or cannot run: the exit code, a message, and the faults of a document."""

    def __init__(self, code: Exit, message: str, errors: Sequence[Json] = ()) -> None:
        super().__init__(message)
        self.code, self.message, self.errors = code, message, errors


class Writer(Protocol):
    """A stream of text."""

    def write(self, text: str, /) -> object:
        """Write the text."""


class Backend(Protocol):
    """The policy: of this host, or over the API. Each call raises Failure."""

    def export(self, revision: int | None) -> str:
        """Return the document in force, or as of a revision."""

    def schema(self) -> Json:
        """Return the JSON Schema."""

    def compare(self, document: str) -> Json:
        """Return the answer of ``POST /policy/document/compare``."""

    def plan(self, document: str, *, hours: int, replay: bool) -> Json:
        """Return a plan as ``GET /policy/plan/:id`` shows it, with its replay if ``replay`` is true."""

    def apply(self, document: str, options: Json) -> Json:
        """Apply a document; return the number of its ``revision``, None if it changed nothing, and its ``counts``."""
