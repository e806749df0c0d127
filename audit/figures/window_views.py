"""API: statistics of a time window, for both logs."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from audit.counting.counts import DAY, HOUR, MINUTE
from audit.figures.statistics import Window, WindowRefused
from audit.querying.log_views import MOMENT
from gatewall.api.queries import moment_in, refuse_unknown_parameters, refused_parameter, whole_number_in

_USUAL_WINDOW = timedelta(hours=24)
_MAX_INTERVAL = 366 * DAY
PARAMETERS = {
    "start_time": MOMENT,
    "end_time": MOMENT,
    "interval": {"type": "integer", "minimum": MINUTE, "maximum": _MAX_INTERVAL, "multipleOf": MINUTE},
}


def figures(request: Request, count: Callable[[Window, timedelta], Mapping[str, Any]]) -> Response:
    """Return the statistics by ``count`` for the requested window and interval. Raises ValidationError."""
    refuse_unknown_parameters(request, PARAMETERS)
    try:
        window = _window_in(request)
        interval = _interval_in(request) or _usual_interval(window)
        found = count(window, interval)
    except WindowRefused as refused:
        raise refused_parameter(refused.field, str(refused)) from None
    shown = {"start_time": window.start, "end_time": window.end, "interval": int(interval.total_seconds())}
    return Response({**shown, **found})


def _window_in(request: Request) -> Window:
    end = moment_in(request, "end_time")
    if (start := moment_in(request, "start_time")) is not None:
        return Window.of(start, end or timezone.now())
    window = Window.of((end or timezone.now()) - _USUAL_WINDOW, end or timezone.now())
    return Window.until(window.end, _USUAL_WINDOW)


def _interval_in(request: Request) -> timedelta | None:
    seconds = whole_number_in(
        request, "interval", MINUTE, _MAX_INTERVAL, message="a whole number of seconds from %(low)s to %(high)s"
    )
    return None if seconds is None else timedelta(seconds=seconds)


def _usual_interval(window: Window) -> timedelta:
    """Return a supported default interval for a window of any length."""
    length = window.end - window.start
    if length <= timedelta(hours=3):
        return timedelta(seconds=MINUTE)
    return timedelta(seconds=HOUR if length <= timedelta(days=62) else DAY)
