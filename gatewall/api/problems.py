"""Convert errors of the API to problem details (RFC 9457) with a ``code`` (docs/api.md)."""

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig, ValidationError
from django.http import Http404
from rest_framework import exceptions
from rest_framework.renderers import JSONRenderer
from rest_framework.response import Response
from rest_framework.views import set_rollback

from gatewall.api.codes import CODES
from gatewall.kernel.refusals import Conflict, Forbidden, Gone, Invalid, Refusal, TooMany

MEDIA_TYPE = "application/problem+json"
_TOO_DEEP = 20
_STATUSES = {Conflict: 409, Forbidden: 403, Gone: 404, Invalid: 400, TooMany: 429}
"""Response status by type of refusal; 401 for others."""
_CHALLENGE = 'Gatewall realm="Gatewall"'  # RFC 9110 section 15.5.2: required with every 401


def problem_body(status: int, code: str, detail: str, **extra: Any) -> dict[str, Any]:
    """Return the members of a problem."""
    return {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
        **extra,
    }


def problem(status: int, code: str, detail: str, **extra: Any) -> Response:
    """Return a problem response."""
    return Response(problem_body(status, code, detail, **extra), status=status, content_type=MEDIA_TYPE)


def problem_response(error: Exception, context: Mapping[str, Any]) -> Response | None:
    """Return the response to an error, or None for a bug (DRF's exception handler)."""
    response = _response(error)
    if response is not None:
        set_rollback()
        request = context.get("request")
        if getattr(getattr(request, "accepted_renderer", None), "format", None) == "api":
            response.content_type = None  # the browsable API shows the problem as a page
        elif request is not None:
            # Problems are JSON, whichever renderer the view has.
            request.accepted_renderer, request.accepted_media_type = JSONRenderer(), JSONRenderer.media_type
    return response


def _response(error: Exception) -> Response | None:
    match error:
        case Refusal():
            return _refusal(error)
        case ValidationError():
            return _invalid(_django_errors(error))
        case exceptions.ValidationError():
            return _invalid(list(_drf_errors(error.get_full_details())))
        case exceptions.ParseError():
            return _invalid([{"field": "", "code": "not-json", "message": str(error.detail)}])
        case RequestDataTooBig():
            return problem(413, CODES[413], str(error))
        case Http404():
            return problem(404, CODES[404], "there is nothing here")
        case PermissionDenied():
            return problem(403, CODES[403], "you may not do this")
        case exceptions.APIException():
            return _api_exception(error)
    return None


def _refusal(refusal: Refusal) -> Response:
    status = status_of(type(refusal))
    response = problem(status, refusal.code, str(refusal), **refusal.members())
    if isinstance(refusal, Invalid):
        response.data["errors"] = refusal.details()
    if status == HTTPStatus.UNAUTHORIZED:
        response["WWW-Authenticate"] = _CHALLENGE
    if isinstance(refusal, TooMany):
        response["Retry-After"] = str(refusal.retry_after_seconds)
    return response


def status_of(kind: type[Refusal]) -> int:
    """Return the response status of refusals of this type."""
    return next((status for base, status in _STATUSES.items() if issubclass(kind, base)), 401)


def _api_exception(error: exceptions.APIException) -> Response:
    status = error.status_code
    code = getattr(error, "problem_code", CODES.get(status, "error"))
    response = problem(status, code, str(getattr(error, "detail", error.default_detail)))
    if isinstance(error.detail, Mapping):  # simplejwt wraps its message
        response.data["detail"] = str(error.detail.get("detail", error.default_detail))
    if challenge := getattr(error, "auth_header", None):
        response["WWW-Authenticate"] = challenge
    if wait := getattr(error, "wait", None):
        response["Retry-After"] = str(int(wait) + 1)
    return response


def words_of(error: exceptions.ValidationError) -> str:
    """Return the messages of refused values, each with its field."""
    return "; ".join(map(_words_of, _drf_errors(error.get_full_details())))


def _words_of(error: Mapping[str, str]) -> str:
    return f"{error['field']}: {error['message']}" if error["field"] else error["message"]


def _invalid(errors: list[dict[str, str]]) -> Response:
    first = errors[0] if errors else {"field": "", "message": "the body is not valid"}
    return problem(400, CODES[400], _words_of(first), errors=errors)


def _django_errors(error: ValidationError) -> list[dict[str, str]]:
    by_field = error.error_dict if hasattr(error, "error_dict") else {"": error.error_list}
    return [
        {"field": "" if field == "__all__" else field, "code": _kebab(item.code), "message": " ".join(item.messages)}
        for field, items in by_field.items()
        for item in items
    ]


def _drf_errors(details: Any, field: str = "", depth: int = 0) -> Iterator[dict[str, str]]:
    if depth > _TOO_DEEP:
        return
    if isinstance(details, Mapping) and set(details) == {"message", "code"}:
        yield {"field": field, "code": _kebab(details["code"]), "message": str(details["message"])}
    elif isinstance(details, Mapping):
        for name, inner in details.items():
            inside = "" if name == "non_field_errors" else str(name)
            yield from _drf_errors(inner, ".".join(part for part in (field, inside) if part), depth + 1)
    else:
        for inner in details:
            yield from _drf_errors(inner, field, depth + 1)


def _kebab(code: str | None) -> str:
    return (code or "invalid").replace("_", "-")
