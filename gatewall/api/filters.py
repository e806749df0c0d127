"""Filters of lists; each value has exactly one accepted spelling.

A filter set declares them as class attributes::

    class EntryFilters(ListFilters):
        source = text("source", max_length=64)
        expires_at_after, expires_at_before = at_or_after("expires_at"), before("expires_at")
"""

from collections.abc import Callable, Iterable
from typing import Any

import django_filters
from django import forms
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from rest_framework import serializers

from gatewall.api.serializers import MomentField

Parse = Callable[[str], Any]
MAX_WHOLE_NUMBER = 2**31 - 1


class ValueField(forms.Field):
    """Query parameter: None if absent, else its parsed text."""

    def __init__(self, *, parse: Parse, openapi: dict[str, Any], **options: Any) -> None:
        super().__init__(**{**options, "required": False})
        self.parse, self.openapi = parse, openapi

    def clean(self, value: Any) -> Any:
        return None if value is None else self.parse(str(value))


class ValueFilter(django_filters.Filter):  # type: ignore[misc]  # django-filter comes without types
    """Filter rows by a column, with a lookup."""

    field_class = ValueField

    def filter(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        if value is None:
            return qs
        return qs.filter(**{f"{self.field_name}__{self.lookup_expr}": value})


def flag(column: str) -> ValueFilter:
    """Return a filter by ``true`` or ``false``."""
    return ValueFilter(column, "exact", parse=_flag, openapi={"type": "boolean"})


def is_set(column: str) -> ValueFilter:
    """Return a filter by whether a column has a value."""
    return ValueFilter(column, "isnull", parse=lambda value: not _flag(value), openapi={"type": "boolean"})


def text(column: str, *, max_length: int, lookup: str = "exact", parse: Parse | None = None) -> ValueFilter:
    """Return a filter by exact text, or by its parsed value."""

    def bounded(value: str) -> Any:
        if len(value) > max_length:
            raise ValidationError(f"at most {max_length} characters", "max-length")
        return parse(value) if parse else value

    return ValueFilter(column, lookup, parse=bounded, openapi={"type": "string", "maxLength": max_length})


def one_of(column: str, values: Iterable[Any]) -> ValueFilter:
    """Return a filter by one of these values or enum members."""
    allowed = [str(getattr(value, "value", value)) for value in values]

    def member(value: str) -> str:
        if value not in allowed:
            raise ValidationError(f"one of {', '.join(allowed)}", "invalid-choice")
        return value

    return ValueFilter(column, "exact", parse=member, openapi={"type": "string", "enum": allowed})


def whole_number(column: str, *, least: int = 0, most: int = MAX_WHOLE_NUMBER) -> ValueFilter:
    """Return a filter by a whole number within bounds."""

    def number(value: str) -> int:
        if not (value.isascii() and value.isdigit() and len(value) < 12 and least <= int(value) <= most):
            raise ValidationError(f"a whole number from {least} to {most}", "invalid")
        return int(value)

    schema = {"type": "integer", "minimum": least, "maximum": most}
    return ValueFilter(column, "exact", parse=number, openapi=schema)


def at_or_after(column: str) -> ValueFilter:
    """Return a filter by a minimum time (inclusive)."""
    return ValueFilter(column, "gte", parse=_moment, openapi={"type": "string", "format": "date-time"})


def before(column: str) -> ValueFilter:
    """Return a filter by a maximum time (exclusive)."""
    return ValueFilter(column, "lt", parse=_moment, openapi={"type": "string", "format": "date-time"})


def _flag(value: str) -> bool:
    if value not in {"true", "false"}:
        raise ValidationError("true or false", "invalid")
    return value == "true"


def _moment(value: str) -> Any:
    try:
        return MomentField().run_validation(value)
    except serializers.ValidationError as error:
        words = error.detail[0] if isinstance(error.detail, list) else error.detail
        raise ValidationError(str(words), "invalid") from None


class Filters(django_filters.FilterSet):  # type: ignore[misc]  # as above
    """Base of the filters of a list."""

    def chosen(self) -> QuerySet[Any]:
        """Return the rows that match every filter. Raises ValidationError for malformed ones."""
        if not self.is_valid():
            raise ValidationError(self.form.errors.as_data())
        rows: QuerySet[Any] = self.qs
        return rows


class ListFilters(Filters):
    """Common filters of rows that users create."""

    created_by = text("created_by", max_length=64)
    created_at_after, created_at_before = at_or_after("created_at"), before("created_at")
