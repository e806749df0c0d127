"""Log explorer: the access log with the API's filters in the URL, and saved views."""

from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from django.core.exceptions import BadRequest
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext, gettext_lazy

from accounts.authentication import signed_in_user
from audit.log import query
from audit.log.filters import FILTERS
from audit.querying import export
from audit.querying.field_filters import EXCLUDE
from audit.querying.keyset import COUNT_BUDGET
from gatewall.api.content_policy import content_security_policy
from gatewall.console.log import log_query as queries
from gatewall.console.log import saved_views
from gatewall.console.log.histogram_view import shown_histogram
from gatewall.console.log.log_query import MAX_PAGE_SIZE, MOMENTS, LogQuery, read_query
from gatewall.console.log.log_rows import LABELS, chips, log_rows
from gatewall.console.log.rule_of_filters import rule_link
from gatewall.console.site.pages import REFRESH_CHOICES, OperatorPage, refresh_labels, refreshed
from gatewall.engine.model import Effect, Reason
from policies.country_choices import Choices, code_named, country_choices

QUICK = ("client_ip", "country_code", "host", "path", "outcome", "reason", "status", "would_refuse", "waf_score_min")
"""The fields that are always in the form; others are added one by one."""
VERBS = {
    "is": gettext_lazy("is"),
    "is-not": gettext_lazy("is not"),
    "has-none": gettext_lazy("is empty"),
    "has-some": gettext_lazy("is not empty"),
}
_COUNTED = 10_000
"""Limit of the count that every page makes."""
_LATE = timedelta(seconds=5)
"""How much later than newer records a record of another host may reach the log."""
_SIZES = (25, 50, 100, MAX_PAGE_SIZE)
_ADDED = ("add_field", "add_verb", "add_value")


class Log(OperatorPage):
    """The matching rows, newest first."""

    template = "console/log.html"
    title = gettext_lazy("Live log")

    def get(self, request: HttpRequest) -> HttpResponse:
        log_query = read_query(request.META.get("QUERY_STRING", ""))
        if log_query.errors:
            return self.render(request, HTTPStatus.BAD_REQUEST, **_frame(request, log_query), rows=[], failed=True)
        page = query.page_of(log_query.filters, log_query.after, log_query.page_size)
        budget = COUNT_BUDGET if log_query.wants_count else _COUNTED
        context = {
            "rows": log_rows(page.rows, log_query),
            "older": log_query.older(page.next) if page.next else None,
            "newer": log_query.newer(),
            "newest": log_query.changed("refresh", "count") if log_query.after else None,
            "number": query.number_of(log_query.filters, budget=budget),
            "budget": budget,
            "count_all": None if log_query.wants_count else log_query.changed(count="true"),
            "histogram": shown_histogram(log_query, timezone.now()),
            "live": _live(log_query),
            "rule": rule_link(log_query),
            "opened": log_query.value("decision_id"),
            "exports": [(kind.upper(), _export(log_query, kind)) for kind in export.FORMATS],
        }
        response = refreshed(self.render(request, **_frame(request, log_query), **context), log_query.refresh)
        response["Content-Security-Policy"] = content_security_policy(scripts_call_us=True)
        return response


class NewRows(OperatorPage):
    """Rows of the first page of a query since a moment, as HTML: for the script that follows the log."""

    http_method_names = ["get", "head"]

    def get(self, request: HttpRequest) -> HttpResponse:
        log_query, since = read_query(request.GET.get("query", "")), _since(request.GET.get("since", ""))
        if log_query.errors or since is None:
            raise BadRequest("query and since are those of a page of the log")
        filters = replace(log_query.filters, moments=log_query.filters.moments & Q(at__gte=since))
        page = query.page_of(filters, None, log_query.page_size)
        return render(request, "console/log_rows.html", {"rows": log_rows(page.rows, log_query)})


def _since(text: str) -> datetime | None:
    try:
        at = parse_datetime(text)
        return at - _LATE if at and at.tzinfo else None
    except (ValueError, OverflowError):
        return None


