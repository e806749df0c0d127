"""Strict serializers: unknown fields and wrong types are rejected, not coerced."""

import re
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,6})?([Zz]|[+-]\d\d:\d\d)", re.ASCII)

_PRINTED = r"[^\x00-\x08\x0b-\x1f]"
_VISIBLE = r"[^\x00-\x1f\s]"  # \S alone is also a control character

FIRST_YEAR = 1000  # strftime writes earlier years with fewer than four digits


class StrictInput(serializers.Serializer[Any]):
    """Reject unknown fields.

    Fields ``shown`` in the context may be sent back unchanged, ``volatile`` ones with any value. ``one_of``: fields of
    which exactly one is required, for the OpenAPI document.
    """

    one_of: tuple[str, ...] = ()

    def to_internal_value(self, data: Any) -> Any:
        unknown = self._unknown(data) if isinstance(data, Mapping) else {}
        try:
            values = super().to_internal_value(data)
        except serializers.ValidationError as error:
            if not unknown or not isinstance(error.detail, dict):
                raise
            raise serializers.ValidationError({**error.detail, **unknown}) from error
        if unknown:
            raise serializers.ValidationError(unknown)
        return values

    def _unknown(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return the errors of fields that the body must not have."""
        shown: Mapping[str, Any] = self.context.get("shown") or {}
        errors = {}
        for name, value in data.items():
            if name in self.fields or name in self.context.get("volatile", ()):
                continue
            if name not in shown:
                errors[str(name)] = [serializers.ErrorDetail("there is no such field", code="unknown-field")]
            elif shown[name] != value:
                errors[str(name)] = [serializers.ErrorDetail("this field cannot be set", code="read-only")]
        return errors


class ShownOnce(serializers.Serializer[Any]):
    """Secret that is returned only to the creator."""

    token = serializers.CharField()


class Warned(serializers.Serializer[Any]):
    """Warnings for the creator."""

    warnings = serializers.ListField(child=serializers.CharField(), required=False)


class ShapedField(serializers.JSONField):
    """JSON documented by a JSON schema; validated elsewhere."""

    def __init__(self, shape: Mapping[str, Any], **options: Any) -> None:
        super().__init__(**options)
        self.shape = shape


class TextField(serializers.CharField):
    """A JSON string without control characters; DRF's field also accepts numbers."""

    @property
    def openapi(self) -> dict[str, Any]:
        """The pattern and minimum length for the OpenAPI document."""
        if self.allow_blank:
            return {"pattern": f"^{_PRINTED}*$"}
        filled = f"{_PRINTED}*{_VISIBLE}{_PRINTED}*" if self.trim_whitespace else f"{_PRINTED}+"
        return {"minLength": 1, "pattern": f"^{filled}$"}

    def run_validation(self, data: Any = serializers.empty) -> Any:
        """Validate before stripping, as some control characters are white space. Raises ValidationError."""
        if isinstance(data, str) and any(character < " " and character not in "\n\t" for character in data):
            self.fail("invalid")
        return super().run_validation(data)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        value: str = super().to_internal_value(data)
        return value


class FlagField(serializers.BooleanField):
    """A JSON true or false; DRF's field also accepts "yes" and 1."""

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return data


class WholeNumberField(serializers.IntegerField):
    """A JSON integer; DRF's field also accepts "5" and 5.0."""

    def to_internal_value(self, data: Any) -> int:
        if type(data) is not int:
            self.fail("invalid")
        value: int = super().to_internal_value(data)
        return value


class MomentField(serializers.DateTimeField):
    """A date and time in RFC 3339 with offset."""

    default_error_messages = {
        "offset": _("give a time with its UTC offset, like 2026-01-31T12:00:00Z"),
        "year": _("the year, in UTC, is at least {year}"),
    }

    def to_internal_value(self, value: Any) -> Any:
        if not isinstance(value, str):
            self.fail("invalid", format="RFC 3339")
        if not _RFC_3339.fullmatch(value):
            self.fail("offset")
        moment = super().to_internal_value(value)
        if moment.year < FIRST_YEAR:
            self.fail("year", year=FIRST_YEAR)
        return moment
