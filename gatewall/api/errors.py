"""Errors outside DRF, in the form of those inside (RFC 9457)."""

from http import HTTPStatus
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, JsonResponse

from gatewall.api.codes import CODES
from gatewall.api.problems import MEDIA_TYPE, problem_body


def _error(status: int, detail: str, **extra: Any) -> JsonResponse:
    body = problem_body(status, CODES[status], detail, **extra)
    return JsonResponse(body, status=status, content_type=MEDIA_TYPE)


def bad_request(request: HttpRequest, exception: Exception) -> JsonResponse:
    """Answer a request that Django will not read."""
    if isinstance(exception, RequestDataTooBig):
        return _error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "a body has at most 1 MiB")
    detail = "the request cannot be read"
    return _error(HTTPStatus.BAD_REQUEST, detail, errors=[{"field": "", "code": "unreadable", "message": detail}])


def forbidden(request: HttpRequest, exception: Exception) -> JsonResponse:
    """Answer a request that is not allowed."""
    return _error(HTTPStatus.FORBIDDEN, "you may not do this")


def not_found(request: HttpRequest, exception: Exception) -> JsonResponse:
    """Answer a request for what is not there."""
    return _error(HTTPStatus.NOT_FOUND, "there is nothing here")


def server_error(request: HttpRequest) -> JsonResponse:
    """Answer a request that met a bug, without a word about it."""
    return _error(HTTPStatus.INTERNAL_SERVER_ERROR, "something went wrong on our side")