class Find(OperatorPage):
    """Redirect from the filter form to the log's URL, without empty fields."""

    http_method_names = ["get", "head"]

    def get(self, request: HttpRequest) -> HttpResponse:
        known = {*QUICK, *MOMENTS, *_ADDED, "page_size", "rest"}
        try:
            pairs = dict(queries.pairs_of(request.GET.get("rest", "")))
        except ValueError:
            raise BadRequest("too many parameters") from None
        for name, values in request.GET.lists():
            value = values[-1]
            if name in MOMENTS or name == "page_size" or name in QUICK:
                if value.strip():
                    pairs[name] = _moment(value.strip()) if name in MOMENTS else value.strip()
                elif pairs.get(name):  # an empty field keeps a filter with an empty value: rows without a value
                    del pairs[name]
            elif name not in known:
                pairs[name] = value
        pairs |= _extra_filter(*(request.GET.get(name, "") for name in _ADDED))
        return HttpResponseRedirect(f"{reverse('console:log')}?{urlencode(pairs)}")


def _extra_filter(field: str, verb: str, value: str) -> dict[str, str]:
    if not field or (verb in {"is", "is-not"} and not value):
        return {}
    if field == "country_code":
        value = code_named(value) or value
    excludes = verb in {"is-not", "has-some"}
    return {f"{EXCLUDE}{field}" if excludes else field: "" if verb in {"has-none", "has-some"} else value}


def _moment(text: str) -> str:
    """Return the value of a datetime-local input in the format of the API, in UTC."""
    if len(text) == len("2026-01-31T12:00"):
        text += ":00"
    return f"{text}Z" if len(text) >= len("2026-01-31T12:00:00") and "+" not in text and text[-1] != "Z" else text


def _frame(request: HttpRequest, log_query: LogQuery) -> dict[str, Any]:
    """Return the template's context except the rows: filters, forms, saved views."""
    in_form, elsewhere = {*QUICK, *MOMENTS}, {"page_size", "cursor", "trail", "count", "refresh"}
    rest = [pair for pair in log_query.pairs if not (pair[0] in in_form and pair[1]) and pair[0] not in elsewhere]
    known = {name for name, _ in log_query.chosen}
    return {
        "log_query": log_query,
        "chips": chips(log_query),
        "quick": [_field(log_query, name) for name in QUICK],
        "moments": [_field(log_query, name) for name in MOMENTS],
        "rest": urlencode(rest),
        "whole": log_query.query,
        "fields": [(name, LABELS[name]) for name in FILTERS],
        "verbs": VERBS.items(),
        "sizes": sorted({*_SIZES, log_query.page_size}),
        "wrong": [(name, words) for name, words in log_query.errors.items() if name not in known],
        "refreshes": [(words, _refresh(log_query, each), each) for each, words in refresh_labels().items()],
        "views": saved_views.seen_by(signed_in_user(request)),
    }


_CHOICES: dict[str, type[StrEnum]] = {"outcome": Effect, "reason": Reason}


def _choices(name: str, chosen: str) -> Choices:
    """Return the values of a field with their labels; empty for free text."""
    if name == "would_refuse":
        return [("true", gettext("yes")), ("false", gettext("no"))]
    if name != "country_code":
        return [(each.value, each.value) for each in _CHOICES.get(name, ())]
    choices = country_choices()
    is_listed = not chosen or chosen in dict(choices)  # a geo database may know others, such as XK
    return choices if is_listed else [(chosen, chosen), *choices]


def _field(log_query: LogQuery, name: str) -> dict[str, Any]:
    errors = log_query.errors.get(name, [])
    value = log_query.value(name) or ""
    if name in MOMENTS and not errors:
        value = value.removesuffix("Z")
    if name == "country_code" and not errors:
        value = value.upper()
    return {
        "name": name,
        "label": LABELS[name],
        "value": value,
        "errors": errors,
        "choices": _choices(name, value) if not errors else [],
    }


def _refresh(log_query: LogQuery, seconds: str) -> str:
    return log_query.changed(refresh=None if seconds == REFRESH_CHOICES[0] else seconds)


def _live(log_query: LogQuery) -> str:
    """Return the URL of the new rows, empty if the query can have none."""
    if log_query.after or log_query.end or any(name == "decision_id" for name, _value in log_query.pairs):
        return ""
    return f"{reverse('console:log-rows')}?{urlencode({'query': log_query.query})}"


def _export(log_query: LogQuery, kind: str) -> str:
    return f"{reverse('access-logs')}?{urlencode([*log_query.chosen, ('format', kind)])}"
