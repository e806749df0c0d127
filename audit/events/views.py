"""The security events over HTTP."""

from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any

from django.http import StreamingHttpResponse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from audit.event_kinds import EventKind, EventSeverity
from audit.events import query, statistics
from audit.events.filters import EVENT_PARAMETERS, event_filters_of
from audit.events.query import EventCursor, EventCursorRefused, EventFilters
from audit.events.statistics import EventBar
from audit.figures.statistics import Window, WindowRefused
from audit.figures.statistics_views import (
    PARAMETERS,
    TOP,
    ClientCount,
    Counted,
    as_items,
    interval_in,
    usual_interval,
    window_in,
)
from audit.models import SecurityEvent
from audit.querying import export
from audit.querying.field_filters import FilterRefused
from gatewall.api.operations import operation
from gatewall.api.pagination import MAX_PAGE_SIZE, PAGE_SIZE
from gatewall.api.queries import choice_in, moment_in, refuse_unknown_parameters, refused_parameter, whole_number_in
from gatewall.api.serializers import ShapedField
from gatewall.api.views import ApiView

_FLAG, _MOMENT = {"type": "boolean", "default": False}, {"type": "string", "format": "date-time"}
_PAGING = {
    "cursor": {"type": "string", "pattern": "^[A-Za-z0-9_-]{22}$"},
    "page_size": {"type": "integer", "minimum": 1, "maximum": MAX_PAGE_SIZE, "default": PAGE_SIZE},
    "count": _FLAG,
    "format": {"type": "string", "enum": ["json", *export.FORMATS], "default": "json"},
}
_ALL = {**EVENT_PARAMETERS, "start_time": _MOMENT, "end_time": _MOMENT, **_PAGING}
_USER = {
    "type": ["object", "null"],
    "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
    "required": ["id", "name"],
}


class UserField(ShapedField):
    """Whose account an event is about, or who did it; null where it is nobody's."""

    def __init__(self) -> None:
        super().__init__(_USER, source="*", read_only=True, allow_null=True)

    def to_representation(self, value: SecurityEvent) -> dict[str, Any] | None:
        return None if value.user_id is None else {"id": value.user_id, "name": value.user_name}


class SecurityEventOutput(serializers.ModelSerializer[SecurityEvent]):
    """Something that happened, ``count`` times from ``at`` to ``last_at``."""

    kind = serializers.ChoiceField(choices=[kind.value for kind in EventKind])
    severity = serializers.ChoiceField(choices=[severity.value for severity in EventSeverity])
    at = serializers.DateTimeField(format="%Y-%m-%dT%H:%M:%S.%fZ")
    last_at = serializers.DateTimeField(format="%Y-%m-%dT%H:%M:%S.%fZ")
    user = UserField()
    detail = ShapedField({"type": "object", "additionalProperties": True})

    class Meta:
        model = SecurityEvent
        fields = (
            *("id", "kind", "severity", "at", "last_at", "count", "client_ip", "country_code", "user", "detail"),
            "decision_id",
        )


class SecurityEventPage(serializers.Serializer[Any]):
    """A page of the events, newest first.

    ``count`` is null unless ``count=true``, and where there are too many rows to count.
    """

    count = serializers.IntegerField(allow_null=True)
    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = SecurityEventOutput(many=True)


class SecurityEvents(ApiView):
    """What happened that somebody may want to be told, newest first."""

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:  # noqa: FBT001, FBT002 - DRF's
        """Choose the renderer; an export is what ``format`` says, whatever ``Accept`` does."""
        return super().perform_content_negotiation(
            request, force or request.query_params.get("format") in export.FORMATS
        )

    @operation(answer=SecurityEventPage, parameters=_ALL, exports=export.FORMATS.values(), verb="list")
    def get(self, request: Request) -> Response | StreamingHttpResponse:
        """List the security events."""
        refuse_unknown_parameters(request, _ALL)
        filters, after = _filters(request), _cursor(request)
        size = whole_number_in(request, "page_size", 1, MAX_PAGE_SIZE) or PAGE_SIZE
        kind = choice_in(request, "format", ("json", *export.FORMATS))
        wants_count = choice_in(request, "count", ("false", "true")) == "true"
        if kind != "json":
            return _download(request, filters, after, kind)
        page = query.page_of(filters, after, size)
        return Response(
            {
                "count": query.number_of(filters) if wants_count else None,
                "next": _url_of(request, page.next) if page.next else None,
                "previous": None,
                "results": list(shown(page.rows)),
            }
        )


