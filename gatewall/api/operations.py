"""Decorator that declares an API method's input and output for the OpenAPI document.

A ``Resource`` says it by its serializers. Every other method says it with ``operation``::

    class Reload(ApiView):
        @operation(answer=ReloadOutput)
        def post(self, request): ...

A method that says nothing has no place in the document, and ``tests/api/test_schema.py`` fails.
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
    """``body``: the input serializer. ``answers``: by status, a serializer, several of them, a JSON
    schema, or None for no body.

    ``refuses``: the statuses of problems that the operation gives besides those that all give. ``verb``:
    how its name ends, where that of its method does not tell it from another.
    """

    body: type[serializers.Serializer[Any]] | None = None
    answers: Mapping[int, Output] = field(default_factory=dict)
    refuses: frozenset[int] = frozenset()
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    media_type: str = "application/json"
    exports: Collection[str] = ()
    is_tagged: bool = False
    is_partial: bool = False
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
    """Say that a method takes this body and gives this answer.

    ``status`` is 200, or 204 for an answer without a body; ``also`` names other answers by their
    status. ``more``: ``parameters`` of the query with their JSON schemas; ``media_type`` of the
    answer, and ``exports``, the media types of texts that it may be instead; ``is_tagged`` for an
    answer with ``ETag``; ``is_partial`` for a body of any subset of fields.
    """

    def declare(method: Method) -> Method:
        answers = {status or (200 if answer is not None else 204): answer, **(also or {})}
        method.operation = Operation(body, answers, frozenset(refuses), **more)  # type: ignore[attr-defined]  # where schema.py looks
        return method

    return declare
