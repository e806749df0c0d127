"""Check the references of a document: unknown domains, groups, users and built-in rules; duplicate rule names."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models.functions import Lower

from gatewall.engine.messages import Message
from gatewall.engine.messages import gettext_noop as _
from policies.document.sections import ACCESS_RULES, BUILTIN_WAF_RULES, BY_NAME, SHIPPED, WAF_RULES
from policies.models import AuthorizedDomain, Group, WafRule

Placed = Mapping[Any, tuple[dict[str, Any], tuple[Any, ...]]]
"""Rows of a section by key, each with its path in the document."""
_UNKNOWN = {
    "domains": _("the domain %(name)s is not defined"),
    "groups": _("the group %(name)s is not defined"),
    "users": _("there is no user %(name)s"),
}
_CHUNK = 500
_MODELS: Mapping[str, Any] = {"domains": AuthorizedDomain, "groups": Group}


@dataclass(frozen=True, slots=True)
class Fault:
    """An error of a row: its path in the document, and a message."""

    path: tuple[Any, ...]
    message: Message


def faults_of(tables: Mapping[str, Placed], unsure: Collection[str] = ()) -> Iterator[Fault]:
    """Yield the unknown references and duplicate names. Sets user names to the letter case in which they are stored.

    ``unsure``: sections with other errors, whose rows may be missing here; checks that need all rows are skipped.
    """
    known: dict[str, Mapping[str, str]] = {kind: _defined(kind, tables) for kind in _MODELS}
    rules = tables.get(ACCESS_RULES.name, {}).values()
    known["users"] = {user.username.lower(): user.username for user in users_named(_users_of(row for row, _ in rules))}
    for name, rows in tables.items():
        for field, kind in BY_NAME[name].names.items():
            for row, path in rows.values() if kind not in unsure else ():
                yield from _unknown(row, field, known[kind], kind, (*path, field))
    yield from _not_installed(tables)
    if not {WAF_RULES.name, BUILTIN_WAF_RULES.name}.intersection(unsure):
        yield from _taken_names(tables)


def users_named(names: Iterable[str]) -> Iterator[Any]:
    """Yield the users with these names, in any letter case."""
    users = get_user_model()._default_manager.annotate(lower=Lower("username"))  # noqa: SLF001 - documented API
    left = iter(sorted({name.lower() for name in names}))
    while chunk := list(islice(left, _CHUNK)):
        yield from users.filter(lower__in=chunk)


def _users_of(rules: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for rule in rules:
        yield from rule["users"]


def _defined(kind: str, tables: Mapping[str, Placed]) -> Mapping[str, str]:
    """Return the names of rows after the document is applied: its own or, if it lacks the section, the stored ones."""
    if kind in tables:
        names = [row["name"] for row, _path in tables[kind].values()]
    else:
        names = list(_MODELS[kind].objects.values_list("name", flat=True))
    return {name: name for name in names}


def _unknown(
    row: dict[str, Any], field: str, known: Mapping[str, str], kind: str, path: tuple[Any, ...]
) -> Iterator[Fault]:
    value = row[field]
    if value is None:
        return
    names = value if isinstance(value, list) else [value]
    found = {known.get(_key(name, kind)) for name in names}
    for name in names:
        if _key(name, kind) not in known:
            yield Fault(path, Message(_UNKNOWN[kind], name=name))
    if isinstance(value, list) and None not in found:
        row[field] = sorted(name for name in found if name is not None)


def _key(name: str, kind: str) -> str:
    return name.lower() if kind == "users" else name


def _not_installed(tables: Mapping[str, Placed]) -> Iterator[Fault]:
    rows = tables.get(BUILTIN_WAF_RULES.name, {})
    installed = set(WafRule.objects.filter(BUILTIN_WAF_RULES.rows).values_list("builtin_key", flat=True))
    for (key,), (_row, path) in rows.items():
        if key not in installed:
            yield Fault((*path, "key"), Message(_("the built-in rule %(key)s is not installed here"), key=key))


def _taken_names(tables: Mapping[str, Placed]) -> Iterator[Fault]:
    """Yield the WAF rules that have the name of another one: names are unique across custom and built-in rules."""
    taken: set[str] = set()
    for name, path in sorted(_names_of_rules(tables), key=lambda each: each[1] is not None):
        if name in taken and path is not None:
            yield Fault(path, Message(_("another WAF rule has the name %(name)s"), name=name))
        taken.add(name)


def _names_of_rules(tables: Mapping[str, Placed]) -> Iterator[tuple[str, tuple[Any, ...] | None]]:
    """Yield the name of each WAF rule after the document is applied, and its path in the document, if any."""
    own, builtin = tables.get(WAF_RULES.name), tables.get(BUILTIN_WAF_RULES.name)
    for key, name in WafRule.objects.values_list("builtin_key", "name"):
        if (key is None and own is None) or (key is not None and (builtin is None or key not in SHIPPED)):
            yield name, None
        elif key is not None and builtin is not None and (key,) not in builtin:
            yield key, None
    for rows in (builtin, own):
        for row, path in (rows or {}).values():
            yield row["name"], (*path, "name")
