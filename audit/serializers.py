"""Serializers of the access log, the security events and their statistics."""

from collections.abc import Iterable, Mapping
from typing import Any

from rest_framework import serializers

from audit.counting.summaries import Summary
from audit.event_kinds import EventKind, EventSeverity
from audit.figures.statistics import Bar
from audit.models import AccessLog, SecurityEvent
from audit.spool.records import DECIDED_BY, FIELDS, GRANT_OF, SUBJECT, grant_of
from gatewall.api.serializers import ShapedField
from gatewall.engine.model import Effect
from gatewall.engine.waf.rules import Target

_TEXT, _TEXTS = {"type": "string"}, {"type": "array", "items": {"type": "string"}}
_CREDENTIAL_PARTS = {
    "kind": _TEXT,
    "amr": _TEXTS,
    "state": {"type": "string", "enum": ["valid", "not-valid", "not-checked"]},
}
_CREDENTIAL = {"type": ["object", "null"], "properties": _CREDENTIAL_PARTS, "required": [*_CREDENTIAL_PARTS]}
_RULE = {"id": {"type": "integer"}, "name": _TEXT, "action": {"type": "string", "enum": ["block", "monitor"]}}
_PLACE = {"target": {"type": "string", "enum": [*Target]}, "name": {"type": ["string", "null"]}}
_SHADOW_PARTS = {
    "effect": {"type": "string", "enum": [effect.value for effect in Effect]},
    "reason": _TEXT,
    "decided_by": {
        "type": ["object", "null"],
        "properties": {"kind": _TEXT, "id": {"type": "integer"}},
        "required": ["kind", "id"],
    },
}
_SHADOW = {"type": ["object", "null"], "properties": _SHADOW_PARTS, "required": [*_SHADOW_PARTS]}
RULES = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {**_RULE, "place": {"type": "object", "properties": _PLACE, "required": [*_PLACE]}},
        "required": [*_RULE],
    },
}


class RowField(ShapedField):
    """A reference to a row, from the columns ``<field>_id``, ...; null if the first column is null."""

    def __init__(self, parts: Mapping[str, int]) -> None:
        """``parts``: the maximum length of each part, 0 for an integer."""
        properties = {part: _TEXT if length else {"type": "integer"} for part, length in parts.items()}
        shape = {"type": ["object", "null"], "properties": properties, "required": [*properties]}
        super().__init__(shape, source="*", read_only=True, allow_null=True)

    def to_representation(self, value: Any) -> Any:
        parts = {part: getattr(value, f"{self.field_name}_{part}") for part in self.shape["properties"]}
        return None if next(iter(parts.values())) is None else parts


GRANT = {
    "type": ["object", "null"],
    "properties": {"kind": {"enum": [kind for kind, _ in GRANT_OF.values()], **_TEXT}, "id": {"type": "integer"}},
    "required": ["kind", "id"],
}


class GrantField(ShapedField):
    """The grant, share link or device pass that let the request in, or null."""

    def __init__(self) -> None:
        super().__init__(GRANT, source="*", read_only=True, allow_null=True)

    def to_representation(self, value: Any) -> Any:
        return grant_of(value.reason, {"id": value.decided_by_id}, {"id": value.subject_id})


class AccessLogOutput(serializers.ModelSerializer[AccessLog]):
    """One answer of the gate."""

    at = serializers.DateTimeField(format="%Y-%m-%dT%H:%M:%S.%fZ")
    decided_by = RowField(DECIDED_BY.parts)
    subject = RowField(SUBJECT.parts)
    rules = ShapedField(RULES)
    credential = ShapedField(_CREDENTIAL, allow_null=True)
    visible = ShapedField(_TEXTS)
    shadow = ShapedField(_SHADOW, allow_null=True)
    would_refuse = serializers.SerializerMethodField()
    grant = GrantField()

    class Meta:
        model = AccessLog
        fields = (*(field.name for field in FIELDS), "grant")

    def get_would_refuse(self, row: AccessLog) -> bool:
        return row.would_refuse is True


class LogPage(serializers.Serializer[Any]):
    """A page of a log, newest first.

    ``count`` is null without ``count=true``, and if there are too many rows to count.
    """

    count = serializers.IntegerField(allow_null=True)
    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)


class AccessLogPage(LogPage):
    """A page of the access log."""

    results = AccessLogOutput(many=True)


