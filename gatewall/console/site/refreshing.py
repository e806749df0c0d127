"""Pages that reload themselves by the Refresh header, without scripts."""

from django.http import HttpResponse

CHOICES = ("0", "10", "30", "60")
"""Choices in seconds; 0 is off."""


def refreshed(response: HttpResponse, seconds: str) -> HttpResponse:
    """Return the response with a Refresh header."""
    if seconds != CHOICES[0]:
        response["Refresh"] = seconds
    return response
