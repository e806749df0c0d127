"""Check rules again whose first pattern match was in a value that they do not target. No I/O."""

from bisect import bisect_left
from collections.abc import Sequence

from gatewall.engine.waf.found import ends_of, is_hit
from gatewall.engine.waf.patterns import Placed
from gatewall.engine.waf.rules import Region
from gatewall.engine.waf.scanning import Scanner
from gatewall.engine.waf.scope import Scope
from gatewall.engine.waf.values import Value

Doubt = tuple[int, int, Placed]
"""Number of a pattern in its scanner, index of the value of its first match, and a rule that does not target it."""


def confirmed(scanner: Scanner, values: Sequence[Value], doubts: list[Doubt], scope: Scope) -> list[Placed]:
    """Return the rules that match a value after the first match of their pattern; no value before it can match."""
    found: list[Placed] = []
    groups: dict[int, list[Doubt]] = {}
    for each in doubts:
        groups.setdefault(id(each[2].rule.exclusions), []).append(each)
    for group in groups.values():
        rule = group[0][2].rule  # all of the group have its exclusions
        left = _after(values, group)
        if rule.exclusions:
            unspared = [value for value in left if not scope.spares(rule, value[0], value[1])]
            if len(unspared) < len(left):
                now, group = _scanned(scanner, unspared, group, scope)  # noqa: PLW2901 - fewer
                found += now
                left = _after(unspared, group)
        found += _in_regions(scanner, left, group, scope)
    return found


def _after(values: Sequence[Value], doubts: list[Doubt]) -> Sequence[Value]:
    """Return the values after the first match of all."""
    return values[min([index for _, index, _ in doubts], default=len(values)) + 1 :]


def _in_regions(scanner: Scanner, values: Sequence[Value], doubts: list[Doubt], scope: Scope) -> list[Placed]:
    """Return those of the rules that match, by one scan of each region that they target."""
    by_region: dict[Region, list[Value]] = {}
    for value in values:
        by_region.setdefault(value[0], []).append(value)
    found: list[Placed] = []
    for region, group in by_region.items():
        if asked := [each for each in doubts if region in each[2].targets]:
            now, _ = _scanned(scanner, group, asked, scope)
            found += now
            positions = {each.position for each in now}
            doubts = [each for each in doubts if each[2].position not in positions]
    return found


def _scanned(
    scanner: Scanner, values: Sequence[Value], doubts: list[Doubt], scope: Scope
) -> tuple[list[Placed], list[Doubt]]:
    """Scan the values; return the rules whose first match is in a value that they target, and those still in doubt."""
    asked: dict[int, list[Placed]] = {}
    for number, _, placed in doubts:
        asked.setdefault(number, []).append(placed)
    found: list[Placed] = []
    elsewhere: list[Doubt] = []
    ends = ends_of(values)
    for number, end in scanner.scan("\n".join([text for _, _, text in values]).encode("latin-1")) if values else ():
        for placed in asked.get(number, ()):
            index = bisect_left(ends, end)
            if is_hit(placed, values[index], scope):
                found.append(placed)
            else:
                elsewhere.append((number, index, placed))
    return found, elsewhere
