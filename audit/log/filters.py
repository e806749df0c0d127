"""The filters of the access log, from the parameters of a URL: ``field=value`` and ``exclude_field=value``.

An empty value means "has none": ``country_code=`` finds what came from an unknown country. To exclude a
value keeps the rows that have none.
"""

import re
import uuid
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, Q

from audit.log.query import Filters
from audit.log.selectors import around
from audit.models import AccessLogRule
from audit.querying.field_filters import (
    EXCLUDE,
    Filter,
    FilterRefused,
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
from audit.querying.json_lists import ListHolds
from gatewall.engine.hosts import Host
from gatewall.engine.model import Action, CredentialKind, Effect, Reason, SubjectKind

VISIBLE = ("body", "for", "headers", "host", "method", "proto", "uri")
DECIDED_BY = ("authorized-domains", "geo-block-rules", "ip-black-list", "ip-white-list", "waf-rules")
STATES = ("valid", "not-valid", "not-checked")
_METHOD = re.compile(r"[A-Z-]{1,32}", re.ASCII)


def _row(name: str, kinds: Collection[str]) -> Filter:
    """``kind:id``, as the API names a row."""

    def condition(value: str) -> Q:
        kind, _, number = value.partition(":")
        if kind not in kinds:
            raise ValueError(f"kind:id, the kind one of {', '.join(kinds)}")
        return Q((f"{name}_kind", kind), (f"{name}_id", whole(number)))

    # Who has no kind has no id, which there may be an index of.
    empty = Q((f"{name}_id__isnull", True), (f"{name}_kind__isnull", True))
    return Filter(condition, empty, schema_of(f"({'|'.join(kinds)}):[0-9]{{1,18}}", empty))


def _host(value: str) -> Q:
    if "*" in value:
        return text("host").condition(value.lower())
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


FILTERS: Mapping[str, Filter] = {
    "decision_id": Filter(_decision, None, {"type": "string", "format": "uuid"}),
    "client_ip": Filter(client),
    "country_code": country(),
    "method": like(_METHOD, "a method in capital letters", lambda value: Q(method=value)),
    "scheme": one_of(("http", "https"), lambda value: Q(scheme=value)),
    "host": Filter(_host, none("host")),
    "path": text("path"),
    "query": text("query", empty=Q(query="")),
    "user_agent": text("user_agent", empty=Q(user_agent="")),
    "status": number("status", low=100, high=599),
    "outcome": one_of(tuple(Effect), lambda value: Q(outcome=value)),
    "reason": one_of(tuple(Reason), lambda value: Q(reason=value)),
    "decided_by": _row("decided_by", DECIDED_BY),
    "decided_by_kind": one_of(DECIDED_BY, lambda value: Q(decided_by_kind=value), empty=none("decided_by_kind")),
    "decided_by_id": number("decided_by_id", empty=none("decided_by_id")),
    "rule_id": Filter(_rule, Q(rules=[]), number("", empty=Q()).schema),
    "rule_name": Filter(lambda value: Q(ListHolds("rules", value, part="name")), Q(rules=[])),
    "rule_action": one_of(tuple(Action), lambda value: Q(ListHolds("rules", value, part="action")), empty=Q(rules=[])),
    "credential_kind": one_of(tuple(CredentialKind), lambda value: Q(credential__kind=value), empty=none("credential")),
    "credential_state": one_of(STATES, lambda value: Q(credential__state=value), empty=none("credential")),
    "amr": one_of(("pwd", "otp", "mfa"), lambda value: Q(ListHolds("credential", value, key="amr"))),
    "visible": one_of(VISIBLE, lambda value: Q(ListHolds("visible", value)), empty=Q(visible=[])),
    "subject": _row("subject", tuple(SubjectKind)),
    "subject_kind": one_of(tuple(SubjectKind), lambda value: Q(subject_kind=value), empty=none("subject_kind")),
    "subject_id": number("subject_id", empty=none("subject_id")),
    "subject_name": text("subject_name", empty=none("subject_name")),
    "latency_us": number("latency_us"),
    "latency_us_min": number("latency_us__gte", excludes=False),
    "latency_us_max": number("latency_us__lte", excludes=False),
    "policy_revision": number("policy_revision"),
    "node": text("node", empty=Q(node="")),
}
"""What may be asked of each field, by the name of its parameter."""

PARAMETERS: Mapping[str, Mapping[str, Any]] = parameters_of(FILTERS)
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
        condition = condition_of(FILTERS, name, value)
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
