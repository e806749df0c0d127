"""Test requests against the default built-in rules, for measuring detection rates. No I/O."""

from collections import Counter
from collections.abc import Iterable
from ipaddress import IPv4Address

from gatewall.engine.hosts import Authority
from gatewall.engine.model import AccessRequest, Action
from gatewall.engine.waf.builtin import BUILTIN_RULES
from gatewall.engine.waf.matcher import RuleSet
from gatewall.engine.waf.rules import THRESHOLD, Operator, WafRule
from gatewall.engine.waf.scanning import Scanners
from gatewall.engine.waf.vector import AVAILABLE, CompiledNow

COMPILED_NOW = CompiledNow() if AVAILABLE else None
_CREDENTIALS = frozenset({"authorization", "proxy-authorization"})


def builtin_rules() -> tuple[WafRule, ...]:
    """Return the built-in rules of a default installation."""
    return tuple(
        WafRule(
            id=number,
            name=rule.key,
            pattern=rule.pattern,
            operator=Operator.REGEX,
            targets=rule.targets,
            transforms=rule.transforms,
            category=rule.category,
            score=rule.score,
            action=rule.action,
            builtin=True,
        )
        for number, rule in enumerate(BUILTIN_RULES, 1)
    )


class Judge:
    """Judges raw requests by the built-in rules."""

    def __init__(self, scanners: Scanners | None = COMPILED_NOW) -> None:
        """Without ``scanners`` RE2 is used, with equal results."""
        self._rules = RuleSet(builtin_rules(), scanners)

    def __call__(
        self, method: bytes, uri: bytes, headers: Iterable[tuple[bytes, bytes]], body: bytes | None = None
    ) -> bool:
        """True if the WAF step would refuse the request."""
        return _refuse(self._rules.inspect(request_of(method, uri, headers, body), None, THRESHOLD))

    def matches(self, request: AccessRequest) -> tuple[WafRule, ...]:
        return tuple(self._rules.inspect(request, None))

    def refusing(self, request: AccessRequest) -> tuple[WafRule, ...]:
        """Return the matching rules if the scores of one category reach the threshold, else none."""
        found = self.matches(request)
        return found if _refuse(found) else ()


def _refuse(found: Iterable[WafRule]) -> bool:
    scores: Counter[str] = Counter()
    for rule in found:
        scores[rule.category] += rule.score if rule.action is Action.BLOCK else 0
    return max(scores.values(), default=0) >= THRESHOLD


def request_of(
    method: bytes, uri: bytes, headers: Iterable[tuple[bytes, bytes]], body: bytes | None = None
) -> AccessRequest:
    """Build the parsed subrequest about a raw HTTP request."""
    named = tuple([(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in headers])
    cookies = []
    host = next((value for name, value in named if name == "host"), None)
    for name, value in named:
        if name == "cookie":
            parts = [part.strip().partition("=") for part in value.split(";", 256)]
            cookies += [(key, text) if equals else ("", key) for key, equals, text in parts]
    return AccessRequest(
        at=0.0,
        client=IPv4Address("192.0.2.1"),
        authority=Authority.parse(host) if host else None,
        method=method.decode("latin-1"),
        uri=uri.decode("latin-1"),
        headers=tuple([each for each in named if each[0] not in _CREDENTIALS]),
        cookies=tuple(cookies),
        body=body,
        site_credentials=tuple([each for each in named if each[0] in _CREDENTIALS]),
    )
