"""Lists: pages from 1, or everything with ``all=true``; always in the same envelope."""

from typing import Any

from django.db.models import QuerySet
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.pagination import PageNumberPagination
from rest_framework.request import Request
from rest_framework.response import Response

PAGE_SIZE = 50
MAX_PAGE_SIZE = 500


class PageOrAll(PageNumberPagination):
    """``{count, next, previous, results}``."""

    page_size = PAGE_SIZE
    max_page_size = MAX_PAGE_SIZE
    page_size_query_param = "page_size"

    def paginate_queryset(self, queryset: QuerySet[Any], request: Request, view: Any = None) -> list[Any] | None:
        """Return the rows of the page asked for. Raises ValidationError, NotFound past the end."""
        everything = request.query_params.get("all", "false")
        if everything not in {"true", "false"}:
            raise ValidationError({"all": ["true or false"]})
        self._everything = everything == "true"
        if self._everything:
            self._rows = list(queryset)
            return self._rows
        number = _positive(request, "page", 1)
        try:
            return super().paginate_queryset(queryset, request, view)
        except NotFound:
            raise NotFound(f"there is no page {number}") from None

    def get_page_size(self, request: Request) -> int:
        size = _positive(request, "page_size", PAGE_SIZE)
        if size > MAX_PAGE_SIZE:
            raise ValidationError({"page_size": [f"at most {MAX_PAGE_SIZE}"]})
        return size

    def get_paginated_response(self, data: Any) -> Response:
        if self._everything:
            return Response({"count": len(self._rows), "next": None, "previous": None, "results": data})
        return super().get_paginated_response(data)


def _positive(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) > 0):
        raise ValidationError({name: ["a whole number from 1"]})
    return int(text)
