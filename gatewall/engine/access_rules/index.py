"""Access rules of a domain, indexed by path: find those that a path can match. No I/O."""

from collections.abc import Sequence
from itertools import chain
from operator import attrgetter

from gatewall.engine.access_rules import paths
from gatewall.engine.access_rules.conditions import CompiledRule

_by_position = attrgetter("position")


class RuleIndex:
    """Rules of one domain, or of every domain, by the literal start of their paths."""

    __slots__ = ("_by_start", "_depth", "has_paths", "rules")

    def __init__(self, rules: Sequence[CompiledRule]) -> None:
        self.rules = rules
        self._by_start: dict[str, list[CompiledRule]] = {}
        self._depth = 0
        self.has_paths = any(rule.rule.paths for rule in rules)
        for rule in rules:
            for start in {paths.literal_start(pattern) for pattern in rule.rule.paths} or {"/"}:
                self._by_start.setdefault(start, []).append(rule)
                self._depth = max(self._depth, paths.depth(start))

    def near(self, path: str) -> list[list[CompiledRule]]:
        """Return lists, each in order, that together have every rule that a trimmed path can match."""
        by_start = self._by_start
        return [by_start[start] for start in paths.ancestors(path, self._depth) if start in by_start]


def near(indexes: Sequence[RuleIndex], path: str) -> Sequence[CompiledRule]:
    """Return the rules of the indexes that a trimmed path can match, each once, in order."""
    if len(indexes) == 1:
        return _in_order(indexes[0].near(path))
    return _in_order(list(chain.from_iterable([index.near(path) for index in indexes])))


def all_rules(indexes: Sequence[RuleIndex]) -> Sequence[CompiledRule]:
    """Return all rules of the indexes in order."""
    return _in_order([index.rules for index in indexes])


def _in_order(lists: Sequence[Sequence[CompiledRule]]) -> Sequence[CompiledRule]:
    if len(lists) < 2:
        return lists[0] if lists else ()
    return sorted(set(chain.from_iterable(lists)), key=_by_position)
