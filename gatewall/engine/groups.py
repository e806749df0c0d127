"""Groups of users, and the scope of their members: the union of their own and their groups'. No I/O."""

from collections.abc import Iterable
from dataclasses import dataclass

_REMEMBERED = 512
ADMINS = "admins"
"""Name of the administrators in ``Remote-Groups``; no group has it."""


@dataclass(frozen=True, slots=True)
class GroupState:
    """A group; its members may access its ``domains``, or ``all_domains``, in addition to their own scope."""

    id: int
    name: str
    all_domains: bool
    domains: frozenset[str]

    def covers(self, domain: str | None) -> bool:
        """True if its scope covers the registered domain; None is an unregistered host."""
        return self.all_domains or domain in self.domains


@dataclass(frozen=True, slots=True)
class Scope:
    """What a user may access: all domains, and the ``domains`` that a scope lists; with the groups, by name.

    A scope of all domains lists none.
    """

    all_domains: bool
    domains: frozenset[str]
    groups: tuple[GroupState, ...] = ()
    names: tuple[str, ...] = ()
    ids: frozenset[int] = frozenset()


class GroupTable:
    """Look-up of groups by id, and of the scope of their members. Caches a few hundred scopes; thread-safe."""

    def __init__(self, groups: Iterable[GroupState] = ()) -> None:
        self._groups = {group.id: group for group in groups}
        self._scopes: dict[tuple[bool, frozenset[str], frozenset[int]], Scope] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GroupTable) and other._groups == self._groups

    __hash__ = None  # type: ignore[assignment]  # unhashable, like a dict

    def all(self) -> Iterable[GroupState]:
        """Return all groups, in arbitrary order."""
        return self._groups.values()

    def scope(self, ids: frozenset[int], *, all_domains: bool, domains: frozenset[str]) -> Scope:
        """Return the scope of a user of these groups, whose own scope is ``all_domains`` or ``domains``.

        A group that does not exist adds nothing.
        """
        key = (all_domains, domains, ids)
        scope = self._scopes.get(key)
        if scope is None:
            scope = self._united(ids, domains, all_domains=all_domains)
            if len(self._scopes) >= _REMEMBERED:
                self._scopes.clear()
            self._scopes[key] = scope
        return scope

    def _united(self, ids: frozenset[int], domains: frozenset[str], *, all_domains: bool) -> Scope:
        groups = sorted((self._groups[id_] for id_ in ids if id_ in self._groups), key=lambda group: group.name)
        listed = [group.domains for group in groups if not group.all_domains]
        return Scope(
            all_domains or any(group.all_domains for group in groups),
            frozenset().union(*listed, *([] if all_domains else [domains])),
            tuple(groups),
            tuple(group.name for group in groups),
            frozenset(group.id for group in groups),
        )
