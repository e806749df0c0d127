"""Where a rule applies: domain, path prefix and exclusions. No I/O."""

from gatewall.engine.expiry import is_live
from gatewall.engine.model import AccessRequest
from gatewall.engine.paths import possible_paths
from gatewall.engine.values import lazy
from gatewall.engine.waf.rules import BodyRegion, Region, Target, WafRule


class Scope:
    """Checks rules' scopes for one request to one registered domain.

    ``hits``: by position of a rule, the region and name of the value in which it matched first.
    """

    def __init__(self, request: AccessRequest, domain: str | None) -> None:
        self._request = request
        self._domain = domain
        self.hits: dict[int, tuple[Region, str | None]] = {}

    def covers(self, rule: WafRule) -> bool:
        if rule.domain is not None and rule.domain != self._domain:
            return False
        return rule.path_prefix is None or self._may_be_below(rule.path_prefix)

    def spares(self, rule: WafRule, name: str | None) -> bool:
        """True if an exclusion of the rule applies to the value of this name."""
        return any(
            (exclusion.domain is None or exclusion.domain == self._domain)
            and (exclusion.path_prefix is None or self._is_surely_below(exclusion.path_prefix))
            and (exclusion.argument is None or exclusion.argument == name)
            and is_live(exclusion.expires_at, self._request.at)
            for exclusion in rule.exclusions
        )

    def _may_be_below(self, prefix: str) -> bool:
        """True if some server may resolve the path to the prefix or below it."""
        start, paths = _start(prefix), self._paths
        return paths is None or any(_is_below(path, start) for path in paths)

    def _is_surely_below(self, prefix: str) -> bool:
        """True if every server resolves the path to the prefix or below it."""
        start, paths = _start(prefix), self._paths
        return paths is not None and all(_is_below(path, start) for path in paths)

    @lazy
    def _paths(self) -> tuple[bytes, ...] | None:
        return possible_paths(self._request.uri.partition("?")[0].encode("latin-1"))


def part_of(region: Region, name: str | None, request: AccessRequest) -> Target:
    """Return the part of the request in which a value of this region and name is."""
    if not isinstance(region, BodyRegion):
        return region
    if region is not BodyRegion.HEAD:
        return Target.BODY
    if any(name == cookie for cookie, _ in request.cookies):
        return Target.COOKIES
    return Target.HEADERS if name and request.header(name) else Target.URI


def _start(prefix: str) -> bytes:
    return prefix.encode("utf-8").rstrip(b"/")


def _is_below(path: bytes, start: bytes) -> bool:
    """True for the path itself or below it: ``/admin`` does not cover ``/administrator``."""
    return path == start or path.startswith(start + b"/")
