"""Times relative to now, in the format of the API."""

from datetime import UTC, datetime, timedelta


def in_hours(hours: float) -> str:
    """Return the time in this number of hours."""
    return (datetime.now(UTC) + timedelta(hours=hours)).isoformat()


def in_an_hour() -> str:
    """Return the time in an hour."""
    return in_hours(1)
