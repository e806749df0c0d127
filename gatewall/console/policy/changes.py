"""Changes of a revision, or of a plan, in words."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from gatewall.console.explain.presentation import ACTIONS, row_shown
from gatewall.publication.resources import BY_NAME, title_of

CHANGES_ON_PAGE = 200
_MAX_VALUE = 500
_EMPTY: tuple[Any, ...] = (None, "", [])


def counts_shown(counts: Iterable[Mapping[str, Any]] | None) -> list[dict[str, Any]]:
    """Return the counts of a revision in words, for ``console/counts.html``."""
    return [
        {
            "number": count["count"],
            "resource": title_of(count["resource"]),
            "action": ACTIONS.get(count["action"], count["action"]),
            "source": count.get("source", ""),
        }
        for count in counts or ()
    ]


def change_shown(change: Mapping[str, Any]) -> dict[str, Any]:
    """Return a change with the values of each field before and after, for ``console/changes.html``."""
    before, after, action = change["before"], change["after"], change["action"]
    is_there = action != "deleted" and change["resource"] in BY_NAME
    return {
        "action": ACTIONS.get(action, action),
        "state": action,
        "resource": title_of(change["resource"]),
        "name": change["name"],
        "row": row_shown({"kind": change["resource"], "id": change["id"]}) if is_there else None,
        "values": [
            {"name": name, "before": value_shown(before.get(name)), "after": value_shown(after.get(name))}
            for name in dict.fromkeys([*before, *after])
            if before.get(name) not in _EMPTY or after.get(name) not in _EMPTY
        ],
    }


def value_shown(value: Any) -> str | None:
    """Return a value of a field as text; None for None."""
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MAX_VALUE else f"{text[:_MAX_VALUE]}…"
