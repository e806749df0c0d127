"""Limit request bodies to 1 MiB before any of one is read."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from gatewall.api import errors
from gatewall.api.parsers import MAX_BODY_BYTES


class BodyLimit:
    """Refuses bodies that are too large, whatever they hold, and bodies that do not say how large they are.

    Django and DRF take a request without ``Content-Length`` for one without a body, so what is sent in
    chunks would be dropped in silence.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if "HTTP_TRANSFER_ENCODING" in request.META:
            return errors.length_required(request)
        if _is_too_large(str(request.META.get("CONTENT_LENGTH") or "0")):
            return errors.body_too_large(request)
        return self._get_response(request)


def _is_too_large(length: str) -> bool:
    """True unless it is a number up to the limit; a server that lets another text through is not trusted."""
    return not (length.isascii() and length.isdigit() and len(length) < 10 and int(length) <= MAX_BODY_BYTES)
