"""Name domains in gathered changes as they are called at the ends of a revision. Pure.

A change names the domain of a row as it was called at that moment. If the same revision renames it, the states before
and after the revision know it by another name.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from gatewall.kernel.changes import Action, Change, Resource


def with_settled_names(changes: Iterable[Change | None]) -> list[Change]:
    """Return changes in order, with the domain in ``before`` as it was called before all of them, in ``after`` after.

    Changes of the domains themselves stay as they are.
    """
    listed = [each for each in changes if each is not None]
    if not any(map(_is_rename, listed)):
        return listed
    first, last = dict[str, str](), dict[str, str]()
    for number, change in enumerate(listed):
        listed[number] = replace(change, before=_named(change.before, first))
        if _is_rename(change):
            first[change.after["name"]] = first.pop(change.before["name"], change.before["name"])
    for number, change in reversed([*enumerate(listed)]):
        listed[number] = replace(change, after=_named(change.after, last))
        if _is_rename(change):
            last[change.before["name"]] = last.pop(change.after["name"], change.after["name"])
    return listed


def _is_rename(change: Change) -> bool:
    return change.resource == Resource.DOMAINS and change.action == Action.CHANGED and "name" in change.before


def _named(fields: Mapping[str, Any], names: Mapping[str, str]) -> Mapping[str, Any]:
    name = names.get(fields.get("domain") or "")
    return fields if name is None else {**fields, "domain": name}
