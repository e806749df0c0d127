"""Rows of the log explorer: each value with queries that select or exclude it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy

from audit.models import AccessLog
from audit.querying.field_filters import EXCLUDE
from audit.spool.records import FIELDS, Field, Kind, grant_of
from gatewall.console.log.log_query import MOMENTS, LogQuery
from gatewall.console.site import links

LABELS = {name: gettext_lazy(label) for field in FIELDS for name, label in field.words.items()}
"""Labels of the API's filters."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A value with its queries, "" if no filter can express one; ``html`` renders them."""

    name: str
    text: str
    only: str
    exclude: str
    html: SafeString


@dataclass(frozen=True, slots=True)
class LogRow:
    """One access log entry, as rendered."""

    row: AccessLog
    cells: Mapping[str, Cell]
    rules: list[Cell]
    facts: list[tuple[str, list[Cell]]]
    """Label and values of each field that has one."""
    link: str
    explain: str
    ban: str
    allow: str


@dataclass(frozen=True, slots=True)
class Chip:
    """An active filter, and the query without it."""

    name: str
    label: str | Promise
    value: str
    excludes: bool
    without: str
    errors: list[str]

    @property
    def is_moment(self) -> bool:
        return self.name in MOMENTS


MAX_BACK = 2_000
"""Maximum length of a query that is passed from page to page."""
_SELECT_LINK = '<a href="?{}"><span class="visually-hidden">{} </span><bdi>{}</bdi></a>'
_EXCLUDE_LINK = '<a class="not" href="?{}"><span aria-hidden="true">≠</span><span class="visually-hidden">{}</span></a>'
_SHOWN = ("outcome", "reason", "client_ip", "country_code", "method", "host", "path", "query", "user_agent", "status")
_NOT_FACTS = frozenset({"decision_id", "at", "rules", "would_refuse"})
"""Fields that the row shows elsewhere than in its list of facts."""


def log_rows(rows: Iterable[AccessLog], log_query: LogQuery) -> list[LogRow]:
    """Return the rows with their links."""
    cells = _Cells(log_query)
    return [_log_row(row, log_query, cells) for row in rows]


def chips(log_query: LogQuery) -> list[Chip]:
    """Return the active filters and their errors."""
    result = []
    for name, value in log_query.chosen:
        field = name.removeprefix(EXCLUDE)
        label = LABELS.get(field, field)
        is_known = field in LABELS or name in MOMENTS
        errors = log_query.errors.get(name, [])
        excludes = field != name and is_known
        result.append(Chip(name, label, value, excludes, log_query.changed(name), errors))
    return result


class _Cells:
    """The cells of one page, cached by value; rendered in Python, three times as fast as by a template."""

    def __init__(self, log_query: LogQuery) -> None:
        self._log_query = log_query
        self._made: dict[tuple[str, str, str], Cell] = {}
        self.labels = {name: str(label) for name, label in LABELS.items()}

    def of(self, name: str, value: Any, text: str = "") -> Cell:
        """Return the cell of a value, rendered as ``text`` if given."""
        value = "" if value is None else str(value)
        key = name, value, text or value
        if key not in self._made:
            self._made[key] = self._cell(*key)
        return self._made[key]

    def _cell(self, name: str, value: str, text: str) -> Cell:
        only, exclude = self._log_query.narrowed(name, value), self._log_query.excluded(name, value)
        label, label_text = self.labels[name], text or "-"
        inner = format_html("<bdi>{}</bdi>", label_text)
        if only:
            inner = format_html(_SELECT_LINK, only, gettext("only %(label)s") % {"label": label}, label_text)
        words = gettext("not %(label)s %(text)s") % {"label": label, "text": label_text}
        html = format_html(
            '<span class="value">{}{}</span>', inner, format_html(_EXCLUDE_LINK, exclude, words) if exclude else ""
        )
        return Cell(name, text, only, exclude, html)


def _log_row(row: AccessLog, log_query: LogQuery, cell_cache: _Cells) -> LogRow:
    cells = {name: cell_cache.of(name, getattr(row, name)) for name in _SHOWN}
    if row.would_refuse:
        cells["would_refuse"] = cell_cache.of("would_refuse", "true", gettext("WAF would refuse"))
    if row.waf_score is not None:
        cells["waf_score"] = cell_cache.of("waf_score_min", row.waf_score, str(row.waf_score))
    if row.subject_kind is not None:
        cells["subject"] = cell_cache.of("subject", f"{row.subject_kind}:{row.subject_id}", row.subject_name or "")
    rules = [cell_cache.of("rule_id", rule["id"], str(rule.get("name") or "")) for rule in row.rules]
    back = log_query.query if len(log_query.query) <= MAX_BACK else ""
    more = {"decision_id": str(row.decision_id), **({"back": back} if back else {})}
    return LogRow(
        row,
        cells,
        rules,
        list(_facts(row, cell_cache)),
        link=links.log(decision_id=row.decision_id),
        explain=links.explain(row.decision_id),
        ban=links.ban(row.client_ip, **more),
        allow=links.allow(row.client_ip, host=row.host or "", **more),
    )


def _facts(row: AccessLog, cell_cache: _Cells) -> Iterator[tuple[str, list[Cell]]]:
    """Yield label and cells of each field with a value."""
    for field in FIELDS:
        if field.name in _NOT_FACTS:
            continue
        cells = [cell_cache.of(*values) for values in _values(field, row)]
        if cells:
            yield cell_cache.labels[next(iter(field.words))], cells
    if grant := grant_of(row.reason, {"id": row.decided_by_id}, {"id": row.subject_id}):
        name = "{kind}:{id}".format_map(grant)
        yield cell_cache.labels["grant"], [cell_cache.of("grant", name)]


def _values(field: Field, row: AccessLog) -> Iterator[tuple[str, Any, str]]:
    """Yield filter, value and text of each value of a field."""
    if field.kind is Kind.ROW:
        kind, number = getattr(row, f"{field.name}_kind"), getattr(row, f"{field.name}_id")
        if kind is not None:
            yield field.name, f"{kind}:{number}", " ".join(filter(None, (kind, _name_of(row, field) or str(number))))
        return
    value = getattr(row, field.name)
    if isinstance(value, dict):  # credential and shadow, whose filters are of their parts
        parts = ((name, value.get(name.removeprefix(f"{field.name}_"))) for name in field.words)
        yield from ((name, part, str(part)) for name, each in parts for part in _several(each))
    else:
        yield from ((field.name, part, str(part)) for part in _several(value))


def _several(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if value not in (None, "") else []


def _name_of(row: AccessLog, field: Field) -> str:
    return (getattr(row, f"{field.name}_name") or "") if "name" in field.parts else ""