class SecurityEventOutput(serializers.ModelSerializer[SecurityEvent]):
    """A security event that happened ``count`` times from ``at`` to ``last_at``."""

    kind = serializers.ChoiceField(choices=[kind.value for kind in EventKind])
    severity = serializers.ChoiceField(choices=[severity.value for severity in EventSeverity])
    at = serializers.DateTimeField(format="%Y-%m-%dT%H:%M:%S.%fZ")
    last_at = serializers.DateTimeField(format="%Y-%m-%dT%H:%M:%S.%fZ")
    user = RowField({"id": 0, "name": 100})
    detail = ShapedField({"type": "object", "additionalProperties": True})

    class Meta:
        model = SecurityEvent
        fields = (
            *("id", "kind", "severity", "at", "last_at", "count", "client_ip", "country_code", "user", "detail"),
            "decision_id",
        )


class SecurityEventPage(LogPage):
    """A page of the security events."""

    results = SecurityEventOutput(many=True)


class OutcomesOutput(serializers.Serializer[Any]):
    """The number of answers in total and by outcome."""

    total = serializers.IntegerField()
    allowed = serializers.IntegerField()
    challenged = serializers.IntegerField()
    denied = serializers.IntegerField()


class BarOutput(OutcomesOutput):
    """The answers of one interval, starting at ``at``."""

    at = serializers.DateTimeField()
    errors = serializers.IntegerField()  # type: ignore[assignment]  # DRF removes declared fields from the class
    would_refuse = serializers.IntegerField()


class Counted(serializers.Serializer[Any]):
    """The number of occurrences."""

    count = serializers.IntegerField()


class ReasonCount(Counted):
    """The number of answers with a reason."""

    reason = serializers.CharField()


class ClientCount(Counted):
    """The number of answers to a client."""

    client_ip = serializers.CharField()


def _counts(name: str, /, **fields: serializers.Field[Any, Any, Any, Any]) -> Any:
    """Return a list of counts; ``name``: of its items in the OpenAPI document; ``fields``: their keys."""
    return type(name, (Counted,), {**fields})(many=True)


class RuleCount(Counted):
    """The number of answers that a WAF rule contributed to; ``name`` is its name at the time of the match."""

    id = serializers.IntegerField()
    name = serializers.CharField()


class WouldRefuseOutput(serializers.Serializer[Any]):
    """Requests that the WAF would have refused outside monitor mode: total, and most frequent rules, hosts, clients."""

    total = serializers.IntegerField()
    top_rules = RuleCount(many=True)
    top_hosts = _counts("_WouldRefuseHost", host=serializers.CharField())
    top_clients = ClientCount(many=True)


class AccessLogStatsOutput(OutcomesOutput):
    """Statistics of a window of whole minutes.

    ``approximate`` has the inexact lists, each with a number: counts are never too high, and too low by at most this
    number; the count of a missing key is at most this number.
    """

    start_time = serializers.DateTimeField()
    end_time = serializers.DateTimeField()
    interval = serializers.IntegerField()
    errors = serializers.IntegerField()  # type: ignore[assignment]  # as above
    by_reason = ReasonCount(many=True)
    by_status = _counts("_StatusCount", status=serializers.IntegerField())
    top_clients = ClientCount(many=True)
    top_hosts = _counts("_HostCount", host=serializers.CharField())
    top_paths = _counts("_PathCount", path=serializers.CharField())
    top_rules = RuleCount(many=True)
    would_refuse = WouldRefuseOutput()
    by_country = _counts("_CountryCount", country_code=serializers.CharField(allow_null=True))
    timeline = BarOutput(many=True)
    approximate = serializers.DictField(child=serializers.IntegerField())


class EventBarOutput(Counted):
    """The events of one interval, starting at ``at``."""

    at = serializers.DateTimeField()


class SecurityEventStatsOutput(serializers.Serializer[Any]):
    """Statistics of a window of whole minutes; a row counts as its number of events."""

    start_time = serializers.DateTimeField()
    end_time = serializers.DateTimeField()
    interval = serializers.IntegerField()
    total = serializers.IntegerField()
    by_kind = _counts("_KindCount", kind=serializers.CharField())
    by_severity = _counts("_SeverityCount", severity=serializers.CharField())
    top_clients = ClientCount(many=True)
    timeline = EventBarOutput(many=True)


def outcomes_of(counted: Summary) -> dict[str, int]:
    """Return the outcomes under the names of the API."""
    names = {"allowed": "allow", "challenged": "challenge", "denied": "deny", "errors": "error"}
    return {"total": counted.total, **{name: counted.counts[key] for name, key in names.items()}}


def timeline_of(bars: Iterable[Bar]) -> list[dict[str, object]]:
    """Return the bars as JSON-compatible values."""
    return [{"at": bar.at, **outcomes_of(bar.outcomes), "would_refuse": bar.would_refuse.total} for bar in bars]


def as_items(name: str, counted: Iterable[tuple[object, int]]) -> list[dict[str, object]]:
    """Return counts as ``{<name>, count}`` objects."""
    return [{name: key, "count": number} for key, number in counted]
