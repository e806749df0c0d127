"""The JSON of the access log."""

from collections.abc import Iterable, Iterator
from typing import Any

from rest_framework import serializers

from audit.models import AccessLog
from audit.spool.records import DECIDED_BY, FIELDS, SUBJECT, Field
from gatewall.api.serializers import ShapedField

_TEXT, _TEXTS = {"type": "string"}, {"type": "array", "items": {"type": "string"}}
_CREDENTIAL_PARTS = {
    "kind": _TEXT,
    "amr": _TEXTS,
    "state": {"type": "string", "enum": ["valid", "not-valid", "not-checked"]},
}
_CREDENTIAL = {"type": ["object", "null"], "properties": _CREDENTIAL_PARTS, "required": [*_CREDENTIAL_PARTS]}
_RULE = {"id": {"type": "integer"}, "name": _TEXT, "action": {"type": "string", "enum": ["block", "monitor"]}}
RULES = {"type": "array", "items": {"type": "object", "properties": _RULE, "required": [*_RULE]}}


class RowField(ShapedField):
    """A row that an answer names, of its columns ``<field>_kind``, ``<field>_id``, ...; null without a kind."""

    def __init__(self, field: Field) -> None:
        parts = {part: _TEXT if length else {"type": "integer"} for part, length in field.parts.items()}
        shape = {"type": ["object", "null"], "properties": parts, "required": [*parts]}
        super().__init__(shape, source="*", read_only=True, allow_null=True)

    def to_representation(self, value: AccessLog) -> dict[str, Any] | None:
        if getattr(value, f"{self.field_name}_kind") is None:
            return None
        return {part: getattr(value, f"{self.field_name}_{part}") for part in self.shape["properties"]}


class AccessLogOutput(serializers.ModelSerializer[AccessLog]):
    """One answer of the gate."""

    at = serializers.DateTimeField(format="%Y-%m-%dT%H:%M:%S.%fZ")
    decided_by = RowField(DECIDED_BY)
    subject = RowField(SUBJECT)
    rules = ShapedField(RULES)
    credential = ShapedField(_CREDENTIAL, allow_null=True)
    visible = ShapedField(_TEXTS)

    class Meta:
        model = AccessLog
        fields = tuple(field.name for field in FIELDS)


class AccessLogPage(serializers.Serializer[Any]):
    """A page of the log, newest first.

    ``count`` is null unless ``count=true``, and where there are too many rows to count.
    """

    count = serializers.IntegerField(allow_null=True)
    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = AccessLogOutput(many=True)


def shown(rows: Iterable[AccessLog]) -> Iterator[dict[str, Any]]:
    """Yield the rows as the API shows them, one at a time."""
    one = AccessLogOutput()
    for row in rows:
        yield one.to_representation(row)
