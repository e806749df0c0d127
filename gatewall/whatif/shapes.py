"""JSON schemas of the what-if answers, and matched WAF rules as JSON."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from gatewall.engine.waf.places import Form
from gatewall.engine.waf.rules import Target
from gatewall.replay.rule_places import RulePlaces

TEXT, NUMBER, FLAG = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}


def object_of(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an object that has all of these properties."""
    return {"type": "object", "properties": properties, "required": [*properties]}


def list_of(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a list of objects that have all of these properties."""
    return {"type": "array", "items": object_of(properties)}


UNKNOWN_LISTS = list_of({"revision": NUMBER, "resource": TEXT, "source": TEXT})
"""Imported lists whose entries as of a revision are not recorded."""
PLACES = list_of(
    {
        "target": {"type": "string", "enum": [*Target]},
        "name": {"type": ["string", "null"]},
        "form": {"type": "string", "enum": [*Form]},
        "text": TEXT,
    }
)
SCOPE_SOURCES = object_of(
    {"admin": FLAG, "own": FLAG, "groups": {"type": "array", "items": TEXT}, "token": {"type": ["boolean", "null"]}}
)
SCOPE_SOURCES["type"] = ["object", "null"]
PLACED_RULES = list_of({"id": NUMBER, "name": TEXT, "action": TEXT, "places": PLACES})
MATCHED_RULES = list_of({"id": NUMBER, "name": TEXT, "action": TEXT})
for _rules in (PLACED_RULES, MATCHED_RULES):  # optional: not every match has a known place
    _rules["items"]["properties"]["place"] = object_of(
        {"target": {"type": "string", "enum": [*Target]}, "name": {"type": ["string", "null"]}}
    )


def moment_text(at: float) -> str:
    """Return seconds since the epoch as a timestamp of the API."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def placed(rules: Sequence[Mapping[str, Any]], places: RulePlaces) -> list[dict[str, Any]]:
    """Return the rules of a step, each with the places where it matched."""
    return [{**rule, "places": places.of(rule["id"])} for rule in rules]
