"""Headers of every response of the control plane (docs/api.md)."""

import re
import uuid
from collections.abc import Callable
from http import HTTPStatus

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from gatewall.api import errors
from gatewall.api.content_policy import content_security_policy

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)


class ResponseHeaders:
    """Add request id, ``no-store``, ``nosniff`` and, for HTML, a strict CSP.

    Replaces Django's empty 405 responses by problem details.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self._get_response(request)
        if response.status_code == HTTPStatus.METHOD_NOT_ALLOWED and not getattr(response, "content", b"-"):
            response = errors.method_not_allowed(request, response.get("Allow", ""))
        response["X-Request-Id"] = request_id(request)
        response["X-Content-Type-Options"] = "nosniff"
        if not response.has_header("Cache-Control"):
            response["Cache-Control"] = "no-store"
        if response.get("Content-Type", "").startswith("text/html"):
            response.headers.setdefault("Content-Security-Policy", content_security_policy())
        return response


def request_id(request: HttpRequest) -> str:
    """Return the request id set by a trusted proxy, or a new one.

    An id from another peer could duplicate one in our logs.
    """
    given = request.headers.get("X-Request-Id", "")
    peer = str(request.META.get("REMOTE_ADDR") or "")
    if _REQUEST_ID.fullmatch(given) and settings.GATEWALL_TRUSTED_PROXIES.trusts_peer(peer):
        return given
    return str(uuid.uuid4())
