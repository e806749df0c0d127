"""Typed attributes that one part of an admin page leaves on the request for another part."""

from typing import Generic, TypeVar

from django.core.exceptions import ValidationError
from django.http import HttpRequest

from gatewall.kernel.refusals import Refusal

Value = TypeVar("Value")


class RequestNote(Generic[Value]):
    """An attribute of a request: set once, read later in the same request."""

    def __init__(self, name: str) -> None:
        self._name = f"_gatewall_{name}"

    def set(self, request: HttpRequest, value: Value) -> None:
        """Leave the value on the request."""
        setattr(request, self._name, value)

    def get(self, request: HttpRequest) -> Value | None:
        """Return the value, or None if it was not set."""
        found: Value | None = getattr(request, self._name, None)
        return found


REFUSAL = RequestNote[Refusal | ValidationError]("refusal")
"""Why nothing was changed, for the form that is shown again."""
