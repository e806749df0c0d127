"""Building blocks of log filters: convert a URL parameter to a condition on a column.

An empty value selects rows without a value; ``exclude_`` keeps those rows.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import Q

from audit.querying.lookups import MAX_STARS, stars_in
from audit.spool.rows import client_key
from gatewall.engine.addresses import parse_network
from gatewall.engine.messages import Refused
from gatewall.engine.messages import gettext_noop as _

MAX_TEXT = 2048
EXCLUDE = "exclude_"
_MAX_BIG = 2**63 - 1
_COUNTRY = re.compile(r"[A-Za-z]{2}", re.ASCII)
Condition = Callable[[str], Q]


class FilterRefused(Refused):
    """A filter is invalid; ``field`` is its parameter."""

    def __init__(self, field: str, message: str, **params: object) -> None:
        super().__init__(message, **params)
        self.field = field


@dataclass(frozen=True, slots=True)
class Filter:
    """The filter of a field: conditions for a value (may raise Refused) and for an empty value, and the JSON schema."""

    condition: Condition
    empty: Q | None = None
    schema: Mapping[str, Any] | None = None
    excludes: bool = True

    @property
    def shape(self) -> Mapping[str, Any]:
        if self.schema is not None:
            return self.schema
        return {"type": "string", "minLength": 0 if self.empty is not None else 1, "maxLength": MAX_TEXT}


@dataclass(frozen=True, slots=True)
class Filters:
    """The conditions of a query.

    ``moments``: the time range. ``index``: one condition whose index also orders by time. ``rule``: a WAF rule that
    contributed, which also has such an index. ``network``: a range of clients, whose index is in another order.
    ``rest``: tested on each row.
    """

    moments: Q = field(default_factory=Q)
    index: Q = field(default_factory=Q)
    network: Q = field(default_factory=Q)
    rule: int | None = None
    rest: Q = field(default_factory=Q)


def text(column: str, *, empty: Q | None = None) -> Filter:
    """Return the filter of a text column; ``*`` matches any text."""

    def condition(value: str) -> Q:
        if "*" not in value:
            return Q((column, value))
        if stars_in(value) > MAX_STARS:
            raise Refused(_("at most %(number)s *"), number=MAX_STARS)
        return Q((f"{column}__wildcard", value))

    return Filter(condition, empty)


def one_of(choices: Collection[str], condition: Condition, *, empty: Q | None = None) -> Filter:
    """Return the filter of a field that has one of these values."""

    def chosen(value: str) -> Q:
        if value not in choices:
            raise Refused(_("one of %(values)s"), values=", ".join(choices))
        return condition(value)

    return Filter(chosen, empty, {"type": "string", "enum": [*choices, *([""] if empty is not None else [])]})


def like(pattern: re.Pattern[str], words: str, condition: Condition, *, empty: Q | None = None) -> Filter:
    """Return the filter of a text that matches a pattern; ``words`` describe the pattern in errors."""

    def matching(value: str) -> Q:
        if not pattern.fullmatch(value):
            raise Refused(words)
        return condition(value)

    return Filter(matching, empty, schema_of(pattern.pattern, empty))


def schema_of(pattern: str, empty: Q | None) -> dict[str, Any]:
    """Return the JSON schema of a text that matches the pattern."""
    return {"type": "string", "pattern": f"^({pattern}){'?' if empty is not None else ''}$"}


def number(lookup: str, *, low: int = 0, high: int = _MAX_BIG, empty: Q | None = None, excludes: bool = True) -> Filter:
    """Return the filter of an integer within these bounds."""
    shape = {"type": "integer", "minimum": low, "maximum": high}
    schema = {"oneOf": [shape, {"type": "string", "maxLength": 0}]} if empty is not None else shape
    return Filter(lambda value: Q((lookup, whole(value, low, high))), empty, schema, excludes)


def whole(value: str, low: int = 0, high: int = _MAX_BIG) -> int:
    """Return the text as an integer. Raises Refused."""
    if not (value.isascii() and value.isdigit() and len(value) <= len(str(_MAX_BIG)) and low <= int(value) <= high):
        raise Refused(_("a whole number from %(low)s to %(high)s"), low=low, high=high)
    return int(value)


def client(value: str) -> Q:
    """Return the condition for clients within an address or network. Raises Refused."""
    network = parse_network(value)
    first, last = client_key(str(network.network_address)), client_key(str(network.broadcast_address))
    return Q(client_key=first) if first == last else Q(client_key__gte=first, client_key__lte=last)


def none(column: str) -> Q:
    """Return the condition that the column is null."""
    return Q((f"{column}__isnull", True))


def country() -> Filter:
    """Return the filter of the country code."""
    words = _("a country code of two letters, like DE")
    return like(_COUNTRY, words, lambda value: Q(country_code=value.upper()), empty=none("country_code"))


def parameters_of(filters: Mapping[str, Filter]) -> dict[str, Mapping[str, Any]]:
    """Return the JSON schema of each parameter, including the ``exclude_`` variants."""
    return {
        name: each.shape
        for field_name, each in filters.items()
        for name in (field_name, *([f"{EXCLUDE}{field_name}"] if each.excludes else []))
    }


def condition_of(filters: Mapping[str, Filter], name: str, value: str) -> Q:
    """Return the condition of a parameter, before negation by ``exclude_``. Raises FilterRefused."""
    field_name = name.removeprefix(EXCLUDE)
    known = filters.get(field_name)
    if known is None or (field_name != name and not known.excludes):
        raise FilterRefused(name, _("this filter is unknown"))
    if not value and known.empty is not None:
        return known.empty
    if not value or len(value) > MAX_TEXT or "\0" in value:
        raise FilterRefused(name, _("a text of 1 to 2,048 characters"))
    try:
        return known.condition(value)
    except Refused as error:
        raise FilterRefused(name, error.message) from None


def filters_of(
    known: Mapping[str, Filter],
    parameters: Iterable[tuple[str, str]],
    *,
    start: datetime | None,
    end: datetime | None,
    in_order: Iterable[str],
) -> Filters:
    """Return the filters from these parameters, from ``start`` (inclusive) to ``end``. Raises FilterRefused.

    ``in_order``: fields whose index also orders by time, the most selective first.
    """
    if start is not None and end is not None and end <= start:
        raise FilterRefused("end_time", _("a time after start_time"))
    moments = Q(**({"at__gte": start} if start else {}), **({"at__lt": end} if end else {}))
    conditions: dict[str, Q] = {}
    rest = Q()
    for name, value in parameters:
        condition = condition_of(known, name, value)
        if name.startswith(EXCLUDE):
            rest &= ~condition
        else:
            conditions[name] = condition
    network = conditions.pop("client_ip", Q()) if _has_lookup("gte", conditions.get("client_ip")) else Q()
    first = next(
        (name for name in in_order if name in conditions and not _has_lookup("wildcard", conditions[name])), None
    )
    index = conditions.pop(first) if first else Q()
    for condition in conditions.values():
        rest &= condition
    return Filters(moments, index=index, network=network, rest=rest)


def _has_lookup(lookup: str, condition: Q | None) -> bool:
    leaves = condition.children if condition is not None else []
    return any(isinstance(leaf, tuple) and leaf[0].endswith(f"__{lookup}") for leaf in leaves)
