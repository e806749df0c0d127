"""Exceptions of services that refuse an operation. No knowledge of HTTP.

Each refusal is defined beside the function that raises it and names its code; one handler in
``gatewall.api.problems`` turns each kind into a status.
"""

from typing import ClassVar

from gatewall.engine.messages import Message


class Refusal(Exception):
    """An expected no. ``message`` says why; ``code`` is kebab-case, documented, and never reused."""

    code: ClassVar[str]

    def __init__(self, message: str, **params: object) -> None:
        self.message = Message(message, **params)
        super().__init__(self.message)


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

    def __init__(self, message: str, *, retry_after_seconds: int, **params: object) -> None:
        super().__init__(message, **params)
        self.retry_after_seconds = retry_after_seconds
