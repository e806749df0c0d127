"""Query string of the log explorer: the API's filters, parsed by its code, and options of the page."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import parse_qsl, urlencode

from django.http import HttpRequest, QueryDict
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from audit.log.filters import FILTERS, PARAMETERS
from audit.querying.field_filters import EXCLUDE, FilterRefused, Filters, condition_of
from audit.querying.keyset import Cursor, CursorRefused
from audit.querying.log_views import cursor_in, filters_in
from audit.views import ACCESS_LOG
from gatewall.api.pagination import PAGE_SIZE
from gatewall.api.queries import (
    choice_in,
    moment_in,
    refuse_ambiguous_query,
    refuse_unknown_parameters,
    refused_parameter,
    whole_number_in,
)
from gatewall.api.translation import translated
from gatewall.console.site.pages import REFRESH_CHOICES
from gatewall.engine.messages import Message
from gatewall.engine.messages import gettext_noop as _

MAX_PAGE_SIZE = 200
MOMENTS = ("start_time", "end_time")
_PLACE = ("cursor", "trail")
_DISPLAY = ("page_size", "count", "refresh")
_KNOWN = {*PARAMETERS, *MOMENTS, *_PLACE, *_DISPLAY}
_MOST_PAGES_BACK = 20
_MOST_PARAMETERS = 100

Pairs = list[tuple[str, str]]


@dataclass(slots=True)
class LogQuery:
    """Parameters of the log explorer as sent and as parsed; ``errors`` by parameter.

    With errors, only the parameters and the errors are valid.
    """

    pairs: Pairs
    errors: dict[str, list[str]] = field(default_factory=dict)
    filters: Filters = field(default_factory=Filters)
    start: datetime | None = None
    end: datetime | None = None
    after: Cursor | None = None
    trail: list[str] = field(default_factory=list)
    page_size: int = PAGE_SIZE
    wants_count: bool = False
    refresh: str = REFRESH_CHOICES[0]

    @property
    def chosen(self) -> Pairs:
        """Return the filters and moments, without cursor and page options."""
        return [(name, value) for name, value in self.pairs if name not in {*_PLACE, *_DISPLAY}]

    @property
    def query(self) -> str:
        """Return the filters, moments and page size: the query that a saved view stores."""
        return urlencode([(name, value) for name, value in self.pairs if name not in {*_PLACE, "count", "refresh"}])

    def value(self, name: str) -> str | None:
        """Return the value of a parameter, None without it."""
        return next((value for each, value in self.pairs if each == name), None)

    def changed(self, *without: str, **values: str | None) -> str:
        """Return the query of the first page with other values; None removes a parameter."""
        gone = {*without, *values, *_PLACE}
        kept = [(name, value) for name, value in self.pairs if name not in gone]
        return urlencode(kept + [(name, value) for name, value in values.items() if value is not None])

    def narrowed(self, name: str, value: str) -> str:
        """Return the query for this value of a field only, "" if no filter can express it."""
        return self.changed(f"{EXCLUDE}{name}", **{name: value}) if _is_valid_filter(name, value) else ""

    def excluded(self, name: str, value: str) -> str:
        """Return the query without a value of a field, "" if no filter can express it."""
        return self.changed(**{f"{EXCLUDE}{name}": value}) if _is_valid_filter(f"{EXCLUDE}{name}", value) else ""

    def older(self, cursor: Cursor) -> str:
        """Return the query of the next page, with the cursors of the previous pages."""
        trail = [*self.trail, str(self.after) if self.after else "-"][-_MOST_PAGES_BACK:]
        return self._at_page({"cursor": str(cursor), "trail": ".".join(trail)})

    def newer(self) -> str | None:
        """Return the query of the previous page, None on the first page and beyond a long trail."""
        if not self.trail:
            return None
        *before, last = self.trail
        place = {"cursor": last} if last != "-" else {}
        place |= {"trail": ".".join(before)} if before else {}
        return self._at_page(place)

    def _at_page(self, place: dict[str, str]) -> str:
        return "&".join(filter(None, (self.changed("refresh", "count"), urlencode(place))))


def read_query(query: str) -> LogQuery:
    """Parse a query string of the log explorer; problems are in ``errors``."""
    try:
        pairs = pairs_of(query)
    except ValueError:
        return LogQuery([], {"": [translated(Message(_("at most %(number)s parameters"), number=_MOST_PARAMETERS))]})
    query_read = LogQuery(pairs)
    for step in (_refuse_unknown, _read_filters, _read_place, _read_options):
        try:
            step(query_read, _request(query))
        except ValidationError as error:
            details = error.detail if isinstance(error.detail, dict) else {"": error.detail}
            for name, words in details.items():
                query_read.errors.setdefault(name, []).extend(map(str, words))
    return query_read


def pairs_of(query: str) -> Pairs:
    """Return the parameters of a query string, empty ones included. Raises ValueError for too many."""
    return parse_qsl(query, keep_blank_values=True, max_num_fields=_MOST_PARAMETERS)


def _request(query: str) -> Request:
    plain = HttpRequest()
    plain.META["QUERY_STRING"] = query
    plain.GET = QueryDict(query)
    return Request(plain)


def _refuse_unknown(_found: LogQuery, request: Request) -> None:
    refuse_ambiguous_query(request)
    refuse_unknown_parameters(request, _KNOWN)


def _read_filters(query_read: LogQuery, request: Request) -> None:
    # One by one first, so that each field has its own error.
    wrong = dict(_refused(query_read.pairs))
    if wrong:
        raise ValidationError(wrong)
    query_read.filters = filters_in(request, ACCESS_LOG)
    query_read.start, query_read.end = (moment_in(request, name) for name in MOMENTS)


def _refused(pairs: Pairs) -> Iterator[tuple[str, list[str]]]:
    for name, value in pairs:
        if name in PARAMETERS:
            try:
                condition_of(FILTERS, name, value)
            except FilterRefused as refused:
                yield name, [translated(refused.message)]


def _read_place(query_read: LogQuery, request: Request) -> None:
    query_read.after = cursor_in(request, ACCESS_LOG)
    query_read.trail = [each for each in request.query_params.get("trail", "").split(".") if each]
    try:
        for each in query_read.trail:
            if each != "-":
                Cursor.parse(each, ACCESS_LOG.key)
    except CursorRefused as refused:
        raise refused_parameter("trail", refused.message) from None
    if len(query_read.trail) > _MOST_PAGES_BACK:
        raise refused_parameter("trail", _("at most %(number)s cursors"), number=_MOST_PAGES_BACK)


def _read_options(query_read: LogQuery, request: Request) -> None:
    query_read.page_size = whole_number_in(request, "page_size", 1, MAX_PAGE_SIZE) or PAGE_SIZE
    query_read.wants_count = choice_in(request, "count", ("false", "true")) == "true"
    query_read.refresh = choice_in(request, "refresh", REFRESH_CHOICES)


def _is_valid_filter(name: str, value: str) -> bool:
    try:
        condition_of(FILTERS, name, value)
    except FilterRefused:
        return False
    return True
