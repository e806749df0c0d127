"""Problem details (RFC 9457) for errors outside DRF."""

import sys
from http import HTTPStatus
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, JsonResponse

from gatewall.api.codes import CODES
from gatewall.api.problems import MEDIA_TYPE, problem_body

_RETRY_SECONDS = 5


def _error(status: int, detail: str, **extra: Any) -> JsonResponse:
    body = problem_body(status, CODES[status], detail, **extra)
    return JsonResponse(body, status=status, content_type=MEDIA_TYPE)


def bad_request(request: HttpRequest, exception: Exception) -> JsonResponse:
    """Answer a request that Django will not read."""
    if isinstance(exception, RequestDataTooBig):
        return body_too_large(request)
    detail = "the request cannot be read"
    return _error(HTTPStatus.BAD_REQUEST, detail, errors=[{"field": "", "code": "unreadable", "message": detail}])


def body_too_large(request: HttpRequest) -> JsonResponse:
    """Answer a body that is over the limit."""
    return _error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "a body has at most 1 MiB")


def length_required(request: HttpRequest) -> JsonResponse:
    """Answer a body that does not say how long it is."""
    return _error(HTTPStatus.LENGTH_REQUIRED, "a body is sent with Content-Length, not in chunks")


def unsupported_media_type(request: HttpRequest) -> JsonResponse:
    """Answer a form that is sent as something else than a form."""
    return _error(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "this form is sent as application/x-www-form-urlencoded")


def method_not_allowed(request: HttpRequest, allowed: str) -> JsonResponse:
    """Answer a method that the page does not have, and say which it has."""
    response = _error(HTTPStatus.METHOD_NOT_ALLOWED, f"{request.method} is not among {allowed}")
    response["Allow"] = allowed
    return response


def forbidden(request: HttpRequest, exception: Exception) -> JsonResponse:
    """Answer a request that is not allowed."""
    return _error(HTTPStatus.FORBIDDEN, "you may not do this")


def not_found(request: HttpRequest, exception: Exception) -> JsonResponse:
    """Answer a request for what is not there."""
    return _error(HTTPStatus.NOT_FOUND, "there is nothing here")


def server_error(request: HttpRequest) -> JsonResponse:
    """Answer a request that met a bug or a database that is locked or away. The log says more, the answer does not."""
    if isinstance(sys.exc_info()[1], OperationalError | InterfaceError):
        response = _error(HTTPStatus.SERVICE_UNAVAILABLE, "the database does not answer: try again in a moment")
        response["Retry-After"] = str(_RETRY_SECONDS)
        return response
    return _error(HTTPStatus.INTERNAL_SERVER_ERROR, "something went wrong on our side")
