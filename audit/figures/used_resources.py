"""Resources with usage counts of their rows, from the roll-ups of the access log."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar

from django.db.models import OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce
from rest_framework import serializers

from audit.models import UseCount
from gatewall.api.resources import Resource

_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Use:
    """The number of uses of a policy row or credential, and time and program of the last use."""

    count: int = 0
    last_at: datetime | None = None
    last_by: str = ""


def uses_of(kind: str, row_ids: Collection[int]) -> dict[int, Use]:
    """Return the uses of these rows by id, in one query; unused rows are missing."""
    rows = UseCount.objects.filter(kind=kind, row_id__in=row_ids).values_list("row_id", "count", "last_at", "last_by")
    return {row_id: Use(count, last_at, last_by) for row_id, count, last_at, last_by in rows}


def hits_of(kind: str) -> Coalesce:
    """Return the SQL expression of a row's hits, to order lists of rows of this kind."""
    return Coalesce(Subquery(_use_of(kind).values("count")), Value(0))


def last_hit_of(kind: str) -> Coalesce:
    """Return the SQL expression of a row's last hit, to order lists: a row without hits sorts as the oldest."""
    return Coalesce(Subquery(_use_of(kind).values("last_at")), Value(_NEVER))


def _use_of(kind: str) -> QuerySet[UseCount]:
    return UseCount.objects.filter(kind=kind, row_id=OuterRef("pk"))


def note_uses(kind: str, rows: Collection[Any]) -> None:
    """Set the attribute ``use`` of rows of a kind, in one query."""
    uses = uses_of(kind, [each.pk for each in rows])
    for each in rows:
        each.use = uses.get(each.pk, Use())


class UsedResource(Resource):
    """API resource that looks up the uses of its rows, in one query per page.

    ``use_kind``: kind of the row in ``decided_by`` or ``subject`` of the access log.
    """

    use_kind: ClassVar[str]
    volatile: tuple[str, ...] = ("hits", "last_hit_at")

    def show(self, row: Any, *, many: bool = False) -> Any:
        rows = row if many else [row]
        note_uses(self.use_kind, rows)
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


class ProgramOutput(LastUsedOutput):
    """When the credential was last used, and by which program."""

    last_used_by = serializers.CharField(source="use.last_by", read_only=True)


class UsesOutput(LastUsedOutput):
    """When and how often the credential was used."""

    uses = serializers.IntegerField(source="use.count", read_only=True)
