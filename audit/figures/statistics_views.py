"""The statistics of the access log over HTTP."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from audit.counting.counts import DAY, HOUR, MINUTE, rule_of
from audit.counting.summaries import Summary
from audit.figures import statistics
from audit.figures.statistics import Bar, Window, WindowRefused
from gatewall.api.operations import operation
from gatewall.api.queries import moment_in, refuse_unknown_parameters, refused_parameter, whole_number_in
from gatewall.api.views import ApiView

USUAL_WINDOW = timedelta(hours=24)
TOP = 10
_MAX_INTERVAL = 366 * DAY
_MOMENT = {"type": "string", "format": "date-time"}
PARAMETERS = {
    "start_time": _MOMENT,
    "end_time": _MOMENT,
    "interval": {"type": "integer", "minimum": MINUTE, "maximum": _MAX_INTERVAL, "multipleOf": MINUTE},
}
_KINDS = ("outcome", "reason", "status", "country", "client", "host", "path", "rule")
_TOPS = {"top_clients": "client", "top_hosts": "host", "top_paths": "path"}


class OutcomesOutput(serializers.Serializer[Any]):
    """How many answers there were, and how many of them said what."""

    total = serializers.IntegerField()
    allowed = serializers.IntegerField()
    challenged = serializers.IntegerField()
    denied = serializers.IntegerField()


class BarOutput(OutcomesOutput):
    """The answers of one interval, from ``at`` on."""

    at = serializers.DateTimeField()
    errors = serializers.IntegerField()


class Counted(serializers.Serializer[Any]):
    """How many there were."""

    count = serializers.IntegerField()


class ReasonCount(Counted):
    """How many answers had a reason."""

    reason = serializers.CharField()


class ClientCount(Counted):
    """How many answers a client got."""

    client_ip = serializers.CharField()


class _StatusCount(Counted):
    status = serializers.IntegerField()


class _HostCount(Counted):
    host = serializers.CharField()


class _PathCount(Counted):
    path = serializers.CharField()


class _RuleCount(Counted):
    id = serializers.IntegerField()
    name = serializers.CharField(help_text="as it was called when it matched")


class _CountryCount(Counted):
    country_code = serializers.CharField(allow_null=True)


class AccessLogStatsOutput(OutcomesOutput):
    """Figures of the window, which is in whole minutes.

    ``approximate`` names the lists that are not exact: no count is too high, and none is too low by
    more than this number, that of one that is missing included.
    """

    start_time = serializers.DateTimeField()
    end_time = serializers.DateTimeField()
    interval = serializers.IntegerField()
    errors = serializers.IntegerField()
    by_reason = ReasonCount(many=True)
    by_status = _StatusCount(many=True)
    top_clients = ClientCount(many=True)
    top_hosts = _HostCount(many=True)
    top_paths = _PathCount(many=True)
    top_rules = _RuleCount(many=True)
    by_country = _CountryCount(many=True)
    timeline = BarOutput(many=True)
    approximate = serializers.DictField(child=serializers.IntegerField())


class AccessLogStats(ApiView):
    """What the gate answered, counted."""

    @operation(answer=AccessLogStatsOutput, parameters=PARAMETERS)
    def get(self, request: Request) -> Response:
        """Count the answers of a window, the last 24 hours unless said otherwise."""
        refuse_unknown_parameters(request, PARAMETERS)
        try:
            window = window_in(request)
            interval = interval_in(request) or usual_interval(window)
            bars = statistics.timeline(window, interval)
        except WindowRefused as refused:
            raise refused_parameter(refused.field, str(refused)) from None
        found = statistics.summaries(window, _KINDS)
        return Response(
            {
                "start_time": window.start,
                "end_time": window.end,
                "interval": int(interval.total_seconds()),
                **outcomes_of(found["outcome"]),
                "by_reason": as_items("reason", found["reason"].top()),
                "by_status": as_items("status", ((int(key), number) for key, number in found["status"].top())),
                "top_clients": as_items("client_ip", found["client"].top(TOP)),
                "top_hosts": as_items("host", found["host"].top(TOP)),
                "top_paths": as_items("path", found["path"].top(TOP)),
                "top_rules": rules_of(found["rule"])[:TOP],
                "by_country": as_items("country_code", ((key or None, n) for key, n in found["country"].top())),
                "timeline": timeline_of(bars),
                "approximate": {name: found[kind].error for name, kind in _TOPS.items() if found[kind].error},
            }
        )


def outcomes_of(counted: Summary) -> dict[str, int]:
    """Return the outcomes as the API names them."""
    names = {"allowed": "allow", "challenged": "challenge", "denied": "deny", "errors": "error"}
    return {"total": counted.total, **{name: counted.counts[key] for name, key in names.items()}}


def timeline_of(bars: Iterable[Bar]) -> list[dict[str, object]]:
    """Return the bars as the API shows them."""
    return [{"at": bar.at, **outcomes_of(bar.outcomes)} for bar in bars]


def as_items(name: str, counted: Iterable[tuple[object, int]]) -> list[dict[str, object]]:
    """Return counts as the API shows them: ``{<name>, count}``."""
    return [{name: key, "count": number} for key, number in counted]


def rules_of(counted: Summary) -> list[dict[str, object]]:
    """Return the rules, each once however often it was renamed, under its most frequent name."""
    rules: dict[int, dict[str, Any]] = {}
    for key, number in counted.top():
        rule_id, name = rule_of(key)
        rules.setdefault(rule_id, {"id": rule_id, "name": name, "count": 0})["count"] += number
    return sorted(rules.values(), key=lambda item: (-item["count"], item["id"]))


def window_in(request: Request) -> Window:
    """Return the window asked for. Raises WindowRefused, ValidationError."""
    end = moment_in(request, "end_time")
    if (start := moment_in(request, "start_time")) is not None:
        return Window.of(start, end or timezone.now())
    window = Window.of((end or timezone.now()) - USUAL_WINDOW, end or timezone.now())
    return Window.until(window.end, USUAL_WINDOW)


def interval_in(request: Request) -> timedelta | None:
    """Return the interval asked for, if one was. Raises ValidationError."""
    seconds = whole_number_in(request, "interval", MINUTE, _MAX_INTERVAL, words="a whole number of seconds")
    return None if seconds is None else timedelta(seconds=seconds)


def usual_interval(window: Window) -> timedelta:
    """Return an interval that a window of any length can be shown in."""
    length = window.end - window.start
    if length <= timedelta(hours=3):
        return timedelta(seconds=MINUTE)
    return timedelta(seconds=HOUR if length <= timedelta(days=62) else DAY)