class _KindCount(Counted):
    kind = serializers.CharField()


class _SeverityCount(Counted):
    severity = serializers.CharField()


class EventBarOutput(Counted):
    """The events of one interval, from ``at`` on."""

    at = serializers.DateTimeField()


class SecurityEventStatsOutput(serializers.Serializer[Any]):
    """Figures of the window, which is in whole minutes; a row that was counted up is as many events as it says."""

    start_time = serializers.DateTimeField()
    end_time = serializers.DateTimeField()
    interval = serializers.IntegerField()
    total = serializers.IntegerField()
    by_kind = _KindCount(many=True)
    by_severity = _SeverityCount(many=True)
    top_clients = ClientCount(many=True)
    timeline = EventBarOutput(many=True)


class SecurityEventStats(ApiView):
    """The security events, counted."""

    @operation(answer=SecurityEventStatsOutput, parameters=PARAMETERS)
    def get(self, request: Request) -> Response:
        """Count the security events of a window, the last 24 hours unless said otherwise."""
        refuse_unknown_parameters(request, PARAMETERS)
        try:
            window = window_in(request)
            interval = interval_in(request) or usual_interval(window)
            bars = statistics.event_timeline(window, interval)
        except WindowRefused as refused:
            raise refused_parameter(refused.field, str(refused)) from None
        return Response(_figures(window, interval, bars))


def _figures(window: Window, interval: timedelta, bars: Iterable[EventBar]) -> dict[str, Any]:
    kinds = statistics.counts_by(window, "kind")
    return {
        "start_time": window.start,
        "end_time": window.end,
        "interval": int(interval.total_seconds()),
        "total": sum(number for _, number in kinds),
        "by_kind": as_items("kind", kinds),
        "by_severity": as_items("severity", statistics.counts_by(window, "severity")),
        "top_clients": as_items("client_ip", statistics.counts_by(window, "client_ip", TOP)),
        "timeline": [{"at": bar.at, "count": bar.count} for bar in bars],
    }


def shown(rows: Iterable[SecurityEvent]) -> Iterator[dict[str, Any]]:
    """Yield the events as the API shows them, one at a time."""
    one = SecurityEventOutput()
    for row in rows:
        yield one.to_representation(row)


def _filters(request: Request) -> EventFilters:
    named = [(name, value) for name, value in request.query_params.items() if name in EVENT_PARAMETERS]
    try:
        return event_filters_of(named, start=moment_in(request, "start_time"), end=moment_in(request, "end_time"))
    except FilterRefused as refused:
        raise refused_parameter(refused.field, str(refused)) from None


def _cursor(request: Request) -> EventCursor | None:
    try:
        return EventCursor.parse(request.query_params["cursor"]) if "cursor" in request.query_params else None
    except EventCursorRefused as refused:
        raise refused_parameter("cursor", str(refused)) from None


def _url_of(request: Request, cursor: EventCursor) -> str:
    parameters = request.query_params.copy()
    parameters["cursor"] = str(cursor)
    return request.build_absolute_uri(f"?{parameters.urlencode()}")


def _download(request: Request, filters: EventFilters, after: EventCursor | None, kind: str) -> StreamingHttpResponse:
    rows = shown(query.everything(filters, after))
    parts = () if request.method == "HEAD" else export.lines(rows, kind, SecurityEventOutput.Meta.fields)
    response = StreamingHttpResponse(parts, content_type=export.FORMATS[kind])
    response["Content-Disposition"] = f'attachment; filename="security-events.{kind}"'
    return response
