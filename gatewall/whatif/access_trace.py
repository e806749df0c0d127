"""JSON of the access that a request needs, and of each access rule of its host."""

from collections.abc import Sequence
from typing import Any

from gatewall.engine.access_rules.conditions import Condition
from gatewall.engine.access_rules.table import AccessOutcome
from gatewall.engine.access_rules.trace import TracedReading, TracedRule
from gatewall.engine.hosts import Access
from gatewall.whatif.shapes import FLAG, NUMBER, TEXT, list_of, object_of

_ACCESS = {"type": "string", "enum": [*Access]}
_RULE = {
    "id": NUMBER,
    "name": TEXT,
    "access": _ACCESS,
    "reached": FLAG,
    "decides": FLAG,
    "failed": {"type": ["string", "null"], "enum": [*Condition, None]},
    "not_visible": {"type": "array", "items": TEXT},
}
_READINGS = list_of({"path": {"type": ["string", "null"]}, "rules": list_of(_RULE)})
ACCESS_NEEDED = object_of({"level": _ACCESS, "rule": {"type": ["integer", "null"]}, "readings": _READINGS})
ACCESS_NEEDED["type"] = ["object", "null"]
"""Schema: the access level, the id of the rule that requires it, and the result of each rule by reading of the path."""


def access_body(outcome: AccessOutcome, readings: Sequence[TracedReading]) -> dict[str, Any]:
    """Return the access that a request needs as JSON, with the first failed condition of each rule."""
    return {
        "level": outcome.level.value,
        "rule": outcome.rule.id if outcome.rule else None,
        "readings": [{"path": _text(each.path), "rules": [_rule(rule) for rule in each.rules]} for each in readings],
    }


def _rule(traced: TracedRule) -> dict[str, Any]:
    return {
        "id": traced.rule.id,
        "name": traced.rule.name,
        "access": traced.rule.access.value,
        "reached": traced.reached,
        "decides": traced.decides,
        "failed": traced.failed.value if traced.failed else None,
        "not_visible": list(traced.not_visible),
    }


def _text(path: str | None) -> str | None:
    return None if path is None else path.encode("latin-1").decode("utf-8", "backslashreplace")
