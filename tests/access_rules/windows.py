"""Time windows of rules: weekdays, begin and end on the wall clock of a zone."""

from datetime import date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from tests.access_rules.shapes import Rule

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def is_in_window(rule: Rule, at: str) -> bool:
    """True if the wall clock of the rule's zone shows a time in a window that began on one of the rule's weekdays."""
    if not (rule["weekdays"] or rule["from"] or rule["until"]):
        return True
    wall_clock = _wall_clock(at, rule["time_zone"] or "UTC")
    today = wall_clock.date()
    for first_day in (today, today - timedelta(days=1)):
        begin, end = _window(first_day, rule["from"] or "00:00", rule["until"] or "00:00")
        is_a_day_of_the_rule = not rule["weekdays"] or WEEKDAYS[first_day.weekday()] in rule["weekdays"]
        if is_a_day_of_the_rule and begin <= wall_clock < end:
            return True
    return False


@lru_cache(maxsize=10_000)
def _window(first_day: date, begin: str, end: str) -> tuple[datetime, datetime]:
    """Begin and end of the window that begins on ``first_day``: an end that is not later is on the next day."""
    begins, ends = (datetime.fromisoformat(f"{first_day}T{clock}") for clock in (begin, end))
    return begins, ends if ends > begins else ends + timedelta(days=1)


@lru_cache(maxsize=10_000)
def _wall_clock(at: str, zone: str) -> datetime:
    return datetime.fromisoformat(at).astimezone(ZoneInfo(zone)).replace(tzinfo=None)
