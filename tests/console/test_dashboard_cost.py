"""The dashboard reads only roll-ups, so its cost is that of the largest roll-ups, however many rows the log has."""

import json
import time
from datetime import timedelta

import pytest

from audit.counting.counts import DAY, HOUR, KEYS, KINDS, start_of
from audit.models import SpanCount
from gatewall.engine.model import Reason
from policies.countries import COUNTRY_NAMES
from tests.console.conftest import NOON

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("noon"), pytest.mark.full]

_KEYS = {
    "outcome": ["allow", "challenge", "deny", "error"],
    "reason": [reason.value for reason in Reason],
    "deny-reason": [reason.value for reason in Reason],
    "status": [str(status) for status in range(200, 220)],
    "latency": [str(number * 100) for number in range(90)],
    "country": list(COUNTRY_NAMES)[:100],
    "host": [f"app{number}.example.com" for number in range(50)],
    "rule": [f"{number} rule {number}" for number in range(40)],
    "would-rule": [f"{number} rule {number}" for number in range(40)],
    "would-refuse": ["waf"],
}
"""For clients and paths, each summary is full, with other keys than earlier ones."""
_BUSY_DAYS = 60
_NARROW = timedelta(days=2)
"""Hours of all kinds, ten minutes and minutes are read only at the edges of a window."""


def _row(kind, width, start):
    keys = _KEYS.get(kind) or [f"{kind}-{start:%m%d%H%M}-{number}" for number in range(KEYS[width])]
    return SpanCount(kind=kind, width=width, start=start, counts=json.dumps(dict.fromkeys(keys, 7)), error=3)


def _full_roll_ups():
    """Yield the roll-ups of 10,000,000 rows over 60 days, with more clients than a summary can have."""
    for width in KEYS:
        at = NOON - timedelta(days=_BUSY_DAYS + 1)
        at -= timedelta(seconds=at.timestamp() - start_of(at.timestamp(), width))
        while at < NOON:
            is_edge = min(abs(at - (NOON - timedelta(days=each))) for each in (0, 30, 60)) < _NARROW
            wanted = KINDS if width == DAY or (is_edge and width >= HOUR) else ["outcome", "would-refuse", "latency"]
            if width >= HOUR or is_edge:
                yield from (_row(kind, width, at) for kind in wanted)
            at += timedelta(seconds=width)


@pytest.mark.parametrize("window", ["24h", "30d"])
def test_the_overview_takes_at_most_150_ms(pages, window):
    SpanCount.objects.bulk_create(_full_roll_ups(), batch_size=500)
    times = []
    for _ in range(4):
        began = time.process_time()
        assert pages.get(f"/dashboard/?window={window}").status_code == 200
        times.append(time.process_time() - began)

    assert min(times) < 0.15, times
