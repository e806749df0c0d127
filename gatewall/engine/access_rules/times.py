"""Time windows of access rules: weekdays and hours in a time zone. No clock here."""

from collections.abc import Callable
from datetime import datetime
from zoneinfo import ZoneInfo

from gatewall.engine.access_rules.rules import AccessRule

_MINUTES_A_DAY = 24 * 60


def is_restricted(rule: AccessRule) -> bool:
    """True if the rule holds at some times only."""
    return bool(rule.weekdays) or rule.start_minute is not None or rule.end_minute is not None


def compiled(rule: AccessRule) -> Callable[[float], bool]:
    """Return the predicate of a rule: True for a time (seconds since the epoch) in its window.

    Local time counts: an hour that daylight saving time repeats is in the window twice, a skipped hour never.
    Raises ValueError for an unknown time zone.
    """
    zone = _zone(rule.time_zone)
    days = rule.weekdays or frozenset(range(1, 8))
    start = rule.start_minute or 0
    end = _MINUTES_A_DAY if rule.end_minute is None else rule.end_minute

    def contains(at: float) -> bool:
        moment = datetime.fromtimestamp(at, zone)
        minute, today = moment.hour * 60 + moment.minute, moment.isoweekday()
        if start < end:
            return start <= minute < end and today in days
        yesterday = (today - 2) % 7 + 1  # the window goes over midnight, and its day is the one on which it starts
        return (minute >= start and today in days) or (minute < end and yesterday in days)

    return contains


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:  # unknown, not a name, or a folder of names
        raise ValueError(f"time zone {name[:64]!r} is unknown") from error
