"""Resources with usage counts of their rows, from the roll-ups of the access log."""

from typing import Any, ClassVar

from rest_framework import serializers

from audit.log.selectors import Use, uses_of
from gatewall.api.resources import Resource


class UsedResource(Resource):
    """Resource that looks up the uses of its rows, in one query per page.

    ``use_kind``: kind of the row in ``decided_by`` or ``subject`` of the access log.
    """

    use_kind: ClassVar[str]

    def show(self, row: Any, *, many: bool = False) -> Any:
        rows = row if many else [row]
        uses = uses_of(self.use_kind, [each.pk for each in rows])
        for each in rows:
            each.use = uses.get(each.pk, Use())
        return super().show(row, many=many)


class HitsOutput(serializers.Serializer[Any]):
    """How often the row decided or contributed."""

    hits = serializers.IntegerField(source="use.count", read_only=True)


class LastHitOutput(HitsOutput):
    """How often the row decided or contributed, and the last time."""

    last_hit_at = serializers.DateTimeField(source="use.last_at", read_only=True, allow_null=True)


class LastUsedOutput(serializers.Serializer[Any]):
    """When the credential was last used."""

    last_used_at = serializers.DateTimeField(source="use.last_at", read_only=True, allow_null=True)


class UsesOutput(LastUsedOutput):
    """When and how often the credential was used."""

    uses = serializers.IntegerField(source="use.count", read_only=True)
