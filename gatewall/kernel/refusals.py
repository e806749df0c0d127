"""Exceptions of services that refuse an operation. No knowledge of HTTP.

Each refusal is defined beside the function that raises it and names its code; one handler in
``gatewall.api.problems`` turns each kind into a status.
"""

from typing import ClassVar


class Refusal(Exception):
    """An expected no. ``code`` is kebab-case, documented, and never reused."""

    code: ClassVar[str]


class Conflict(Refusal):
    """The request is sound, but not as things stand now."""


class Invalid(Refusal):
    """A value makes no sense; ``field`` says which."""

    field: ClassVar[str]


class Gone(Refusal):
    """Somebody else deleted the row in the meantime."""

    code = "not-found"


class Forbidden(Refusal):
    """Not for this caller."""


class TooMany(Refusal):
    """Not so often; ``retry_after_seconds`` says when again."""

    def __init__(self, words: str, *, retry_after_seconds: int) -> None:
        super().__init__(words)
        self.retry_after_seconds = retry_after_seconds
