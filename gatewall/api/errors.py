"""Problem details (RFC 9457) for errors outside of DRF."""

import sys
from http import HTTPStatus
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, JsonResponse

from gatewall.api.codes import CODES
from gatewall.api.parsers import BodyTooLarge
from gatewall.api.problems import MEDIA_TYPE, problem_body
from gatewall.kernel.request_bodies import MAX_BODY

_RETRY_SECONDS = 5


def _error(status: int, detail: str, **extra: Any) -> JsonResponse:
    body = problem_body(status, CODES[status], detail, **extra)
    return JsonResponse(body, status=status, content_type=MEDIA_TYPE)


def bad_request(request: HttpRequest, exception: Exception) -> JsonResponse:
    """Return the response to a request that Django cannot parse."""
    if isinstance(exception, RequestDataTooBig):
        return body_too_large(request, MAX_BODY)
    detail = "the request cannot be read"
    return _error(HTTPStatus.BAD_REQUEST, detail, errors=[{"field": "", "code": "unreadable", "message": detail}])


def body_too_large(request: HttpRequest, most: int) -> JsonResponse:
    """Return the response to a body of more than ``most`` bytes."""
    return _error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, str(BodyTooLarge(most)))


def length_required(request: HttpRequest) -> JsonResponse:
    """Return the response to a body without ``Content-Length``."""
    return _error(HTTPStatus.LENGTH_REQUIRED, "a body is sent with Content-Length, not in chunks")


def unsupported_media_type(request: HttpRequest) -> JsonResponse:
    """Return the response to a form in another media type."""
    return _error(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "this form is sent as application/x-www-form-urlencoded")


def method_not_allowed(request: HttpRequest, allowed: str) -> JsonResponse:
    """Return the response to a method that the page does not support."""
    response = _error(HTTPStatus.METHOD_NOT_ALLOWED, f"{request.method} is not among {allowed}")
    response["Allow"] = allowed
    return response


def forbidden(request: HttpRequest, exception: Exception) -> JsonResponse:
    """Return the response to a forbidden request."""
    return _error(HTTPStatus.FORBIDDEN, "you may not do this")


def not_found(request: HttpRequest, exception: Exception) -> JsonResponse:
    """Return the response to an unknown path."""
    return _error(HTTPStatus.NOT_FOUND, "there is nothing here")


def server_error(request: HttpRequest) -> JsonResponse:
    """Return the response to an unhandled exception: 503 if the database is unavailable, else 500."""
    if isinstance(sys.exc_info()[1], OperationalError | InterfaceError):
        response = _error(HTTPStatus.SERVICE_UNAVAILABLE, "the database does not answer: try again in a moment")
        response["Retry-After"] = str(_RETRY_SECONDS)
        return response
    return _error(HTTPStatus.INTERNAL_SERVER_ERROR, "something went wrong on our side")
