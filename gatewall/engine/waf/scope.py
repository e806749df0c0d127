"""Where a rule applies: domain, path prefix and exclusions. No I/O."""

from collections.abc import Callable

from gatewall.engine.access_rules.paths import trimmed
from gatewall.engine.access_rules.rules import PathMatch
from gatewall.engine.expiry import is_live
from gatewall.engine.model import AccessRequest
from gatewall.engine.paths import possible_paths
from gatewall.engine.values import lazy
from gatewall.engine.waf.body.texts import as_wire
from gatewall.engine.waf.exclusions import Exclusion, Name, Part, PartName, path_test
from gatewall.engine.waf.rules import BodyRegion, Region, Target, WafRule

_PARTS: dict[Region, Part] = {
    **dict.fromkeys((Target.ARGS, Target.ARG_NAMES, Target.BODY, BodyRegion.TEXT, BodyRegion.FILE), Part.ARGUMENT),
    **dict.fromkeys((Target.HEADERS, Target.USER_AGENT, Target.REFERER), Part.HEADER),
    Target.COOKIES: Part.COOKIE,
}
"""The part that the plain name of a value in a region denotes; in a body, an argument of a form."""


def part_of(region: Region, name: Name | None) -> PartName | None:
    """Return the part of the request that contains a value; None for a value without a name."""
    if isinstance(name, tuple):
        return name
    if region is Target.REFERER or region is Target.USER_AGENT:
        return Part.HEADER, region.value  # the name is that of an argument of the referer
    return None if name is None else (_PARTS.get(region), name)


_OF_HEAD: dict[Part | None, Target] = {Part.COOKIE: Target.COOKIES, Part.HEADER: Target.HEADERS}


def name_of(name: Name | None) -> str | None:
    """Return the name of a value in latin-1."""
    text = name[1] if isinstance(name, tuple) else name
    return None if text is None else as_wire(text)


def target_of(region: Region, name: Name | None) -> Target:
    """Return the target that contains a value of this region and name."""
    if not isinstance(region, BodyRegion):
        return region
    if region is not BodyRegion.HEAD:
        return Target.BODY
    part = part_of(region, name)
    return _OF_HEAD.get(part[0], Target.URI) if part else Target.URI


class Scope:
    """Checks rules' scopes for one request to one registered domain.

    ``hits``: by position of a rule, the region and name of the value in which it matched first.
    """

    def __init__(self, request: AccessRequest, domain: str | None) -> None:
        self._request = request
        self._domain = domain
        self.hits: dict[int, tuple[Region, Name | None]] = {}
        self._spared: dict[int, tuple[set[PartName | None], tuple[Exclusion, ...]]] = {}
        """By identity of a rule's exclusions, which are kept alive: the parts that they spare, None for every part."""
        self._at: dict[Callable[[str], bool], bool] = {}

    def covers(self, rule: WafRule) -> bool:
        if rule.domain is not None and rule.domain != self._domain:
            return False
        return rule.path_prefix is None or self._may_be_below(rule.path_prefix)

    def spares(self, rule: WafRule, region: Region, name: Name | None) -> bool:
        """True if an exclusion of the rule applies to the value of this name in this region."""
        exclusions = rule.exclusions
        found = self._spared.get(id(exclusions))
        if found is None:
            found = self._spared[id(exclusions)] = (self._spared_by(exclusions), exclusions)
        return bool(found[0]) and (None in found[0] or part_of(region, name) in found[0])

    def _spared_by(self, exclusions: tuple[Exclusion, ...]) -> set[PartName | None]:
        """Return the parts that the exclusions spare; one loop, because a rule may have fifty of them."""
        at, found = self._request.at, set()
        for each in exclusions:
            part, test = each.compiled
            if part in found or (each.domain is not None and not self._is_at(each.domain)):
                continue
            if is_live(each.expires_at, at) and (test is None or self.is_surely_at(test)):
                found.add(part)
        return found

    def is_surely_at(self, test: Callable[[str], bool]) -> bool:
        """True if every server resolves the path to one for which the test returns True."""
        found = self._at.get(test)
        if found is None:
            paths = self._paths
            found = self._at[test] = paths is not None and all(map(test, paths))
        return found

    def _is_at(self, domain: str) -> bool:
        """True if this is the name of the registered domain, or of the host itself."""
        host = self._request.host
        return domain == self._domain or (host is not None and domain == host.name)

    def _may_be_below(self, prefix: str) -> bool:
        """True if some server may resolve the path to the prefix or below it."""
        test, paths = path_test(PathMatch.PREFIX, prefix), self._paths
        return paths is None or any(map(test, paths))

    @lazy
    def _paths(self) -> tuple[str, ...] | None:
        paths = possible_paths(self._request.uri.partition("?")[0].encode("latin-1"))
        return None if paths is None else tuple([trimmed(path.decode("latin-1")) for path in paths])
