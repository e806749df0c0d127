"""The headers of every response of the control plane (contract section 1)."""

import uuid
from collections.abc import Callable, Iterable

from django.http import HttpRequest, HttpResponse


def content_security_policy(form_targets: Iterable[str] = ()) -> str:
    """Return the policy of our pages; their forms may also lead to these origins."""
    return "; ".join(
        (
            "default-src 'none'",
            "style-src 'self'",
            "img-src 'self' data:",
            "font-src 'self'",
            "script-src 'self'",
            "form-action " + " ".join(("'self'", *form_targets)),
            "base-uri 'none'",
            "frame-ancestors 'none'",
        )
    )


class ResponseHeaders:
    """Adds a request id, forbids caching and sniffing, and binds HTML to a strict CSP."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self._get_response(request)
        response["X-Request-Id"] = str(uuid.uuid4())
        response["X-Content-Type-Options"] = "nosniff"
        if not response.has_header("Cache-Control"):
            response["Cache-Control"] = "no-store"
        if response.get("Content-Type", "").startswith("text/html"):
            response.headers.setdefault("Content-Security-Policy", content_security_policy())
        return response
