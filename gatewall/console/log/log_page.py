"""The log explorer: the access log with the filters of the API in its address, and the views that are kept of it."""

from enum import StrEnum
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.authentication import signed_in_user
from audit.log import query
from audit.log.filters import FILTERS
from audit.querying import export
from audit.querying.field_filters import EXCLUDE
from audit.querying.keyset import COUNT_BUDGET
from gatewall.console.log import log_query as queries
from gatewall.console.log import saved_views
from gatewall.console.log.log_query import MAX_PAGE_SIZE, MOMENTS, LogQuery, Pairs, read_query
from gatewall.console.log.log_rows import LABELS, chips, log_rows
from gatewall.console.site.pages import OperatorPage
from gatewall.console.site.refreshing import CHOICES, refreshed
from gatewall.engine.model import Effect, Reason

QUICK = ("client_ip", "host", "path", "outcome", "reason", "status")
"""The fields that stand in the form; the others are added one by one."""
VERBS = ("is", "is-not", "has-none", "has-some")
_COUNTED = 10_000
"""So many rows are counted without being asked to."""
_SIZES = (25, 50, 100, MAX_PAGE_SIZE)
_ADDED = ("add_field", "add_verb", "add_value")


class Log(OperatorPage):
    """The rows that match, newest first."""

    template = "console/log.html"
    title = gettext_lazy("Log")

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show a page of the rows that the address asks for."""
        wanted = read_query(request.META.get("QUERY_STRING", ""))
        if wanted.errors:
            return self.shown(request, HTTPStatus.BAD_REQUEST, **_frame(request, wanted), rows=[], failed=True)
        page = query.page_of(wanted.filters, wanted.after, wanted.page_size)
        budget = COUNT_BUDGET if wanted.wants_count else _COUNTED
        context = {
            "rows": log_rows(page.rows, wanted),
            "older": wanted.older(page.next) if page.next else None,
            "newer": wanted.newer(),
            "newest": wanted.changed("refresh", "count") if wanted.after else None,
            "number": query.number_of(wanted.filters, budget=budget),
            "budget": budget,
            "count_all": None if wanted.wants_count else wanted.changed(count="true"),
            "exports": [(kind.upper(), _export(wanted, kind)) for kind in export.FORMATS],
        }
        return refreshed(self.shown(request, **_frame(request, wanted), **context), wanted.refresh)


class Find(OperatorPage):
    """Turns what was filled in into the address of the log: what is empty there asks for nothing."""

    http_method_names = ["get", "head"]

    def get(self, request: HttpRequest) -> HttpResponse:
        """Lead to the log with these filters; the log says what is wrong with one."""
        known = {*QUICK, *MOMENTS, *_ADDED, "page_size", "rest"}
        try:
            pairs = dict(queries.pairs_of(request.GET.get("rest", "")))
        except ValueError:
            raise BadRequest("too many parameters") from None
        for name, values in request.GET.lists():
            value = values[-1]
            if name in MOMENTS or name == "page_size" or name in QUICK:
                pairs[name] = _moment(value.strip()) if name in MOMENTS else value.strip()
                if not pairs[name]:
                    del pairs[name]
            elif name not in known:
                pairs[name] = value
        pairs |= _added(*(request.GET.get(name, "") for name in _ADDED))
        return HttpResponseRedirect(f"{reverse('console:log')}?{urlencode(pairs)}")


def _added(field: str, verb: str, value: str) -> dict[str, str]:
    """Return the one more filter that was filled in, if one was."""
    if not field or (verb in {"is", "is-not"} and not value):
        return {}
    excludes = verb in {"is-not", "has-some"}
    return {f"{EXCLUDE}{field}" if excludes else field: "" if verb in {"has-none", "has-some"} else value}


def _moment(text: str) -> str:
    """Return what a browser's field for date and time sends as the API takes it: in UTC."""
    if len(text) == len("2026-01-31T12:00"):
        text += ":00"
    return f"{text}Z" if len(text) >= len("2026-01-31T12:00:00") and "+" not in text and text[-1] != "Z" else text


def _frame(request: HttpRequest, wanted: LogQuery) -> dict[str, Any]:
    """Return what the page shows besides rows: filters, forms, views."""
    fields = {*QUICK, *MOMENTS}
    rest = [(name, value) for name, value in wanted.pairs if not (name in fields and value) and name != "page_size"]
    known = {name for name, _ in wanted.chosen}
    return {
        "log_query": wanted,
        "chips": chips(wanted),
        "quick": [_field(wanted, name) for name in QUICK],
        "moments": [_field(wanted, name) for name in MOMENTS],
        "rest": urlencode(_without_place(rest)),
        "whole": wanted.query,
        "fields": [(name, LABELS[name]) for name in FILTERS],
        "verbs": [(verb, words) for verb, words in zip(VERBS, _verbs(), strict=True)],
        "sizes": sorted({*_SIZES, wanted.page_size}),
        "wrong": [(name, words) for name, words in wanted.errors.items() if name not in known],
        "refreshes": [
            (_("Off") if each == CHOICES[0] else _("%(seconds)s s") % {"seconds": each}, _refresh(wanted, each), each)
            for each in CHOICES
        ],
        "views": saved_views.seen_by(signed_in_user(request)),
    }


def _verbs() -> tuple[str, ...]:
    return _("is"), _("is not"), _("has none"), _("has some")


def _without_place(pairs: Pairs) -> Pairs:
    return [(name, value) for name, value in pairs if name not in {"cursor", "trail", "count", "refresh"}]


_CHOICES: dict[str, tuple[StrEnum, ...]] = {"outcome": tuple(Effect), "reason": tuple(Reason)}


def _field(wanted: LogQuery, name: str) -> dict[str, Any]:
    choices = _CHOICES.get(name, ())
    errors = wanted.errors.get(name, [])
    value = wanted.value(name) or ""
    if name in MOMENTS and not errors:
        value = value.removesuffix("Z")
    return {
        "name": name,
        "label": LABELS[name],
        "value": value,
        "errors": errors,
        "choices": [each.value for each in choices] if not errors else [],
    }


def _refresh(wanted: LogQuery, seconds: str) -> str:
    return wanted.changed(refresh=None if seconds == CHOICES[0] else seconds)


def _export(wanted: LogQuery, kind: str) -> str:
    return f"{reverse('access-logs')}?{urlencode([*wanted.chosen, ('format', kind)])}"
