"""Serializers of the rows of a document, derived from those of the API; they do not look up named rows."""

from collections.abc import Callable, Mapping
from typing import Any

from rest_framework import serializers

from gatewall.api.serializers import StrictInput, TextField
from policies import validators
from policies.access_conditions import MAX_MEMBERS
from policies.access_rules.serializers import UsersField
from policies.groups.serializers import GroupsField
from policies.serializers import RegisteredDomainField, RegisteredDomainsField

_REQUEST_ONLY = frozenset({"force", "position"})
"""Fields that rows of a document lack: ``force`` is given on applying, and the order of the rows is the position."""


class DomainNameField(TextField):
    """The name of a domain; validates to its canonical form."""

    def to_internal_value(self, data: Any) -> str:
        return validators.canonical_domain(super().to_internal_value(data))


class NamesField(serializers.ListField):
    """Distinct names of rows, validated to a sorted list; the maximum number is checked before the names."""

    def __init__(self, child: Any, *, at_most: int) -> None:
        super().__init__(child=child, max_length=at_most, required=False)
        self._most = at_most

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, list) and len(data) > self._most:
            self.fail("max_length", max_length=self._most)
        return sorted(set(super().to_internal_value(data)))


_BY_NAME: Mapping[type, Callable[[Any], Any]] = {
    RegisteredDomainField: lambda field: DomainNameField(allow_null=field.allow_null, required=field.required),
    RegisteredDomainsField: lambda field: NamesField(DomainNameField(), at_most=field.max_length),
    GroupsField: lambda field: NamesField(TextField(max_length=64), at_most=field.max_length),
    UsersField: lambda _field: NamesField(TextField(max_length=64), at_most=MAX_MEMBERS),
}
"""Field classes that look up rows, and what replaces them in a document."""


def row_serializer(
    base: type[StrictInput], *, without: tuple[str, ...] = (), optional: tuple[str, ...] = (), **more: Any
) -> StrictInput:
    """Return the serializer of a row, derived from that of the API.

    ``more``: fields that only a document has. ``without``: fields that it lacks. ``optional``: fields that it may omit.
    """

    class Row(base):  # type: ignore[misc, valid-type]  # the class is an argument
        """A row of a document."""

        def get_fields(self) -> dict[str, Any]:
            found = {**more, **super().get_fields()}
            kept = {name: field for name, field in found.items() if name not in _REQUEST_ONLY and name not in without}
            for name in optional:
                kept[name].required = False
            return {name: _BY_NAME.get(type(field), _unchanged)(field) for name, field in kept.items()}

    serializer: StrictInput = Row()
    return serializer


def _unchanged(field: Any) -> Any:
    return field
