"""Filters of rows by user name and address; filter sets stand beside the serializers."""

from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.db.models.functions import Lower
from django.db.models.lookups import Exact

from gatewall.api.filters import ValueFilter
from gatewall.engine.addresses import parse_address

_LONGEST_NAME = 64


def address(spelling: str) -> str:
    """Return the canonical form of an IP address. Raises ValidationError."""
    found = parse_address(spelling)
    if found is None:
        raise ValidationError("an IP address", "invalid")
    return str(found)


class _NameFilter(ValueFilter):
    """Filter by user name, ignoring case, on the unique index (``iexact`` would scan the table)."""

    def filter(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        return qs if value is None else qs.filter(Exact(Lower("username"), value))


def name_filter() -> ValueFilter:
    """Return a filter by user name, ignoring case."""
    return _NameFilter("username", parse=_lower_name, openapi={"type": "string", "maxLength": _LONGEST_NAME})


def _lower_name(name: str) -> str:
    if len(name) > _LONGEST_NAME:
        raise ValidationError(f"at most {_LONGEST_NAME} characters", "max-length")
    return name.lower()
