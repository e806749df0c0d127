"""Values that are made for each request. No I/O."""

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

Value = TypeVar("Value")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value(cls: type[Value]) -> type[Value]:
    """Make a frozen dataclass with slots of the class: frozen to mypy, which refuses to set a field of it.

    At run time nothing refuses. ``frozen=True`` sets each field through ``object.__setattr__``, some twenty times the
    price of setting it: over the seventy fields of one answer, a sixteenth of all that the answer costs.
    """
    return dataclass(slots=True, unsafe_hash=True)(cls)
