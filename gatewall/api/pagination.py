"""Pagination: numbered pages, or everything with ``all=true``; always in the same envelope.

Everything is streamed: rows are read and written a piece at a time, so that memory is bounded
whatever a list holds. ``count`` then comes last, as it is counted on the way.

Pages of a long list are counted once for each version of the policy, where its rows are nothing but policy:
to count a million rows for each page costs many times what the page does.
"""

import hashlib
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import islice
from typing import Any

from django.core.cache import cache
from django.core.exceptions import EmptyResultSet
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.pagination import PageNumberPagination
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request

from gatewall.policy import revisions

PAGE_SIZE = 50
MAX_PAGE_SIZE = 500
MAX_PAGE = 999_999_999
"""No list has as many; a number of more digits is refused before it is one."""
_MOST_DIGITS = len(str(MAX_PAGE))
LONG = 10_000
"""A list of fewer rows is counted for each page."""
_KEPT_SECONDS = 3600


class _CountedOnce(Paginator):  # type: ignore[type-arg]  # not generic at run time
    """Counts a long list when the policy has changed; the version is read first, so that no count outlives its own."""

    object_list: QuerySet[Any]

    @cached_property
    def count(self) -> int:
        key = _key_of(self.object_list)
        known = cache.get(key) if key else None
        if known is None:
            number: int = self.object_list.count()
            if key and number >= LONG:
                cache.set(key, "long", _KEPT_SECONDS)  # from the next page on with its version
            return number
        version = _version()
        of_version, _, text = str(known).rpartition(" ")
        if of_version == version and text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS:
            return int(text)  # whoever writes to the cache can make us count again, or count wrong
        number = self.object_list.count()
        cache.set(key, f"{version} {number}", _KEPT_SECONDS)
        return number


def _key_of(rows: QuerySet[Any]) -> str:
    """Return where the number of these rows is remembered; nothing for those of which none can be."""
    try:
        sql, parameters = rows.order_by().query.sql_with_params()
    except EmptyResultSet:
        return ""
    return "list-count:" + hashlib.sha256(f"{sql} {parameters!r}".encode()).hexdigest()


def _version() -> str:
    head = revisions.head()
    return f"{head.epoch} {head.revision} {head.advanced_at}"


class Pages(PageNumberPagination):
    """``{count, next, previous, results}``."""

    page_size = PAGE_SIZE
    max_page_size = MAX_PAGE_SIZE
    page_size_query_param = "page_size"

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any] | None:
        """Return the rows of the page asked for. Raises ValidationError, NotFound past the end."""
        number = _positive(request, "page", 1)
        if getattr(view, "rows_are_policy", False):
            self.django_paginator_class = _CountedOnce
        try:
            return super().paginate_queryset(queryset, request, view)
        except NotFound:
            raise NotFound(f"there is no page {number}") from None

    def get_page_size(self, request: Request) -> int:
        return _page_size(request)


def wants_everything(request: Request) -> bool:
    """True for ``all=true``. Raises ValidationError for what is neither true nor false, and for an invalid page."""
    everything = request.query_params.get("all", "false")
    if everything not in {"true", "false"}:
        raise ValidationError({"all": ["true or false"]})
    _positive(request, "page", 1)
    _page_size(request)
    return bool(everything == "true")


def everything(request: Request, rows: QuerySet[Any], show: Callable[[list[Any]], list[Any]]) -> StreamingHttpResponse:
    """Return the envelope with every row, streamed. A connection that breaks off leaves no whole JSON."""
    parts = () if request.method == "HEAD" else _parts(rows, show)
    return StreamingHttpResponse(parts, content_type="application/json")


def _parts(rows: QuerySet[Any], show: Callable[[list[Any]], list[Any]]) -> Iterator[bytes]:
    yield b'{"next":null,"previous":null,"results":['
    count, found = 0, rows.iterator(chunk_size=MAX_PAGE_SIZE)
    while piece := list(islice(found, MAX_PAGE_SIZE)):
        yield (b"," if count else b"") + JSONRenderer().render(show(piece))[1:-1]
        count += len(piece)
    yield b'],"count":%d}' % count


def _positive(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS and int(text) > 0):
        raise ValidationError({name: ["a whole number from 1"]})
    return int(text)


def _page_size(request: Request) -> int:
    size = _positive(request, "page_size", PAGE_SIZE)
    if size > MAX_PAGE_SIZE:
        raise ValidationError({"page_size": [f"at most {MAX_PAGE_SIZE}"]})
    return size
