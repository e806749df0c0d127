"""Resources whose rows say how often they were used. It is counted of the access log, never a column of the row."""

from typing import Any, ClassVar

from rest_framework import serializers

from audit.log.selectors import Use, uses_of
from gatewall.api.resources import Resource


class UsedResource(Resource):
    """A resource that looks up the uses of the rows it shows, in one query a page.

    Subclasses name ``use_kind``: what ``decided_by`` or ``subject`` of the access log calls such a row.
    """

    use_kind: ClassVar[str]

    def show(self, row: Any, *, many: bool = False) -> Any:
        """Return the JSON of a row, or of many."""
        rows = row if many else [row]
        uses = uses_of(self.use_kind, [each.pk for each in rows])
        for each in rows:
            each.use = uses.get(each.pk, Use())
        return super().show(row, many=many)


class HitsOutput(serializers.Serializer[Any]):
    """How often the row decided or contributed."""

    hits = serializers.IntegerField(source="use.count", read_only=True)


class LastHitOutput(HitsOutput):
    """How often the row decided or contributed, and when last."""

    last_hit_at = serializers.DateTimeField(source="use.last_at", read_only=True, allow_null=True)


class LastUsedOutput(serializers.Serializer[Any]):
    """When the credential was used last."""

    last_used_at = serializers.DateTimeField(source="use.last_at", read_only=True, allow_null=True)


class UsesOutput(LastUsedOutput):
    """When the credential was used last, and how often."""

    uses = serializers.IntegerField(source="use.count", read_only=True)
