"""Time windows of access rules: weekdays, hours, time zones, daylight saving time, windows over midnight."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from gatewall.engine.access_rules import times
from tests.unit.rule_facts import an_access_rule

BERLIN = "Europe/Berlin"


def holds(moment, zone=BERLIN, fold=0, **window):
    at = datetime.fromisoformat(moment).replace(tzinfo=ZoneInfo(zone), fold=fold).timestamp()
    return times.compiled(an_access_rule(time_zone=zone, **window))(at)


def minute(text):
    hours, _, minutes = text.partition(":")
    return 60 * int(hours) + int(minutes)


def hours(start=None, end=None):
    return {
        "start_minute": None if start is None else minute(start),
        "end_minute": None if end is None else minute(end),
    }


# 2026-03-16 is a Monday.
@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        ("2026-03-16 08:59", False),
        ("2026-03-16 09:00", True),
        ("2026-03-16 16:59:59", True),
        ("2026-03-16 17:00", False),
    ],
)
def test_end_is_excluded(moment, expected):
    assert holds(moment, **hours("9:00", "17:00")) is expected


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        ("2026-03-16 21:59", False),
        ("2026-03-16 22:00", True),
        ("2026-03-16 23:59", True),
        ("2026-03-17 05:59", True),  # Tuesday, of Monday's window
        ("2026-03-17 06:00", False),
        ("2026-03-16 05:00", False),  # Monday, of Sunday's window
        ("2026-03-17 22:00", False),
    ],
)
def test_window_over_midnight_has_the_weekday_of_its_start(moment, expected):
    assert holds(moment, weekdays=frozenset({1}), **hours("22:00", "6:00")) is expected


def test_window_of_sunday_reaches_into_monday():
    assert holds("2026-03-16 05:00", weekdays=frozenset({7}), **hours("22:00", "6:00"))


@pytest.mark.parametrize(("moment", "expected"), [("2026-03-15 12:00", True), ("2026-03-16 00:00", False)])
def test_weekday_alone_is_the_whole_day(moment, expected):
    assert holds(moment, weekdays=frozenset({7})) is expected


@pytest.mark.parametrize(("moment", "expected"), [("2026-03-16 07:59", False), ("2026-03-16 23:59", True)])
def test_window_without_an_end_ends_at_midnight(moment, expected):
    assert holds(moment, **hours("8:00")) is expected


@pytest.mark.parametrize(("moment", "expected"), [("2026-03-16 00:00", True), ("2026-03-16 08:00", False)])
def test_window_without_a_start_starts_at_midnight(moment, expected):
    assert holds(moment, **hours(None, "8:00")) is expected


def test_window_is_in_its_time_zone():
    noon = {"zone": "UTC", **hours("12:00", "13:00")}

    assert holds("2026-03-16 12:30", **noon)
    at = datetime.fromisoformat("2026-03-16 12:30").replace(tzinfo=ZoneInfo("UTC")).timestamp()
    assert not times.compiled(an_access_rule(time_zone="Asia/Tokyo", **hours("12:00", "13:00")))(at)


@pytest.mark.parametrize("fold", [0, 1])
def test_hour_that_daylight_saving_time_repeats_is_in_the_window_twice(fold):
    assert holds("2026-10-25 02:30", fold=fold, **hours("2:00", "3:00"))


def test_hour_that_daylight_saving_time_skips_is_never_in_the_window():
    contains = times.compiled(an_access_rule(time_zone=BERLIN, **hours("2:00", "3:00")))
    midnight = datetime.fromisoformat("2026-03-29 00:00").replace(tzinfo=ZoneInfo(BERLIN)).timestamp()

    assert not any(contains(midnight + 60 * minutes) for minutes in range(23 * 60))


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../etc/passwd", "", "Europe"])
def test_unknown_time_zone_is_refused(zone):
    with pytest.raises(ValueError, match="time zone"):
        times.compiled(an_access_rule(time_zone=zone))


@pytest.mark.parametrize("window", [{"weekdays": frozenset({1})}, hours("1:00"), hours(None, "1:00")])
def test_rule_with_a_window_is_restricted(window):
    assert times.is_restricted(an_access_rule(**window))
    assert not times.is_restricted(an_access_rule())
