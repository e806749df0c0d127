"""The filters of the access log, from the parameters of a URL: ``field=value`` and ``exclude_field=value``.

An empty value means "has none": ``country_code=`` finds what came from an unknown country. To exclude a
value keeps the rows that have none.
"""

import re
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, Q

from audit.json_lists import ListHolds
from audit.log_query import Filters
from audit.models import AccessLogRule
from audit.rows import client_key
from audit.selectors import around
from audit.wildcards import MAX_STARS, stars_in
from gatewall.engine.addresses import parse_network
from gatewall.engine.hosts import Host
from gatewall.engine.model import Action, CredentialKind, Effect, Reason, SubjectKind

MAX_TEXT = 2048
EXCLUDE = "exclude_"
VISIBLE = ("body", "for", "headers", "host", "method", "proto", "uri")
DECIDED_BY = ("authorized-domains", "geo-block-rules", "ip-black-list", "ip-white-list", "waf-rules")
STATES = ("valid", "not-valid", "not-checked")
_MAX_BIG = 2**63 - 1
_METHOD = re.compile(r"[A-Z-]{1,32}", re.ASCII)
_COUNTRY = re.compile(r"[A-Za-z]{2}", re.ASCII)
Condition = Callable[[str], Q]


class FilterRefused(ValueError):
    """A filter that cannot be understood; ``field`` says which."""

    def __init__(self, field: str, words: str) -> None:
        super().__init__(words)
        self.field = field


