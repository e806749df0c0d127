"""The parts that filters of logs are made of: a parameter of a URL as a condition on a column.

An empty value means "has none": ``country_code=`` finds what came from an unknown country. To exclude a
value keeps the rows that have none.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import Q

from audit.querying.wildcards import MAX_STARS, stars_in
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
    """A filter that cannot be understood; ``field`` says which."""

    def __init__(self, field: str, message: str, **params: object) -> None:
        super().__init__(message, **params)
        self.field = field


@dataclass(frozen=True, slots=True)
class Filter:
    """What may be asked of one field: the condition of a value (which may raise Refused), that of an
    empty one where there is such a thing, and the JSON schema of the parameter.
    """

    condition: Condition
    empty: Q | None = None
    schema: Mapping[str, Any] | None = None
    excludes: bool = True

    @property
    def shape(self) -> Mapping[str, Any]:
        """The JSON schema: of any text, unless there is one of its own."""
        if self.schema is not None:
            return self.schema
        return {"type": "string", "minLength": 0 if self.empty is not None else 1, "maxLength": MAX_TEXT}


@dataclass(frozen=True, slots=True)
class Filters:
    """What to look for.

    ``moments``: from when until when. ``index``: one condition whose index gives its rows in the order
    of time; ``rule``: the WAF rule that contributed, found in the same way. ``network``: a range of clients,
    which has an index too, but in another order. ``rest`` is held against each row.
    """

    moments: Q = field(default_factory=Q)
    index: Q = field(default_factory=Q)
    network: Q = field(default_factory=Q)
    rule: int | None = None
    rest: Q = field(default_factory=Q)


def text(column: str, *, empty: Q | None = None) -> Filter:
    """A text column; ``*`` stands for anything."""

    def condition(value: str) -> Q:
        if "*" not in value:
            return Q((column, value))
        if stars_in(value) > MAX_STARS:
            raise Refused(_("at most %(number)s *"), number=MAX_STARS)
        return Q((f"{column}__wildcard", value))

    return Filter(condition, empty)


def one_of(choices: Collection[str], condition: Condition, *, empty: Q | None = None) -> Filter:
    """One of these values."""

    def chosen(value: str) -> Q:
        if value not in choices:
            raise Refused(_("one of %(values)s"), values=", ".join(choices))
        return condition(value)

    return Filter(chosen, empty, {"type": "string", "enum": [*choices, *([""] if empty is not None else [])]})


def like(pattern: re.Pattern[str], words: str, condition: Condition, *, empty: Q | None = None) -> Filter:
    """A text that fits a pattern; ``words`` say which."""

    def fitting(value: str) -> Q:
        if not pattern.fullmatch(value):
            raise Refused(words)
        return condition(value)

    return Filter(fitting, empty, schema_of(pattern.pattern, empty))


def schema_of(pattern: str, empty: Q | None) -> dict[str, Any]:
    """Return the JSON schema of a text that fits."""
    return {"type": "string", "pattern": f"^({pattern}){'?' if empty is not None else ''}$"}


def number(lookup: str, *, low: int = 0, high: int = _MAX_BIG, empty: Q | None = None, excludes: bool = True) -> Filter:
    """A whole number in these bounds."""
    shape = {"type": "integer", "minimum": low, "maximum": high}
    schema = {"oneOf": [shape, {"type": "string", "maxLength": 0}]} if empty is not None else shape
    return Filter(lambda value: Q((lookup, whole(value, low, high))), empty, schema, excludes)


def whole(value: str, low: int = 0, high: int = _MAX_BIG) -> int:
    """Return the whole number of a text. Raises Refused."""
    if not (value.isascii() and value.isdigit() and len(value) <= len(str(_MAX_BIG)) and low <= int(value) <= high):
        raise Refused(_("a whole number from %(low)s to %(high)s"), low=low, high=high)
    return int(value)


def client(value: str) -> Q:
    """Return the condition for the clients of an address or network. Raises Refused."""
    network = parse_network(value)
    first, last = client_key(str(network.network_address)), client_key(str(network.broadcast_address))
    return Q(client_key=first) if first == last else Q(client_key__gte=first, client_key__lte=last)


def none(column: str) -> Q:
    """Return the condition that a column is null."""
    return Q((f"{column}__isnull", True))


def country() -> Filter:
    """Return the filter of a country code."""
    return like(_COUNTRY, _("two letters"), lambda value: Q(country_code=value.upper()), empty=none("country_code"))


def parameters_of(filters: Mapping[str, Filter]) -> dict[str, Mapping[str, Any]]:
    """Return the JSON schema of each parameter: each filter and, where it may be turned round, ``exclude_`` and it."""
    return {
        name: each.shape
        for field_name, each in filters.items()
        for name in (field_name, *([f"{EXCLUDE}{field_name}"] if each.excludes else []))
    }


def condition_of(filters: Mapping[str, Filter], name: str, value: str) -> Q:
    """Return the condition that a parameter is, as if it were not to exclude. Raises FilterRefused."""
    field_name = name.removeprefix(EXCLUDE)
    known = filters.get(field_name)
    if known is None or (field_name != name and not known.excludes):
        raise FilterRefused(name, _("there is no such filter"))
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
    """Return the filters that these parameters mean, from ``start`` on and before ``end``. Raises FilterRefused.

    ``in_order``: what has an index that gives its rows in the order of time, the most selective first.
    """
    if start is not None and end is not None and end <= start:
        raise FilterRefused("end_time", _("a moment after start_time"))
    moments = Q(**({"at__gte": start} if start else {}), **({"at__lt": end} if end else {}))
    wanted: dict[str, Q] = {}
    rest = Q()
    for name, value in parameters:
        condition = condition_of(known, name, value)
        if name.startswith(EXCLUDE):
            rest &= ~condition
        else:
            wanted[name] = condition
    network = wanted.pop("client_ip", Q()) if _has_lookup("gte", wanted.get("client_ip")) else Q()
    best = next((name for name in in_order if name in wanted and not _has_lookup("wildcard", wanted[name])), None)
    index = wanted.pop(best) if best else Q()
    for condition in wanted.values():
        rest &= condition
    return Filters(moments, index=index, network=network, rest=rest)


def _has_lookup(lookup: str, condition: Q | None) -> bool:
    leaves = condition.children if condition is not None else []
    return any(isinstance(leaf, tuple) and leaf[0].endswith(f"__{lookup}") for leaf in leaves)
