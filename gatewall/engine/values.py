"""Values that are made for each request, and attributes that are computed once. No I/O."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, dataclass_transform, overload

Value = TypeVar("Value")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value(cls: type[Value]) -> type[Value]:
    """Make the class a dataclass with slots, frozen for type checkers only: mypy rejects assignments to its fields.

    At run time nothing rejects them. ``frozen=True`` sets each field through ``object.__setattr__``, some twenty times
    slower: with seventy fields per answer, that is a sixteenth of the cost of an answer.
    """
    return dataclass(slots=True, unsafe_hash=True)(cls)


class lazy(Generic[Value]):  # noqa: N801 - used as a decorator, like the library's
    """``functools.cached_property`` without its lock, which Python 3.12 removed for its cost (python/cpython#87634).

    Two threads may compute a value twice; our objects belong to one request.
    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> "lazy[Value]": ...
    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...

    def __get__(self, instance: object | None, owner: type) -> "lazy[Value] | Value":
        if instance is None:
            return self
        value = self._compute(instance)
        instance.__dict__[self._name] = value  # from now on found before this descriptor
        return value
