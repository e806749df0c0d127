"""Limit request bodies to 1 MiB before reading them."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from gatewall.api import errors
from gatewall.api.parsers import MAX_BODY_BYTES


class BodyLimit:
    """Reject bodies that are too large or have no ``Content-Length``.

    Django and DRF treat a chunked request as empty, which would silently drop its body.
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
    """Return whether the length is not a decimal number up to the limit."""
    return not (length.isascii() and length.isdigit() and len(length) < 10 and int(length) <= MAX_BODY_BYTES)
