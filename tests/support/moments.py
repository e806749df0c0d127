"""Moments of this day, as the API takes them."""

from datetime import UTC, datetime, timedelta


def in_hours(hours: float) -> str:
    """Return the moment in so many hours."""
    return (datetime.now(UTC) + timedelta(hours=hours)).isoformat()


def in_an_hour() -> str:
    """Return the moment in an hour."""
    return in_hours(1)
