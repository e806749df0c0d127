"""A row of the log explorer: each value with the two queries that ask for it alone and leave it out."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy

from audit.models import AccessLog
from audit.querying.field_filters import EXCLUDE
from audit.spool.records import FIELDS
from gatewall.console.log.log_query import MOMENTS, LogQuery
from gatewall.console.site import links

LABELS = {name: gettext_lazy(label) for field in FIELDS for name, label in field.words.items()}
"""What each filter of the API is called on the page."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A value, and the queries about it: "" where no filter can say so; ``html`` shows them."""

    name: str
    text: str
    only: str
    exclude: str
    html: SafeString


@dataclass(frozen=True, slots=True)
class LogRow:
    """One answer of the gate, as the page shows it."""

    row: AccessLog
    cells: Mapping[str, Cell]
    rules: list[Cell]
    explain: str
    ban: str
    allow: str


@dataclass(frozen=True, slots=True)
class Chip:
    """A filter that is on, and the query without it."""

    name: str
    label: str | Promise
    value: str
    excludes: bool
    without: str
    errors: list[str]


MAX_BACK = 2_000
"""A longer query is not handed from page to page."""
_ONLY = '<a href="?{}"><span class="visually-hidden">{} </span><bdi>{}</bdi></a>'
_NOT = '<a class="not" href="?{}"><span aria-hidden="true">≠</span><span class="visually-hidden">{}</span></a>'
_SHOWN = ("outcome", "reason", "client_ip", "country_code", "method", "host", "path", "query", "user_agent", "status")


def log_rows(rows: Iterable[AccessLog], log_query: LogQuery) -> list[LogRow]:
    """Return the rows with their links."""
    cells = _Cells(log_query)
    return [_log_row(row, log_query, cells) for row in rows]


def chips(log_query: LogQuery) -> list[Chip]:
    """Return the filters that are on, and what is wrong with them."""
    found = []
    for name, value in log_query.chosen:
        field = name.removeprefix(EXCLUDE)
        label = LABELS.get(field, field)
        is_known = field in LABELS or name in MOMENTS
        errors = log_query.errors.get(name, [])
        excludes = field != name and is_known
        found.append(Chip(name, label, value, excludes, log_query.changed(name), errors))
    return found


class _Cells:
    """The cells of one page, each made once: many rows have the same host, outcome or rule.

    They are written here and not in a template, which takes three times as long.
    """

    def __init__(self, log_query: LogQuery) -> None:
        self._log_query = log_query
        self._made: dict[tuple[str, str, str], Cell] = {}
        self._labels = {name: str(label) for name, label in LABELS.items()}

    def of(self, name: str, value: Any, text: str = "") -> Cell:
        """Return the cell of a value, shown as this text if there is one."""
        value = "" if value is None else str(value)
        key = name, value, text or value
        if key not in self._made:
            self._made[key] = self._cell(*key)
        return self._made[key]

    def _cell(self, name: str, value: str, text: str) -> Cell:
        only, exclude = self._log_query.narrowed(name, value), self._log_query.excluded(name, value)
        label, shown = self._labels[name], text or "-"
        inner = format_html("<bdi>{}</bdi>", shown)
        if only:
            inner = format_html(_ONLY, only, gettext("only %(label)s") % {"label": label}, shown)
        words = gettext("not %(label)s %(text)s") % {"label": label, "text": shown}
        html = format_html(
            '<span class="value">{}{}</span>', inner, format_html(_NOT, exclude, words) if exclude else ""
        )
        return Cell(name, text, only, exclude, html)


def _log_row(row: AccessLog, log_query: LogQuery, made: _Cells) -> LogRow:
    cells = {name: made.of(name, getattr(row, name)) for name in _SHOWN}
    if row.subject_kind is not None:
        cells["subject"] = made.of("subject", f"{row.subject_kind}:{row.subject_id}", row.subject_name or "")
    back = log_query.query if len(log_query.query) <= MAX_BACK else ""
    more = {"decision_id": str(row.decision_id), **({"back": back} if back else {})}
    return LogRow(
        row,
        cells,
        [made.of("rule_id", rule["id"], str(rule.get("name") or "")) for rule in row.rules],
        explain=links.explain(row.decision_id),
        ban=links.ban(row.client_ip, **more),
        allow=links.allow(row.client_ip, host=row.host or "", **more),
    )
