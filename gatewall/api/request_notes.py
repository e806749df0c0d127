"""Typed attributes that one part of an admin page sets on the request for another part."""

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
        setattr(request, self._name, value)

    def get(self, request: HttpRequest) -> Value | None:
        found: Value | None = getattr(request, self._name, None)
        return found


REFUSAL = RequestNote[Refusal | ValidationError]("refusal")
"""Refusal to show in the form that is displayed again."""
