"""Filters of the access log, from URL parameters: ``field=value`` and ``exclude_field=value``.

An empty value selects rows without a value; ``exclude_`` keeps those rows.
"""

import re
import uuid
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, Q

from audit.log.selectors import around
from audit.models import AccessLogRule
from audit.querying import field_filters
from audit.querying.field_filters import (
    Filter,
    Filters,
    client,
    condition_of,
    country,
    like,
    none,
    number,
    one_of,
    parameters_of,
    schema_of,
    text,
    whole,
)
from audit.querying.lookups import ListHolds
from audit.spool.records import FIELDS, GRANT_OF, MAX_SCORE, Field, Kind
from gatewall.engine.auth_methods import AUTH_METHODS
from gatewall.engine.hosts import Host
from gatewall.engine.messages import Refused
from gatewall.engine.messages import gettext_noop as _
from gatewall.engine.model import Action, CredentialKind, Effect, Reason

STATES = ("valid", "not-valid", "not-checked")
_METHOD = re.compile(r"[A-Z-]{1,32}", re.ASCII)


def _row(field: Field) -> dict[str, Filter]:
    """Return the filters of a row reference: ``kind:id``, and each of its parts."""

    def condition(value: str) -> Q:
        kind, _colon, number = value.partition(":")
        if kind not in field.choices:
            raise Refused(_("kind:id, the kind one of %(kinds)s"), kinds=", ".join(field.choices))
        return Q((f"{field.name}_kind", kind), (f"{field.name}_id", whole(number)))

    # Without a kind there is no id either, and the id may have an index.
    empty = Q((f"{field.name}_id__isnull", True), (f"{field.name}_kind__isnull", True))
    schema = schema_of(f"({'|'.join(field.choices)}):[0-9]{{1,18}}", empty)
    return {field.name: Filter(condition, empty, schema)} | {
        column: _part(column, field.choices, length) for column, length in field.columns.items()
    }


def _part(column: str, kinds: Collection[str], length: int) -> Filter:
    if column.endswith("_kind"):
        return one_of(kinds, lambda value: Q((column, value)), empty=none(column))
    return text(column, empty=none(column)) if length else number(column, empty=none(column))


def _host(value: str) -> Q:
    if "*" in value:
        return text("host").condition(value.lower())
    host = Host.parse(value)
    if host is None:
        raise Refused(_("a host name or IP literal without port, or a pattern with *"))
    return Q(host=host.name)


def _rule(value: str) -> Q:
    contributed = AccessLogRule.objects.filter(rule_id=whole(value), decision_id=OuterRef("decision_id"))
    return Q(Exists(contributed.filter(at=OuterRef("at"))))


def _decision(value: str) -> Q:
    try:
        decision_id = uuid.UUID(value)
    except ValueError:
        raise Refused(_("a UUID")) from None
    moments = around(decision_id)
    return Q(decision_id=decision_id, at__range=moments) if moments else Q(decision_id=decision_id)


def _would_refuse(value: str) -> Q:
    return Q(would_refuse__isnull=value == "false")  # NULL stands for false; the partial index has only the other rows


_GRANTS = {kind: (reason, field) for reason, (kind, field) in GRANT_OF.items()}


def _grant(value: str) -> Q:
    kind, _colon, number = value.partition(":")
    if kind not in _GRANTS:
        raise Refused(_("kind:id, the kind one of %(kinds)s"), kinds=", ".join(_GRANTS))
    reason, field = _GRANTS[kind]
    return Q((f"{field}_id", whole(number)), reason=reason)


_RULES, _CREDENTIAL, _SHADOW = Q(rules=[]), none("credential"), none("shadow")
_SPECIAL: Mapping[str, Mapping[str, Filter]] = {
    "decision_id": {"decision_id": Filter(_decision, None, {"type": "string", "format": "uuid"})},
    "at": {},  # start_time and end_time
    "client_ip": {"client_ip": Filter(client)},
    "country_code": {"country_code": country()},
    "method": {"method": like(_METHOD, _("a method in capital letters"), lambda value: Q(method=value))},
    "host": {"host": Filter(_host, none("host"))},
    "rules": {
        "rule_id": Filter(_rule, _RULES, number("", empty=Q()).schema),
        "rule_name": Filter(lambda value: Q(ListHolds("rules", value, part="name")), _RULES),
        "rule_action": one_of(tuple(Action), lambda value: Q(ListHolds("rules", value, part="action")), empty=_RULES),
    },
    "credential": {
        "credential_kind": one_of(tuple(CredentialKind), lambda value: Q(credential__kind=value), empty=_CREDENTIAL),
        "credential_state": one_of(STATES, lambda value: Q(credential__state=value), empty=_CREDENTIAL),
        "amr": one_of(AUTH_METHODS, lambda value: Q(ListHolds("credential", value, key="amr"))),
    },
    "shadow": {
        "shadow": one_of(("differs",), lambda _: Q(shadow__isnull=False), empty=_SHADOW),
        "shadow_effect": one_of(tuple(Effect), lambda value: Q(shadow__effect=value), empty=_SHADOW),
        "shadow_reason": one_of(tuple(Reason), lambda value: Q(shadow__reason=value), empty=_SHADOW),
    },
    "latency_us": {
        "latency_us": number("latency_us"),
        "latency_us_min": number("latency_us__gte", excludes=False),
        "latency_us_max": number("latency_us__lte", excludes=False),
    },
    "waf_score": {
        "waf_score": number("waf_score", high=MAX_SCORE, empty=none("waf_score")),
        "waf_score_min": number("waf_score__gte", high=MAX_SCORE, excludes=False),
    },
    "would_refuse": {"would_refuse": one_of(("true", "false"), _would_refuse)},
}
"""The filters of fields for which the kind of the field does not determine the filters."""


def _filters_of(field: Field) -> Mapping[str, Filter]:
    name = field.name
    if name in _SPECIAL:
        return _SPECIAL[name]
    empty = none(name) if field.null else Q((name, "")) if field.blank else None
    match field.kind:
        case Kind.ROW:
            return _row(field)
        case Kind.NUMBER:
            return {name: number(name, low=field.low, high=field.high, empty=empty)}
        case Kind.JSON:  # a list
            return {name: one_of(field.choices, lambda value: Q(ListHolds(name, value)), empty=Q((name, [])))}
    if field.choices:
        return {name: one_of(field.choices, lambda value: Q((name, value)), empty=empty)}
    return {name: text(name, empty=empty)}


FILTERS = {name: each for field in FIELDS for name, each in _filters_of(field).items()} | {
    "grant": Filter(_grant, schema=schema_of(f"({'|'.join(_GRANTS)}):[0-9]{{1,18}}", None), excludes=False)
}
"""The filter of each parameter."""

PARAMETERS: Mapping[str, Mapping[str, Any]] = parameters_of(FILTERS)
"""The JSON schema of each parameter."""

_IN_ORDER = ("decision_id", "subject", "subject_id", "grant", "client_ip", "host", "reason")
"""Fields whose index also orders by time, the most selective first."""


def filters_of(parameters: Iterable[tuple[str, str]], *, start: datetime | None, end: datetime | None) -> Filters:
    """Return the filters from these parameters, from ``start`` (inclusive) to ``end``. Raises FilterRefused."""
    values = dict(parameters)
    rule = values.pop("rule_id") if values.get("rule_id") else None
    if rule is not None:
        condition_of(FILTERS, "rule_id", rule)
    in_order = _IN_ORDER if rule is None else ()
    filters = field_filters.filters_of(FILTERS, values.items(), start=start, end=end, in_order=in_order)
    return replace(filters, rule=None if rule is None else whole(rule))
