"""Read-only API of the access log and the security events: lists, exports, statistics."""

import uuid
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from django.http import StreamingHttpResponse
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from audit.counting.counts import DAY, HOUR, MINUTE
from audit.counting.summaries import Summary
from audit.events import selectors as events
from audit.events import statistics as event_statistics
from audit.events.filters import EVENT_PARAMETERS
from audit.events.filters import filters_of as event_filters_of
from audit.figures import statistics
from audit.figures.statistics import Window
from audit.log import query
from audit.log.filters import PARAMETERS, filters_of
from audit.querying import export
from audit.querying.field_filters import FilterRefused
from audit.querying.log_views import MOMENT, Log, LogViewSet
from audit.serializers import (
    AccessLogOutput,
    AccessLogPage,
    AccessLogStatsOutput,
    SecurityEventOutput,
    SecurityEventPage,
    SecurityEventStatsOutput,
    as_items,
    outcomes_of,
    timeline_of,
)
from gatewall.api.operations import operation
from gatewall.api.queries import moment_in, refuse_unknown_parameters, refused_parameter, whole_number_in

TOP = 10
ACCESS_LOG = Log("access-log", uuid.UUID, PARAMETERS, filters_of, query.page_of, query.number_of, AccessLogOutput)
SECURITY_EVENTS = Log(
    "security-events", int, EVENT_PARAMETERS, event_filters_of, events.page_of, events.number_of, SecurityEventOutput
)
_WOULD_REFUSE = ("would-refuse", "would-rule", "would-host", "would-client")
_KINDS = ("outcome", "reason", "status", "country", "client", "host", "path", "rule", *_WOULD_REFUSE)
_TOPS = {
    "top_clients": "client",
    "top_hosts": "host",
    "top_paths": "path",
    "would_refuse.top_hosts": "would-host",
    "would_refuse.top_clients": "would-client",
}
_USUAL_WINDOW = timedelta(hours=24)
_MAX_INTERVAL = 366 * DAY
_WINDOW_PARAMETERS = {
    "start_time": MOMENT,
    "end_time": MOMENT,
    "interval": {"type": "integer", "minimum": MINUTE, "maximum": _MAX_INTERVAL, "multipleOf": MINUTE},
}


class AccessLogs(LogViewSet):
    """Answers of the gate, newest first."""

    log = ACCESS_LOG

    @operation(answer=AccessLogPage, parameters=ACCESS_LOG.parameters, exports=export.FORMATS.values(), verb="list")
    def list(self, request: Request) -> Response | StreamingHttpResponse:
        """List the access log."""
        return self.page(request)

    @operation(answer=AccessLogStatsOutput, parameters=_WINDOW_PARAMETERS)
    def stats(self, request: Request) -> Response:
        """Return statistics of the answers in a window, by default the last 24 hours."""
        return _figures(request, _answers)


class SecurityEvents(LogViewSet):
    """Security events, newest first."""

    log = SECURITY_EVENTS

    @operation(
        answer=SecurityEventPage, parameters=SECURITY_EVENTS.parameters, exports=export.FORMATS.values(), verb="list"
    )
    def list(self, request: Request) -> Response | StreamingHttpResponse:
        """List the security events."""
        return self.page(request)

    @operation(answer=SecurityEventStatsOutput, parameters=_WINDOW_PARAMETERS)
    def stats(self, request: Request) -> Response:
        """Return statistics of the security events in a window, by default the last 24 hours."""
        return _figures(request, _events)


def _figures(request: Request, count: Callable[[Window, timedelta], Mapping[str, Any]]) -> Response:
    """Return the statistics that ``count`` computes for the requested window and interval. Raises ValidationError."""
    refuse_unknown_parameters(request, _WINDOW_PARAMETERS)
    try:
        window = _window_in(request)
        interval = _interval_in(request, window)
        found = count(window, interval)
    except FilterRefused as refused:
        raise refused_parameter(refused.field, refused.message) from None
    shown = {"start_time": window.start, "end_time": window.end, "interval": int(interval.total_seconds())}
    return Response({**shown, **found})


def _window_in(request: Request) -> Window:
    end = moment_in(request, "end_time")
    if (start := moment_in(request, "start_time")) is not None:
        return Window.of(start, end or timezone.now())
    window = Window.of((end or timezone.now()) - _USUAL_WINDOW, end or timezone.now())
    return Window.until(window.end, _USUAL_WINDOW)


def _interval_in(request: Request, window: Window) -> timedelta:
    """Return the requested interval, or a supported one for a window of this length."""
    seconds = whole_number_in(
        request, "interval", MINUTE, _MAX_INTERVAL, message="a whole number of seconds from %(low)s to %(high)s"
    )
    if seconds is None:
        length = window.end - window.start
        seconds = MINUTE if length <= timedelta(hours=3) else HOUR if length <= timedelta(days=62) else DAY
    return timedelta(seconds=seconds)


def _answers(window: Window, interval: timedelta) -> dict[str, Any]:
    bars = statistics.timeline(window, interval)
    by_kind = statistics.summaries(window, _KINDS)
    return {
        **outcomes_of(by_kind["outcome"]),
        "by_reason": as_items("reason", by_kind["reason"].top()),
        "by_status": as_items("status", ((int(key), number) for key, number in by_kind["status"].top())),
        "top_clients": as_items("client_ip", by_kind["client"].top(TOP)),
        "top_hosts": as_items("host", by_kind["host"].top(TOP)),
        "top_paths": as_items("path", by_kind["path"].top(TOP)),
        "top_rules": statistics.rules_of(by_kind["rule"])[:TOP],
        "would_refuse": _would_refuse(by_kind),
        "by_country": as_items("country_code", ((key or None, n) for key, n in by_kind["country"].top())),
        "timeline": timeline_of(bars),
        "approximate": {name: by_kind[kind].error for name, kind in _TOPS.items() if by_kind[kind].error},
    }


def _would_refuse(by_kind: Mapping[str, Summary]) -> dict[str, Any]:
    """Return how many requests the WAF would have refused outside monitor mode, and the most frequent keys."""
    return {
        "total": by_kind["would-refuse"].total,
        "top_rules": statistics.rules_of(by_kind["would-rule"])[:TOP],
        "top_hosts": as_items("host", by_kind["would-host"].top(TOP)),
        "top_clients": as_items("client_ip", by_kind["would-client"].top(TOP)),
    }


def _events(window: Window, interval: timedelta) -> dict[str, Any]:
    bars = event_statistics.event_timeline(window, interval)
    kinds = event_statistics.counts_by(window, "kind")
    return {
        "total": sum(number for _, number in kinds),
        "by_kind": as_items("kind", kinds),
        "by_severity": as_items("severity", event_statistics.counts_by(window, "severity")),
        "top_clients": as_items("client_ip", event_statistics.counts_by(window, "client_ip", TOP)),
        "timeline": [{"at": bar.at, "count": bar.count} for bar in bars],
    }
