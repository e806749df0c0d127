"""Pagination: numbered pages, or all rows with ``all=true``, in the same envelope.

All rows are streamed in chunks, with bounded memory; ``count`` then comes last.

The count of a long list of pure policy rows is cached per policy version: counting a million rows costs many times more
than reading a page.
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

from gatewall.api.own_origins import requested_url
from gatewall.policy import revisions

PAGE_SIZE = 50
MAX_PAGE_SIZE = 500
MAX_PAGE = 999_999_999
"""Larger than any list; numbers with more digits are rejected before parsing."""
_MOST_DIGITS = len(str(MAX_PAGE))
LONG = 10_000
"""Lists below this length are counted for each page."""
_CACHE_SECONDS = 3600


class _CountedOnce(Paginator):  # type: ignore[type-arg]  # not generic at run time
    """Paginator that counts a long list once per policy version, which it reads before the count."""

    object_list: QuerySet[Any]

    @cached_property
    def count(self) -> int:
        key = _key_of(self.object_list)
        cached = cache.get(key) if key else None
        if cached is None:
            number: int = self.object_list.count()
            if key and number >= LONG:
                cache.set(key, "long", _CACHE_SECONDS)  # the next page stores the count with its version
            return number
        version = _version()
        of_version, _, text = str(cached).rpartition(" ")
        if of_version == version and text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS:
            return int(text)  # a writer to the cache could set a wrong count, but nothing worse
        number = self.object_list.count()
        cache.set(key, f"{version} {number}", _CACHE_SECONDS)
        return number


def _key_of(rows: QuerySet[Any]) -> str:
    """Return the cache key of a query's count; empty if it cannot be cached."""
    try:
        sql, parameters = rows.order_by().query.sql_with_params()
    except EmptyResultSet:
        return ""
    return "list-count:" + hashlib.sha256(f"{sql} {parameters!r}".encode()).hexdigest()


def _version() -> str:
    head = revisions.head()
    return f"{head.epoch} {head.revision} {head.advanced_at}"


class Pages(PageNumberPagination):
    """Numbered pages: ``{count, next, previous, results}``."""

    page_size = PAGE_SIZE
    max_page_size = MAX_PAGE_SIZE
    page_size_query_param = "page_size"

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any] | None:
        """Return the rows of the requested page. Raises ValidationError, NotFound past the end."""
        number = _positive(request, "page", 1)
        if getattr(view, "rows_are_policy", False):
            self.django_paginator_class = _CountedOnce
        try:
            return super().paginate_queryset(queryset, request, view)
        except NotFound:
            raise NotFound(f"there is no page {number}") from None

    def get_page_size(self, request: Request) -> int:
        return _page_size(request)

    def get_next_link(self) -> str | None:
        return self._as_requested(super().get_next_link())

    def get_previous_link(self) -> str | None:
        return self._as_requested(super().get_previous_link())

    def get_html_context(self) -> Any:
        context: Any = super().get_html_context()
        numbered = [each._replace(url=self._as_requested(each.url)) for each in context["page_links"]]
        return {**context, "page_links": numbered} | {
            name: self._as_requested(context[name]) for name in ("previous_url", "next_url")
        }

    def _as_requested(self, link: str | None) -> str | None:
        return requested_url(self.request, link) if self.request is not None and link else link


def wants_everything(request: Request) -> bool:
    """Return whether ``all=true`` was sent. Raises ValidationError for another value or an invalid page."""
    everything = request.query_params.get("all", "false")
    if everything not in {"true", "false"}:
        raise ValidationError({"all": ["true or false"]})
    _positive(request, "page", 1)
    _page_size(request)
    return bool(everything == "true")


def everything(request: Request, rows: QuerySet[Any], show: Callable[[list[Any]], list[Any]]) -> StreamingHttpResponse:
    """Return the envelope with every row, streamed. A broken connection leaves incomplete JSON."""
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
