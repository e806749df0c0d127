"""Decorator that declares an API method's input and output for the OpenAPI document.

A ``Resource`` is described by its serializers, every other method by ``operation``::

    class Reload(ApiView):
        @operation(answer=ReloadOutput)
        def post(self, request): ...

An undeclared method is excluded from the document, and ``tests/api/test_schema.py`` fails.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from rest_framework import serializers

Serializer = type[serializers.BaseSerializer[Any]]
Output = Serializer | tuple[Serializer, ...] | Mapping[str, Any] | None
Method = TypeVar("Method", bound=Callable[..., Any])


@dataclass(frozen=True)
class Operation:
    """OpenAPI description of a method.

    ``body``: input serializer. ``answers``: by status, a serializer, several, a JSON schema, or None for no body.
    ``refuses``: statuses of problems besides the common ones. ``verb``: suffix of the operation id if the method's name
    is ambiguous. ``reads``: whether a POST is read-only, so that read access permits it.
    """

    body: type[serializers.Serializer[Any]] | None = None
    answers: Mapping[int, Output] = field(default_factory=dict)
    refuses: frozenset[int] = frozenset()
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    media_type: str = "application/json"
    exports: Collection[str] = ()
    is_tagged: bool = False
    is_partial: bool = False
    reads: bool = False
    verb: str = ""


def operation(
    *,
    answer: Output = None,
    status: int = 0,
    body: type[serializers.Serializer[Any]] | None = None,
    also: Mapping[int, Output] | None = None,
    refuses: Collection[int] = (),
    **more: Any,
) -> Callable[[Method], Method]:
    """Declare a method's body and response.

    ``status`` is 200, or 204 without a body; ``also`` are further responses by status. ``more``: query ``parameters``
    with their JSON schemas; ``media_type`` of the response; ``exports``, its alternative media types; ``is_tagged`` for
    a response with ``ETag``; ``is_partial`` for a body of any subset of fields; ``reads`` for a read-only POST.
    """

    def declare(method: Method) -> Method:
        answers = {status or (200 if answer is not None else 204): answer, **(also or {})}
        method.operation = Operation(body, answers, frozenset(refuses), **more)  # type: ignore[attr-defined]  # read by schema.py
        return method

    return declare
