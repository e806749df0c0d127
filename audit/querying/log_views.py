"""API views of both logs: filters, cursor pages, counts, and export as NDJSON or CSV."""

import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from django.http import StreamingHttpResponse
from rest_framework import serializers, viewsets
from rest_framework.request import Request
from rest_framework.response import Response

from audit.querying import export, keyset
from audit.querying.field_filters import FilterRefused, Filters
from audit.querying.keyset import Cursor, CursorRefused, Page
from gatewall.api.own_origins import requested_url
from gatewall.api.pagination import MAX_PAGE_SIZE, PAGE_SIZE
from gatewall.api.queries import choice_in, moment_in, refuse_unknown_parameters, refused_parameter, whole_number_in
from gatewall.api.scopes import LOGS
from gatewall.api.views import ApiView

MOMENT = {"type": "string", "format": "date-time"}


@dataclass(frozen=True)
class Log:
    """Descriptor of a log: ``name`` of download files, type of ids (``key``), JSON schemas of ``filters``, queries."""

    name: str
    key: type[uuid.UUID] | type[int]
    filters: Mapping[str, Mapping[str, Any]]
    filters_of: Callable[..., Filters]
    page_of: Callable[[Filters, Cursor | None, int], Page[Any]]
    number_of: Callable[[Filters], int | None]
    output: type[serializers.ModelSerializer[Any]]

    @property
    def parameters(self) -> dict[str, Mapping[str, Any]]:
        """Return the JSON schema of each parameter of the list."""
        return {
            **self.filters,
            "start_time": MOMENT,
            "end_time": MOMENT,
            "cursor": {"type": "string", "pattern": keyset.cursor_pattern(self.key)},
            "page_size": {"type": "integer", "minimum": 1, "maximum": MAX_PAGE_SIZE, "default": PAGE_SIZE},
            "count": {"type": "boolean", "default": False},
            "format": {"type": "string", "enum": ["json", *export.FORMATS], "default": "json"},
        }

    def serialized(self, rows: Iterator[Any]) -> Iterator[dict[str, Any]]:
        """Yield the rows as JSON-compatible values, one at a time."""
        return map(self.output().to_representation, rows)


class LogViewSet(ApiView, viewsets.ViewSet):
    """Read-only API of a log, newest first. Subclasses set ``log`` and call ``page``."""

    area = LOGS
    log: ClassVar[Log]

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:  # noqa: FBT001, FBT002 - DRF's
        """Select the renderer; ``format`` of an export overrides ``Accept``."""
        return super().perform_content_negotiation(
            request, force or request.query_params.get("format") in export.FORMATS
        )

    def page(self, request: Request) -> Response | StreamingHttpResponse:
        """Return the requested page, or a download of all rows after the cursor."""
        log = self.log
        refuse_unknown_parameters(request, log.parameters)
        filters, after = filters_in(request, log), cursor_in(request, log)
        size = whole_number_in(request, "page_size", 1, MAX_PAGE_SIZE) or PAGE_SIZE
        kind = choice_in(request, "format", ("json", *export.FORMATS))
        wants_count = choice_in(request, "count", ("false", "true")) == "true"
        if kind != "json":
            return _download(request, log, filters, after, kind)
        page = log.page_of(filters, after, size)
        return Response(
            {
                "count": log.number_of(filters) if wants_count else None,
                "next": _url_of(request, page.next) if page.next else None,
                "previous": None,
                "results": list(log.serialized(iter(page.rows))),
            }
        )


def filters_in(request: Request, log: Log) -> Filters:
    """Return the filters of the request. Raises ValidationError."""
    parameters = [(name, value) for name, value in request.query_params.items() if name in log.filters]
    try:
        return log.filters_of(parameters, start=moment_in(request, "start_time"), end=moment_in(request, "end_time"))
    except FilterRefused as refused:
        raise refused_parameter(refused.field, refused.message) from None


def cursor_in(request: Request, log: Log) -> Cursor | None:
    """Return the requested cursor, None for the first page. Raises ValidationError."""
    try:
        return Cursor.parse(request.query_params["cursor"], log.key) if "cursor" in request.query_params else None
    except CursorRefused as refused:
        raise refused_parameter("cursor", refused.message) from None


def _url_of(request: Request, cursor: Cursor) -> str:
    parameters = request.query_params.copy()
    parameters["cursor"] = str(cursor)
    return requested_url(request, f"?{parameters.urlencode()}")


def _download(request: Request, log: Log, filters: Filters, after: Cursor | None, kind: str) -> StreamingHttpResponse:
    rows = log.serialized(keyset.everything(lambda place, size: log.page_of(filters, place, size), after))
    parts = () if request.method == "HEAD" else export.lines(rows, kind, log.output.Meta.fields)
    response = StreamingHttpResponse(parts, content_type=export.FORMATS[kind])
    response["Content-Disposition"] = f'attachment; filename="{log.name}.{kind}"'
    return response
