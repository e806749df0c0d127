"""The access log over HTTP."""

from typing import Any

from django.http import StreamingHttpResponse
from rest_framework.request import Request
from rest_framework.response import Response

from audit.log import query
from audit.log.filters import PARAMETERS, FilterRefused, filters_of
from audit.log.query import Cursor, CursorRefused, Filters
from audit.querying import export
from audit.serializers import AccessLogOutput, AccessLogPage, shown
from gatewall.api.operations import operation
from gatewall.api.pagination import MAX_PAGE_SIZE, PAGE_SIZE
from gatewall.api.queries import (
    choice_in,
    moment_in,
    refuse_unknown_parameters,
    refused_parameter,
    whole_number_in,
)
from gatewall.api.views import ApiView

_FLAG, _MOMENT = {"type": "boolean", "default": False}, {"type": "string", "format": "date-time"}
_RANGE = {"start_time": _MOMENT, "end_time": _MOMENT}
_PAGING = {
    "cursor": {"type": "string", "pattern": "^[A-Za-z0-9_-]{32}$"},
    "page_size": {"type": "integer", "minimum": 1, "maximum": MAX_PAGE_SIZE, "default": PAGE_SIZE},
    "count": _FLAG,
    "format": {"type": "string", "enum": ["json", *export.FORMATS], "default": "json"},
}
_ALL = {**PARAMETERS, **_RANGE, **_PAGING}


class AccessLogs(ApiView):
    """What the gate answered, newest first."""

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:  # noqa: FBT001, FBT002 - DRF's
        """Choose the renderer; an export is what ``format`` says, whatever ``Accept`` does."""
        return super().perform_content_negotiation(
            request, force or request.query_params.get("format") in export.FORMATS
        )

    @operation(answer=AccessLogPage, parameters=_ALL, exports=export.FORMATS.values(), verb="list")
    def get(self, request: Request) -> Response | StreamingHttpResponse:
        """List the access log."""
        refuse_unknown_parameters(request, _ALL)
        filters, after = filters_in(request), cursor_in(request)
        size = whole_number_in(request, "page_size", 1, MAX_PAGE_SIZE) or PAGE_SIZE
        kind = choice_in(request, "format", ("json", *export.FORMATS))
        wants_count = choice_in(request, "count", ("false", "true")) == "true"
        if kind != "json":
            return _download(request, filters, after, kind)
        page = query.page_of(filters, after, size)
        return Response(
            {
                "count": query.number_of(filters) if wants_count else None,
                "next": _url_of(request, page.next) if page.next else None,
                "previous": None,
                "results": list(shown(page.rows)),
            }
        )


def filters_in(request: Request) -> Filters:
    """Return the filters that the parameters are. Raises ValidationError."""
    named = [(name, value) for name, value in request.query_params.items() if name in PARAMETERS]
    try:
        return filters_of(named, start=moment_in(request, "start_time"), end=moment_in(request, "end_time"))
    except FilterRefused as refused:
        raise refused_parameter(refused.field, str(refused)) from None


def cursor_in(request: Request) -> Cursor | None:
    """Return where the page begins that was asked for, None for the first. Raises ValidationError."""
    try:
        return Cursor.parse(request.query_params["cursor"]) if "cursor" in request.query_params else None
    except CursorRefused as refused:
        raise refused_parameter("cursor", str(refused)) from None


def _url_of(request: Request, cursor: Cursor) -> str:
    parameters = request.query_params.copy()
    parameters["cursor"] = str(cursor)
    return request.build_absolute_uri(f"?{parameters.urlencode()}")


def _download(request: Request, filters: Filters, after: Cursor | None, kind: str) -> StreamingHttpResponse:
    rows = shown(query.everything(filters, after))
    parts = () if request.method == "HEAD" else export.lines(rows, kind, AccessLogOutput.Meta.fields)
    response = StreamingHttpResponse(parts, content_type=export.FORMATS[kind])
    response["Content-Disposition"] = f'attachment; filename="access-log.{kind}"'
    return response
