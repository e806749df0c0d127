"""The replay of a plan as JSON for the API, from the result of a backtest."""

from collections.abc import Mapping
from typing import Any

from gatewall.whatif.backtest.serializers import ACCESS, ANSWER, COUNTS_BY_NAME
from gatewall.whatif.shapes import NUMBER, TEXT, list_of, object_of

_EXAMPLES = 20
_KINDS = ("people", "hosts", "anonymous")
REPLAY = object_of(
    {
        **dict.fromkeys(("rows", "untouched", "unchanged", "changed"), NUMBER),
        "undecidable": object_of({"total": NUMBER, "missing": COUNTS_BY_NAME}),
        "assumed": COUNTS_BY_NAME,
        **{kind: ACCESS["properties"][kind]["properties"]["results"] for kind in _KINDS},
        "unlisted": object_of(dict.fromkeys(_KINDS, NUMBER)),
        "examples": list_of({"decision_id": TEXT, "from": ANSWER, "to": ANSWER}),
        "scope_missing": {"type": ["string", "null"]},
        "complete_from": {"type": ["string", "null"]},
        "seconds": {"type": "number"},
    }
)


def replay_of(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the replay of a result from ``for_caller``: people first, the most requests first.

    ``unlisted``: the least number of rows that are left out of each list.
    """
    access = result["access"]
    figures = {name: result[name] for name in ("untouched", "unchanged", "changed", "undecidable", "assumed")}
    return {
        "rows": result["read"],
        **figures,
        **{kind: access[kind]["results"] for kind in _KINDS},
        "unlisted": {kind: access[kind]["number"] - len(access[kind]["results"]) for kind in _KINDS},
        "examples": _examples(result["changes"]["results"]),
        "scope_missing": result["scope_missing"],
        "complete_from": result["complete_from"],
        "seconds": result["seconds"],
    }


def _examples(changes: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return examples of decisions that would differ, of each kind of change in turn."""
    found = [
        {"decision_id": decision_id, "from": each["from"], "to": each["to"]}
        for each in changes
        for decision_id in each["examples"]
    ]
    return found[:_EXAMPLES]
