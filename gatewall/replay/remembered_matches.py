"""Cache of WAF matches: many recorded requests are equal in all that rules inspect. Pure."""

from gatewall.engine.model import AccessRequest
from gatewall.engine.waf.matcher import RuleSet
from gatewall.engine.waf.rules import WafRule

_KEPT = 65_536


class RememberedMatches(RuleSet):
    """Rules whose matches are cached, in bounded memory, for requests rebuilt from records at one moment."""

    def __init__(self, rules: RuleSet) -> None:
        super().__init__(())
        self.rules = rules.rules
        self._base = rules
        self._known: dict[tuple[object, ...], tuple[WafRule, ...]] = {}

    def inspect(self, request: AccessRequest, domain: str | None, stop_at: int = 0) -> tuple[WafRule, ...]:
        """Return the matching rules; all of them, whatever ``stop_at``."""
        key = request.method, request.authority, request.uri, request.headers, request.visible, domain
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _KEPT:
                self._known.clear()
            found = self._known[key] = self._base.inspect(request, domain)
        return found
