"""Lazy attribute: a property that is computed once, without a lock."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Value = TypeVar("Value")


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
