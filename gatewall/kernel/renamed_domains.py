"""Adjust domain names in the changes of a revision that renames a domain. Pure.

A change records the name that a row's domain had at that moment. If the same revision renames the domain, the state
before the revision needs the old name, and the state after it the new one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from gatewall.kernel.changes import Action, Change, Resource


def with_settled_names(changes: Iterable[Change | None]) -> list[Change]:
    """Return the changes in order, with old domain names in ``before`` and new ones in ``after``.

    Changes of the domains themselves are returned unchanged.
    """
    listed = [each for each in changes if each is not None]
    if not any(map(_is_rename, listed)):
        return listed
    first, last = dict[str, str](), dict[str, str]()
    for number, change in enumerate(listed):
        listed[number] = replace(change, before=_with_domain_name(change.before, first))
        if _is_rename(change):
            first[change.after["name"]] = first.pop(change.before["name"], change.before["name"])
    for number, change in reversed([*enumerate(listed)]):
        listed[number] = replace(change, after=_with_domain_name(change.after, last))
        if _is_rename(change):
            last[change.before["name"]] = last.pop(change.after["name"], change.after["name"])
    return listed


def _is_rename(change: Change) -> bool:
    return change.resource == Resource.DOMAINS and change.action == Action.CHANGED and "name" in change.before


def _with_domain_name(fields: Mapping[str, Any], names: Mapping[str, str]) -> Mapping[str, Any]:
    name = names.get(fields.get("domain") or "")
    return fields if name is None else {**fields, "domain": name}
