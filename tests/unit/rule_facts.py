"""Facts of a request, for access rules; set by the test."""

from dataclasses import dataclass, field
from typing import Any

from gatewall.engine.access_rules.rules import AccessRule, PathMatch, PathPattern
from gatewall.engine.access_rules.table import trimmed_readings
from gatewall.engine.grants import Grant
from gatewall.engine.hosts import Access
from gatewall.engine.model import AccessRequest, Subject
from tests.support.cast import CHARLIE, NOW, OFFICE, a_request

SHOP = "shop.example"
SHOWN = frozenset({"for", "host", "proto", "method", "uri", "headers"})


@dataclass
class FixedFacts:
    """Facts that a test sets; ``RequestFacts`` by structure."""

    request: AccessRequest = field(default_factory=lambda: a_request(visible=SHOWN))
    domain_name: str | None = OFFICE
    country_code: str | None = None
    asn: int | None = None
    subject: Subject | None = None
    is_preflight: bool = False
    asked_at: float = NOW

    @property
    def path_readings(self) -> tuple[str, ...] | None:
        return trimmed_readings(self.request.uri.partition("?")[0])


def some_facts(path: str = "/", *, method: str = "GET", visible: frozenset[str] = SHOWN, **facts: object) -> FixedFacts:
    """Return the facts of a request for this path, with these other facts."""
    parts = {name: facts.pop(name) for name in ("client", "allowlist_applies", "at") if name in facts}
    return FixedFacts(a_request(uri=path, method=method, visible=visible, **parts), **facts)  # type: ignore[arg-type]  # values of each field


def an_access_rule(access: Access | str = Access.DENIED, *patterns: str, **conditions: object) -> AccessRule:
    """Return a rule; a pattern is ``exact /a``, ``prefix /a`` or ``glob /a/*``."""
    rule_id = conditions.pop("id", 1)
    kinds = (each.partition(" ") for each in patterns)
    paths = tuple(PathPattern(PathMatch(kind), value) for kind, _, value in kinds)
    return AccessRule(rule_id, f"rule {rule_id}", Access(access), paths=paths, **conditions)  # type: ignore[arg-type]  # values of each field


def a_grant(**parts: Any) -> Grant:
    """Return a grant for charlie, or for a group, to enter the shop for a minute."""
    user_id = None if "group_id" in parts else CHARLIE.id
    values = {"user_id": user_id, "group_id": None, "domain": SHOP, "path_prefix": None, "methods": frozenset()}
    return Grant(7, **{**values, "expires_at": NOW + 60, **parts})
