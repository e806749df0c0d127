"""The access log over HTTP."""

import uuid
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.http import Http404, StreamingHttpResponse
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.encoders import JSONEncoder

from audit import export, log_query, selectors
from audit.log_filters import CONDITIONS, EXCLUDE, FilterRefused, filters_of
from audit.log_query import Cursor, CursorRefused, Filters
from audit.serializers import AccessLogOutput, AccessLogPage
from gatewall.api.operations import operation
from gatewall.api.pagination import MAX_PAGE_SIZE, PAGE_SIZE
from gatewall.api.queries import refuse_unknown_parameters
from gatewall.api.serializers import MomentField
from gatewall.api.views import ApiView

_TEXT, _FLAG, _MOMENT = {"type": "string"}, {"type": "boolean"}, {"type": "string", "format": "date-time"}
_FILTERS = {name: _TEXT for field in CONDITIONS for name in (field, f"{EXCLUDE}{field}")}
_RANGE = {"start_time": _MOMENT, "end_time": _MOMENT}
_PAGING = {
    "cursor": _TEXT,
    "page_size": {"type": "integer", "minimum": 1, "maximum": MAX_PAGE_SIZE, "default": PAGE_SIZE},
    "count": _FLAG,
    "format": {"type": "string", "enum": ["json", *export.FORMATS]},
}


class AccessLogs(ApiView):
    """What the gate answered, newest first."""

    @operation(answer=AccessLogPage, parameters={**_FILTERS, **_RANGE, **_PAGING})
    def get(self, request: Request) -> Response | StreamingHttpResponse:
        """List the access log."""
        refuse_unknown_parameters(request, {*_FILTERS, *_RANGE, *_PAGING})
        filters = _filters(request)
        kind = _one_of(request, "format", ("json", *export.FORMATS))
        if kind != "json":
            return _download(request, filters, kind)
        page = log_query.page_of(filters, _cursor(request), _page_size(request))
        wants_count = _one_of(request, "count", ("false", "true")) == "true"
        return Response(
            {
                "count": log_query.number_of(filters) if wants_count else None,
                "next": _url_of(request, page.next) if page.next else None,
                "previous": None,
                "results": AccessLogOutput(page.rows, many=True).data,
            }
        )


class AccessLogEntry(ApiView):
    """One answer of the gate."""

    @operation(answer=AccessLogOutput, refuses={404})
    def get(self, request: Request, decision_id: uuid.UUID) -> Response:
        """Show an answer by its decision id."""
        row = selectors.answer(decision_id)
        if row is None:
            raise Http404
        return Response(AccessLogOutput(row).data)


def _filters(request: Request) -> Filters:
    named = [(name, value) for name, value in request.query_params.items() if name in _FILTERS]
    try:
        return filters_of(named, start=_moment(request, "start_time"), end=_moment(request, "end_time"))
    except FilterRefused as refused:
        raise _invalid(refused.field, str(refused)) from None


def _moment(request: Request, name: str) -> datetime | None:
    if name not in request.query_params:
        return None
    try:
        moment: datetime = MomentField().run_validation(request.query_params[name])
    except serializers.ValidationError as error:
        raise ValidationError({name: error.detail}) from None
    return moment


def _cursor(request: Request) -> Cursor | None:
    try:
        return Cursor.parse(request.query_params["cursor"]) if "cursor" in request.query_params else None
    except CursorRefused as refused:
        raise _invalid("cursor", str(refused)) from None


def _page_size(request: Request) -> int:
    text = request.query_params.get("page_size", str(PAGE_SIZE))
    if not (text.isascii() and text.isdigit() and len(text) < 9 and 0 < int(text) <= MAX_PAGE_SIZE):
        raise _invalid("page_size", f"a whole number from 1 to {MAX_PAGE_SIZE}")
    return int(text)


def _one_of(request: Request, name: str, choices: tuple[str, ...]) -> str:
    value: str = request.query_params.get(name, choices[0])
    if value not in choices:
        raise _invalid(name, f"one of {', '.join(choices)}")
    return value


def _invalid(field: str, words: str) -> ValidationError:
    return ValidationError({field: [ErrorDetail(words, code="invalid")]})


def _url_of(request: Request, cursor: Cursor) -> str:
    parameters = request.query_params.copy()
    parameters["cursor"] = str(cursor)
    return request.build_absolute_uri(f"?{parameters.urlencode()}")


def _download(request: Request, filters: Filters, kind: str) -> StreamingHttpResponse:
    parts = () if request.method == "HEAD" else export.lines(_plain(filters), kind)
    response = StreamingHttpResponse(parts, content_type=export.FORMATS[kind])
    response["Content-Disposition"] = f'attachment; filename="access-log.{kind}"'
    return response


def _plain(filters: Filters) -> Iterator[dict[str, Any]]:
    """Yield the rows that match as the JSON of the API, piece by piece."""
    encoder = JSONEncoder()
    for row in log_query.everything(filters):
        shown = AccessLogOutput(row).data
        yield {name: value if _is_plain(value) else encoder.default(value) for name, value in shown.items()}


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | list | dict)
