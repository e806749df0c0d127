"""Exceptions of services that refuse an operation. No knowledge of HTTP.

Each refusal is defined beside the function that raises it and has a code; ``gatewall.api.problems`` maps each base
class to a status.
"""

from typing import Any, ClassVar

from gatewall.engine.messages import Message


class Refusal(Exception):
    """An expected refusal. ``message`` explains it; ``code`` is kebab-case, documented, and never reused."""

    code: ClassVar[str]

    def __init__(self, message: str, **params: object) -> None:
        self.message = Message(message, **params)
        super().__init__(self.message)

    def put_in(self, template: str, **params: object) -> None:
        """Wrap the message in a longer one, as its ``why``: for a service that calls other services."""
        self.message = Message(template, **params, why=self.message)
        self.args = (self.message,)

    def members(self) -> dict[str, Any]:
        """Return additional members of the API's problem document."""
        return {}


class Conflict(Refusal):
    """The request is valid but conflicts with the current state."""


class Overridable(Conflict):
    """A conflict that ``force`` overrides; pages offer the override after the refusal."""

    def __str__(self) -> str:
        return f"{self.message}; send force: true if you mean it"


class Invalid(Refusal):
    """The value of ``field`` is invalid."""

    field: ClassVar[str]

    def details(self) -> list[dict[str, Any]]:
        """Return every error, each with its field, code and message."""
        return [{"field": self.field, "code": self.code, "message": str(self)}]


class Gone(Refusal):
    """The row was deleted in the meantime."""

    code = "not-found"


class Forbidden(Refusal):
    """The caller may not do this."""


class TooMany(Refusal):
    """Rate limit exceeded; retry after ``retry_after_seconds``."""

    def __init__(self, message: str, *, retry_after_seconds: int, **params: object) -> None:
        super().__init__(message, **params)
        self.retry_after_seconds = retry_after_seconds
