"""Errors outside DRF, in the form of those inside (RFC 9457)."""

from http import HTTPStatus

from django.http import HttpRequest, JsonResponse

from gatewall.api.problems import CODES, MEDIA_TYPE, problem_body


def _error(status: int, detail: str) -> JsonResponse:
    body = problem_body(status, CODES[status], detail)
    return JsonResponse(body, status=status, content_type=MEDIA_TYPE)


def bad_request(request: HttpRequest, exception: Exception) -> JsonResponse:
    """Answer a request that Django will not read."""
    return _error(HTTPStatus.BAD_REQUEST, "the request cannot be read")


def forbidden(request: HttpRequest, exception: Exception) -> JsonResponse:
    """Answer a request that is not allowed."""
    return _error(HTTPStatus.FORBIDDEN, "you may not do this")


def not_found(request: HttpRequest, exception: Exception) -> JsonResponse:
    """Answer a request for what is not there."""
    return _error(HTTPStatus.NOT_FOUND, "there is nothing here")


def server_error(request: HttpRequest) -> JsonResponse:
    """Answer a request that met a bug, without a word about it."""
    return _error(HTTPStatus.INTERNAL_SERVER_ERROR, "something went wrong on our side")
