"""Middleware of the control plane: headers of every response (docs/api.md), body limit, language negotiation."""

import re
import uuid
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.middleware.locale import LocaleMiddleware
from django.urls import Resolver404, resolve
from django.utils import translation

from gatewall.api import errors
from gatewall.api.content_policy import content_security_policy
from gatewall.api.parsers import largest_body
from gatewall.kernel.request_bodies import MAX_BODY

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


class BodyLimit:
    """Reject bodies that are too large for their path or have no ``Content-Length``.

    Django and DRF treat a chunked request as empty, which would silently drop its body.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if "HTTP_TRANSFER_ENCODING" in request.META:
            return errors.length_required(request)
        length = str(request.META.get("CONTENT_LENGTH") or "0")
        if _is_too_large(length, MAX_BODY) and _is_too_large(length, most := largest_body_at(request)):
            return errors.body_too_large(request, most)
        return self._get_response(request)


class Language(LocaleMiddleware):
    """Use the visitor's language (``Accept-Language``) on pages, and English in the API."""

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]
    ) -> None:
        """Reset the language for DRF views, whose own messages would be translated."""
        if hasattr(view, "cls"):
            translation.activate(settings.LANGUAGE_CODE)
            request.LANGUAGE_CODE = settings.LANGUAGE_CODE


def request_id(request: HttpRequest) -> str:
    """Return the request id set by a trusted proxy, or a new one.

    An id from another peer could duplicate one in our logs.
    """
    given = request.headers.get("X-Request-Id", "")
    peer = str(request.META.get("REMOTE_ADDR") or "")
    if _REQUEST_ID.fullmatch(given) and settings.GATEWALL_TRUSTED_PROXIES.trusts_peer(peer):
        return given
    return str(uuid.uuid4())


def _is_too_large(length: str, most: int) -> bool:
    """Return whether the length is not a decimal number up to this one."""
    return not (length.isascii() and length.isdigit() and len(length) < 10 and int(length) <= most)


def largest_body_at(request: HttpRequest) -> int:
    """Return the maximum number of bytes in the body of this request, by its path and method."""
    try:
        view = resolve(request.path_info).func
    except Resolver404:
        return MAX_BODY
    return largest_body(getattr(view, "cls", None), str(request.method))