@dataclass(frozen=True, slots=True)
class Filter:
    """What may be asked of one field: the condition of a value (which may raise ValueError), that of an
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


def _text(column: str, *, empty: Q | None = None) -> Filter:
    def condition(value: str) -> Q:
        if "*" not in value:
            return Q((column, value))
        if stars_in(value) > MAX_STARS:
            raise ValueError(f"at most {MAX_STARS} *")
        return Q((f"{column}__wildcard", value))

    return Filter(condition, empty)


def _one_of(choices: Collection[str], condition: Condition, *, empty: Q | None = None) -> Filter:
    def chosen(value: str) -> Q:
        if value not in choices:
            raise ValueError(f"one of {', '.join(choices)}")
        return condition(value)

    return Filter(chosen, empty, {"type": "string", "enum": [*choices, *([""] if empty is not None else [])]})


def _like(pattern: re.Pattern[str], words: str, condition: Condition, *, empty: Q | None = None) -> Filter:
    def fitting(value: str) -> Q:
        if not pattern.fullmatch(value):
            raise ValueError(words)
        return condition(value)

    return Filter(fitting, empty, _pattern(pattern.pattern, empty))


def _pattern(pattern: str, empty: Q | None) -> dict[str, Any]:
    return {"type": "string", "pattern": f"^({pattern}){'?' if empty is not None else ''}$"}


def _number(
    lookup: str, *, low: int = 0, high: int = _MAX_BIG, empty: Q | None = None, excludes: bool = True
) -> Filter:
    shape = {"type": "integer", "minimum": low, "maximum": high}
    schema = {"oneOf": [shape, {"type": "string", "maxLength": 0}]} if empty is not None else shape
    return Filter(lambda value: Q((lookup, whole(value, low, high))), empty, schema, excludes)


def whole(value: str, low: int = 0, high: int = _MAX_BIG) -> int:
    """Return the whole number of a text. Raises ValueError."""
    if not (value.isascii() and value.isdigit() and len(value) <= len(str(_MAX_BIG)) and low <= int(value) <= high):
        raise ValueError(f"a whole number from {low} to {high}")
    return int(value)


def _row(name: str, kinds: Collection[str]) -> Filter:
    """``kind:id``, as the API names a row."""

    def condition(value: str) -> Q:
        kind, _, number = value.partition(":")
        if kind not in kinds:
            raise ValueError(f"kind:id, the kind one of {', '.join(kinds)}")
        return Q((f"{name}_kind", kind), (f"{name}_id", whole(number)))

    # Who has no kind has no id, which there may be an index of.
    empty = Q((f"{name}_id__isnull", True), (f"{name}_kind__isnull", True))
    return Filter(condition, empty, _pattern(f"({'|'.join(kinds)}):[0-9]{{1,18}}", empty))


def _client(value: str) -> Q:
    network = parse_network(value)
    first, last = client_key(str(network.network_address)), client_key(str(network.broadcast_address))
    return Q(client_key=first) if first == last else Q(client_key__gte=first, client_key__lte=last)


def _host(value: str) -> Q:
    if "*" in value:
        return _text("host").condition(value.lower())
    host = Host.parse(value)
    if host is None:
        raise ValueError("a host name or IP literal without port, or a pattern with *")
    return Q(host=host.name)


def _rule(value: str) -> Q:
    contributed = AccessLogRule.objects.filter(rule_id=whole(value), decision_id=OuterRef("decision_id"))
    return Q(Exists(contributed.filter(at=OuterRef("at"))))


def _decision(value: str) -> Q:
    try:
        decision_id = uuid.UUID(value)
    except ValueError:
        raise ValueError("a UUID") from None
    moments = around(decision_id)
    return Q(decision_id=decision_id, at__range=moments) if moments else Q(decision_id=decision_id)


def _none(column: str) -> Q:
    return Q((f"{column}__isnull", True))


FILTERS: Mapping[str, Filter] = {
    "decision_id": Filter(_decision, None, {"type": "string", "format": "uuid"}),
    "client_ip": Filter(_client),
    "country_code": _like(
        _COUNTRY, "two letters", lambda value: Q(country_code=value.upper()), empty=_none("country_code")
    ),
    "method": _like(_METHOD, "a method in capital letters", lambda value: Q(method=value)),
    "scheme": _one_of(("http", "https"), lambda value: Q(scheme=value)),
    "host": Filter(_host, _none("host")),
    "path": _text("path"),
    "query": _text("query", empty=Q(query="")),
    "user_agent": _text("user_agent", empty=Q(user_agent="")),
    "status": _number("status", low=100, high=599),
    "outcome": _one_of(tuple(Effect), lambda value: Q(outcome=value)),
    "reason": _one_of(tuple(Reason), lambda value: Q(reason=value)),
    "decided_by": _row("decided_by", DECIDED_BY),
    "decided_by_kind": _one_of(DECIDED_BY, lambda value: Q(decided_by_kind=value), empty=_none("decided_by_kind")),
    "decided_by_id": _number("decided_by_id", empty=_none("decided_by_id")),
    "rule_id": Filter(_rule, Q(rules=[]), _number("", empty=Q()).schema),
    "rule_name": Filter(lambda value: Q(ListHolds("rules", value, part="name")), Q(rules=[])),
    "rule_action": _one_of(tuple(Action), lambda value: Q(ListHolds("rules", value, part="action")), empty=Q(rules=[])),
    "credential_kind": _one_of(
        tuple(CredentialKind), lambda value: Q(credential__kind=value), empty=_none("credential")
    ),
    "credential_state": _one_of(STATES, lambda value: Q(credential__state=value), empty=_none("credential")),
    "amr": _one_of(("pwd", "otp", "mfa"), lambda value: Q(ListHolds("credential", value, key="amr"))),
    "visible": _one_of(VISIBLE, lambda value: Q(ListHolds("visible", value)), empty=Q(visible=[])),
    "subject": _row("subject", tuple(SubjectKind)),
    "subject_kind": _one_of(tuple(SubjectKind), lambda value: Q(subject_kind=value), empty=_none("subject_kind")),
    "subject_id": _number("subject_id", empty=_none("subject_id")),
    "subject_name": _text("subject_name", empty=_none("subject_name")),
    "latency_us": _number("latency_us"),
    "latency_us_min": _number("latency_us__gte", excludes=False),
    "latency_us_max": _number("latency_us__lte", excludes=False),
    "policy_revision": _number("policy_revision"),
    "node": _text("node", empty=Q(node="")),
}
"""What may be asked of each field, by the name of its parameter."""

PARAMETERS: Mapping[str, Mapping[str, Any]] = {
    name: each.shape
    for field_name, each in FILTERS.items()
    for name in (field_name, *([f"{EXCLUDE}{field_name}"] if each.excludes else []))
}
"""The JSON schema of each parameter."""

_IN_ORDER = ("decision_id", "subject", "subject_id", "client_ip", "host", "reason")
"""What has an index that gives its rows in the order of time; of several, the first is likely to find the fewest."""


def filters_of(parameters: Iterable[tuple[str, str]], *, start: datetime | None, end: datetime | None) -> Filters:
    """Return the filters that these parameters mean, from ``start`` on and before ``end``. Raises FilterRefused."""
    if start is not None and end is not None and end <= start:
        raise FilterRefused("end_time", "a moment after start_time")
    moments = Q(**({"at__gte": start} if start else {}), **({"at__lt": end} if end else {}))
    wanted: dict[str, Q] = {}
    rest, rule = Q(), None
    for name, value in parameters:
        field_name = name.removeprefix(EXCLUDE)
        condition = _condition(name, field_name, value)
        if field_name != name:
            rest &= ~condition
        elif field_name == "rule_id" and value:
            rule = whole(value)
        else:
            wanted[field_name] = condition
    network = wanted.pop("client_ip", Q()) if _is_range(wanted.get("client_ip")) else Q()
    best = None if rule is not None else next((name for name in _IN_ORDER if _is_exact(wanted.get(name))), None)
    index = wanted.pop(best) if best else Q()
    for condition in wanted.values():
        rest &= condition
    return Filters(moments, index=index, network=network, rule=rule, rest=rest)


def _is_range(condition: Q | None) -> bool:
    return condition is not None and any(name == "client_key__gte" for name, _ in condition.children)


def _is_exact(condition: Q | None) -> bool:
    return condition is not None and all("__wildcard" not in name for name, _ in condition.children)


def _condition(name: str, field_name: str, value: str) -> Q:
    known = FILTERS.get(field_name) if name in PARAMETERS else None
    if known is None:
        raise FilterRefused(name, "there is no such filter")
    if not value and known.empty is not None:
        return known.empty
    if not value or len(value) > MAX_TEXT or "\0" in value:
        raise FilterRefused(name, "a text of 1 to 2,048 characters")
    try:
        return known.condition(value)
    except ValueError as error:
        raise FilterRefused(name, str(error)) from None
