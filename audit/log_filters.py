"""The filters of the access log, from the parameters of a URL: ``field=value`` and ``exclude_field=value``."""

import uuid
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from django.db.models import Exists, OuterRef, Q

from audit.log_query import Filters
from audit.models import AccessLogRule
from audit.rows import client_key
from gatewall.engine.addresses import parse_network

_MAX_TEXT = 2048
_MAX_DIGITS = 18
EXCLUDE = "exclude_"
Condition = Callable[[str], Q]


class FilterRefused(ValueError):
    """A filter that cannot be understood; ``field`` says which."""

    def __init__(self, field: str, words: str) -> None:
        super().__init__(words)
        self.field = field


def _text(column: str) -> Condition:
    return lambda value: Q((column, value))


def _wildcard(column: str) -> Condition:
    return lambda value: Q((f"{column}__wildcard" if "*" in value else column, value))


def _number(column: str) -> Condition:
    return lambda value: Q((column, _whole(value)))


def _whole(value: str) -> int:
    if not (value.isascii() and value.isdigit() and len(value) <= _MAX_DIGITS):
        raise ValueError("a whole number")
    return int(value)


def _client(value: str) -> Q:
    network = parse_network(value)
    first, last = client_key(str(network.network_address)), client_key(str(network.broadcast_address))
    return Q(client_key=first) if first == last else Q(client_key__gte=first, client_key__lte=last)


def _rule(value: str) -> Q:
    contributed = AccessLogRule.objects.filter(rule_id=_whole(value), decision_id=OuterRef("decision_id"))
    return Q(Exists(contributed.filter(at=OuterRef("at"))))


def _decision(value: str) -> Q:
    return Q(decision_id=uuid.UUID(value))


CONDITIONS: Mapping[str, Condition] = {
    "decision_id": _decision,
    "client_ip": _client,
    "country_code": lambda value: Q(country_code=value.upper()),
    "method": _text("method"),
    "scheme": _text("scheme"),
    "host": _wildcard("host"),
    "path": _wildcard("path"),
    "query": _wildcard("query"),
    "user_agent": _wildcard("user_agent"),
    "status": _number("status"),
    "outcome": _text("outcome"),
    "reason": _text("reason"),
    "decided_by_kind": _text("decided_by_kind"),
    "decided_by_id": _number("decided_by_id"),
    "credential_kind": _text("credential__kind"),
    "rule_id": _rule,
    "subject_kind": _text("subject_kind"),
    "subject_id": _number("subject_id"),
    "subject_name": _text("subject_name"),
    "policy_revision": _number("policy_revision"),
    "node": _text("node"),
}
"""What may be asked of each field, by the name of its parameter."""
_INDEXED = frozenset({"decision_id", "client_ip", "reason", "subject_id", "rule_id"})


def filters_of(parameters: Iterable[tuple[str, str]], *, start: datetime | None, end: datetime | None) -> Filters:
    """Return the filters that these parameters mean, from ``start`` on and before ``end``. Raises FilterRefused."""
    narrow, rest = Q(), Q()
    if start is not None:
        narrow &= Q(at__gte=start)
    if end is not None:
        narrow &= Q(at__lt=end)
    for name, value in parameters:
        field = name.removeprefix(EXCLUDE)
        condition = _condition(name, field, value)
        if field != name:
            rest &= ~condition
        elif field in _INDEXED or (field == "host" and "*" not in value):
            narrow &= condition
        else:
            rest &= condition
    return Filters(narrow, rest)


def _condition(name: str, field: str, value: str) -> Q:
    if field not in CONDITIONS:
        raise FilterRefused(name, "there is no such filter")
    if not value or len(value) > _MAX_TEXT or "\0" in value:
        raise FilterRefused(name, "a text of 1 to 2,048 characters")
    try:
        return CONDITIONS[field](value)
    except ValueError as error:
        raise FilterRefused(name, str(error) or "not a value of this field") from None
