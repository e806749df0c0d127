"""Pages that ask for themselves again, if somebody chose that: by a header, so that no script is needed."""

from django.http import HttpResponse

CHOICES = ("0", "10", "30", "60")
"""Seconds; 0: it does not."""


def refreshed(response: HttpResponse, seconds: str) -> HttpResponse:
    """Return the response, which the browser asks for again after so many seconds."""
    if seconds != CHOICES[0]:
        response["Refresh"] = seconds
    return response
