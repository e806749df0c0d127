"""JSON of matched WAF rules and their matches."""

from collections.abc import Mapping, Sequence
from typing import Any

from gatewall.engine.waf.places import Form
from gatewall.engine.waf.rules import Target
from gatewall.replay.rule_places import RulePlaces

_TEXT = {"type": "string"}
_PLACE = {
    "target": {"type": "string", "enum": [*Target]},
    "name": {"type": ["string", "null"]},
    "form": {"type": "string", "enum": [*Form]},
    "text": _TEXT,
}
PLACES = {"type": "array", "items": {"type": "object", "properties": _PLACE, "required": [*_PLACE]}}
_RULE = {"id": {"type": "integer"}, "name": _TEXT, "action": _TEXT, "places": PLACES}
PLACED_RULES = {"type": "array", "items": {"type": "object", "properties": _RULE, "required": [*_RULE]}}


def placed(rules: Sequence[Mapping[str, Any]], places: RulePlaces) -> list[dict[str, Any]]:
    """Return the rules of a step, each with the places where it matched."""
    return [{**rule, "places": places.of(rule["id"])} for rule in rules]
