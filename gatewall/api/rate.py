"""Rate limit of the API: calls per minute and subject, shared by the workers of a host.

Not for ``/auth*`` and ``/health*``, which a proxy calls for every request.
"""

import time
from functools import lru_cache
from pathlib import Path

from django.conf import settings
from django.http import HttpRequest
from rest_framework.exceptions import Throttled
from rest_framework.request import Request

from gatewall.kernel.clientip import client_of_environ
from gatewall.kernel.request_rate import RequestRateTable, network_of
from gatewall.policy import system_settings

SETTING_SECONDS = 1.0
"""How long the limit is cached, to save a query per call."""
_remembered: tuple[float, int] = (0.0, 0)


def count_call(request: Request | HttpRequest, user_id: int | None, *, reach: str = "") -> None:
    """Count a call of a user or, without one, of the client's network. Raises Throttled over the limit.

    Each ``reach`` has its own count: API tokens, and guard-page tokens, because sites behind the gate may see the
    latter, and their use must not exhaust the holder's API calls.
    """
    if user_id is None:
        subject = b"network " + network_of(client_of_environ(request.META, settings.GATEWALL_TRUSTED_PROXIES))
    else:
        subject = b"user %d %s" % (user_id, reach.encode())
    if wait := _table(settings.GATEWALL_HOME).count(subject, _limit(), time.time()):
        raise Throttled(wait=wait, detail="too many calls within a minute.")


def _limit() -> int:
    global _remembered  # noqa: PLW0603 - a cache of one value
    until, limit = _remembered
    now = time.monotonic()
    if now >= until:
        limit = system_settings.current().api_requests_per_minute
        _remembered = (now + SETTING_SECONDS, limit)
    return limit


@lru_cache(maxsize=1)
def _table(home: Path) -> RequestRateTable:
    run = home / "run"
    run.mkdir(mode=0o700, parents=True, exist_ok=True)
    return RequestRateTable(run / "api-rate")
