"""Read-only API of the access log and the security events: lists, exports, statistics."""

import uuid
from datetime import timedelta
from typing import Any

from django.http import StreamingHttpResponse
from rest_framework.request import Request
from rest_framework.response import Response

from audit.events import query as event_query
from audit.events import statistics as event_statistics
from audit.events.filters import EVENT_PARAMETERS
from audit.events.filters import filters_of as event_filters_of
from audit.figures import statistics, window_views
from audit.figures.statistics import Window
from audit.log import query
from audit.log.filters import PARAMETERS, filters_of
from audit.querying import export
from audit.querying.log_views import Log, LogViewSet
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

TOP = 10
ACCESS_LOG = Log("access-log", uuid.UUID, PARAMETERS, filters_of, query.page_of, query.number_of, AccessLogOutput)
SECURITY_EVENTS = Log(
    "security-events",
    int,
    EVENT_PARAMETERS,
    event_filters_of,
    event_query.page_of,
    event_query.number_of,
    SecurityEventOutput,
)
_KINDS = ("outcome", "reason", "status", "country", "client", "host", "path", "rule")
_TOPS = {"top_clients": "client", "top_hosts": "host", "top_paths": "path"}


class AccessLogs(LogViewSet):
    """Answers of the gate, newest first."""

    log = ACCESS_LOG

    @operation(answer=AccessLogPage, parameters=ACCESS_LOG.parameters, exports=export.FORMATS.values(), verb="list")
    def list(self, request: Request) -> Response | StreamingHttpResponse:
        """List the access log."""
        return self.page(request)

    @operation(answer=AccessLogStatsOutput, parameters=window_views.PARAMETERS)
    def stats(self, request: Request) -> Response:
        """Return statistics of the answers in a window, by default the last 24 hours."""
        return window_views.figures(request, _answers)


class SecurityEvents(LogViewSet):
    """Security events, newest first."""

    log = SECURITY_EVENTS

    @operation(
        answer=SecurityEventPage, parameters=SECURITY_EVENTS.parameters, exports=export.FORMATS.values(), verb="list"
    )
    def list(self, request: Request) -> Response | StreamingHttpResponse:
        """List the security events."""
        return self.page(request)

    @operation(answer=SecurityEventStatsOutput, parameters=window_views.PARAMETERS)
    def stats(self, request: Request) -> Response:
        """Return statistics of the security events in a window, by default the last 24 hours."""
        return window_views.figures(request, _events)


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
        "by_country": as_items("country_code", ((key or None, n) for key, n in by_kind["country"].top())),
        "timeline": timeline_of(bars),
        "approximate": {name: by_kind[kind].error for name, kind in _TOPS.items() if by_kind[kind].error},
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
