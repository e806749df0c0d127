"""Coverage check: whether an access rule matches every request that a later rule could match."""

from collections.abc import Collection
from dataclasses import replace
from ipaddress import IPv4Network, IPv6Network

from gatewall.engine.access_rules.paths import compiled, literal_start
from gatewall.engine.access_rules.rules import AccessRule, PathMatch, PathPattern
from gatewall.engine.addresses import IPNetwork
from gatewall.engine.hosts import Access

_PREFLIGHT = frozenset({"OPTIONS"})


def covers(earlier: AccessRule, later: AccessRule) -> bool:
    """Return whether the earlier rule matches every request and subject that the later rule matches.

    True only if this follows from comparing one condition at a time; a rule that several others cover only together is
    not detected.
    """
    return (
        _expires_no_later(later.expires_at, earlier.expires_at)
        and _is_within(later.domains, earlier.domains)
        and _paths_are_within(later.paths, earlier.paths)
        and _is_within(later.methods, earlier.methods)
        and (not _matches_only_preflights(earlier) or _matches_only_preflights(later))
        and _networks_are_within(later.networks, earlier.networks)
        and _is_within(later.countries, earlier.countries)
        and _is_within(later.asns, earlier.asns)
        and _times_are_within(later, earlier)
        and _is_within(later.groups, earlier.groups)
        and _is_within(later.users, earlier.users)
        and _is_within(later.credential_kinds, earlier.credential_kinds)
    )


def _expires_no_later(later: float | None, earlier: float | None) -> bool:
    return earlier is None or (later is not None and later <= earlier)


def _is_within(later: Collection[object], earlier: Collection[object]) -> bool:
    """Compare two conditions; an empty one does not restrict."""
    return not earlier or (bool(later) and set(later) <= set(earlier))


def _matches_only_preflights(rule: AccessRule) -> bool:
    return rule.access is Access.PUBLIC and rule.methods == _PREFLIGHT


def _paths_are_within(later: Collection[PathPattern], earlier: Collection[PathPattern]) -> bool:
    return not earlier or (
        bool(later) and all(any(_path_is_within(path, other) for other in earlier) for path in later)
    )


def _path_is_within(later: PathPattern, earlier: PathPattern) -> bool:
    if later.value == earlier.value and later.match is earlier.match:
        return True
    if not _has_wildcard(later) and later.match is not PathMatch.PREFIX:
        return compiled(earlier)(literal_start(later))
    folder = _as_prefix(earlier)
    return folder is not None and compiled(folder)(literal_start(later))


def _as_prefix(pattern: PathPattern) -> PathPattern | None:
    """Return the prefix pattern that matches the same paths, or None."""
    if pattern.match is PathMatch.PREFIX:
        return pattern
    whole = pattern.value.removesuffix("/**") or "/"
    is_folder = _has_wildcard(pattern) and whole != pattern.value and "*" not in whole.split("/")
    return replace(pattern, match=PathMatch.PREFIX, value=whole) if is_folder and "**" not in whole.split("/") else None


def _has_wildcard(pattern: PathPattern) -> bool:
    return pattern.match is PathMatch.GLOB and not {"*", "**"}.isdisjoint(pattern.value.split("/"))


def _networks_are_within(later: Collection[IPNetwork], earlier: Collection[IPNetwork]) -> bool:
    return not earlier or (bool(later) and all(any(_is_subnet(each, other) for other in earlier) for each in later))


def _is_subnet(network: IPNetwork, of: IPNetwork) -> bool:
    if isinstance(network, IPv4Network):
        return isinstance(of, IPv4Network) and network.subnet_of(of)
    return isinstance(of, IPv6Network) and network.subnet_of(of)


def _times_are_within(later: AccessRule, earlier: AccessRule) -> bool:
    window = (earlier.start_minute, earlier.end_minute)
    if not earlier.weekdays and window == (None, None):
        return True
    same = (later.start_minute, later.end_minute, later.time_zone) == (*window, earlier.time_zone)
    return same and _is_within(later.weekdays, earlier.weekdays)
