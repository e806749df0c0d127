"""One situation for each step of the decision, so that any two of them can be combined in one request."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from gatewall.engine.access_rules.rules import AccessRule
from gatewall.engine.device_passes import DevicePass
from gatewall.engine.facts import Facts
from gatewall.engine.hosts import Access
from gatewall.engine.lists import AllowedNetwork, BlockedNetwork
from gatewall.engine.model import AccessRequest, Effect, Reason
from gatewall.engine.ports import Ports
from gatewall.engine.snapshot import PolicySnapshot
from gatewall.engine.steps import STEPS, Step
from gatewall.engine.waf.rules import WafRule
from tests.support.cast import CLIENT, OFFICE, a_blocked, a_policy, a_ports, a_request, a_rule, an_allowed

SHOP = "shop.example"


@dataclass(frozen=True)
class Scene:
    """Bob, with a password session, requests a registered domain: no step refuses the request."""

    fault: str = ""
    blocked: tuple[BlockedNetwork, ...] = ()
    allowed: tuple[AllowedNetwork, ...] = ()
    mode: str = "any"
    access: str | None = "authenticated"
    countries: tuple[str, ...] = ()
    rules: tuple[WafRule, ...] = ()
    access_rules: tuple[AccessRule, ...] = ()
    over_seconds: int = 0
    credentials: tuple[str, ...] = ("bob",)
    device_passes: tuple[DevicePass, ...] = ()

    def parts(self) -> tuple[AccessRequest, PolicySnapshot, Ports]:
        """Return the arguments of ``evaluate``."""
        request = a_request(client=CLIENT, host=SHOP, credentials=self.credentials, fault=self.fault, uri="/?q=attack")
        policy = a_policy(
            blocked=self.blocked,
            allowed=self.allowed,
            authorized_domains_mode=self.mode,
            domains={SHOP: self.access} if self.access else {OFFICE: "authenticated"},
            countries=self.countries,
            rules=self.rules,
            access_rules=self.access_rules,
            request_rate_per_minute=1,
            device_passes=self.device_passes,
        )
        return request, policy, a_ports(country="DE", over_seconds=self.over_seconds)

    def applies(self, step: Step) -> bool:
        """Return whether the step alone gives a verdict."""
        return step.function(Facts(*self.parts())) is not None


@dataclass(frozen=True)
class Situation:
    """A change of the scene that makes the step of this name apply, and the verdict of the step."""

    name: str
    reason: Reason
    effect: Effect
    change: Callable[[Scene], Scene]
    step: Step


def _rule(access: Access, **conditions: Any) -> Callable[[Scene], Scene]:
    rule = AccessRule(8, "rule", access, **conditions)
    return lambda scene: replace(scene, access_rules=(rule, *scene.access_rules))


def _allow(scene: Scene, network: str, number: int, *, inspect: bool) -> Scene:
    entry = an_allowed(network, id=number, inspect=inspect)
    return replace(scene, allowed=(*scene.allowed, entry))


CASES: tuple[tuple[str, str, Effect, Callable[[Scene], Scene]], ...] = (
    ("request-is-malformed", "request-malformed", Effect.DENY, lambda scene: replace(scene, fault="two hosts")),
    (
        "client-is-blocked",
        "client-blocked",
        Effect.DENY,
        lambda scene: replace(scene, blocked=(a_blocked("198.51.100.7"),)),
    ),
    (
        "host-is-not-authorized",
        "host-not-authorized",
        Effect.DENY,
        lambda scene: replace(scene, mode="registered", access=None),
    ),
    (
        "client-is-allowed",
        "client-allowed",
        Effect.ALLOW,
        lambda scene: _allow(scene, "198.51.100.0/26", 4, inspect=False),
    ),
    ("country-is-blocked", "country-blocked", Effect.DENY, lambda scene: replace(scene, countries=("DE",))),
    ("waf-rules-match", "waf-rule", Effect.DENY, lambda scene: replace(scene, rules=(a_rule("attack", id=6),))),
    (
        "inspected-client-is-allowed",
        "client-allowed",
        Effect.ALLOW,
        lambda scene: _allow(scene, "198.51.100.0/24", 7, inspect=True),
    ),
    ("client-is-over-rate", "client-rate-limited", Effect.DENY, lambda scene: replace(scene, over_seconds=7)),
    ("access-is-denied", "access-denied", Effect.DENY, _rule(Access.DENIED)),
    ("host-is-public", "host-public", Effect.ALLOW, lambda scene: replace(scene, access="public")),
    ("credential-is-missing", "credential-missing", Effect.CHALLENGE, lambda scene: replace(scene, credentials=())),
    (
        "credential-is-invalid",
        "credential-invalid",
        Effect.CHALLENGE,
        lambda scene: replace(scene, credentials=("forged",)),
    ),
    ("host-is-not-in-scope", "host-not-in-scope", Effect.DENY, lambda scene: replace(scene, credentials=("charlie",))),
    (
        "subject-is-denied",
        "access-denied",
        Effect.DENY,
        _rule(Access.DENIED, credential_kinds=frozenset({"session"})),
    ),
    (
        "second-factor-is-missing",
        "second-factor-required",
        Effect.CHALLENGE,
        lambda scene: replace(scene, access="two_factor"),
    ),
    (
        "phishing-resistance-is-missing",
        "phishing-resistant-required",
        Effect.CHALLENGE,
        _rule(Access.PHISHING_RESISTANT),
    ),
    ("subject-is-valid", "session-valid", Effect.ALLOW, lambda scene: scene),
)
"""Every step in the order of the decision: its name, the value of its reason, its effect, and what makes it apply."""

SITUATIONS = tuple(
    Situation(name, Reason(reason), effect, change, step)  # type: ignore[call-arg]  # a look-up by value
    for (name, reason, effect, change), step in zip(CASES, STEPS, strict=True)
)

_ONE_ACCESS = (
    "access-is-denied",
    "host-is-public",
    "subject-is-denied",
    "second-factor-is-missing",
    "phishing-resistance-is-missing",
)
_OF_SUBJECTS = (
    "host-is-not-in-scope",
    "subject-is-denied",
    "second-factor-is-missing",
    "phishing-resistance-is-missing",
    "subject-is-valid",
)
NEVER_TOGETHER = {
    # Step 3 needs a host without a domain.
    ("host-is-not-authorized", "host-is-public"),
    ("host-is-not-authorized", "second-factor-is-missing"),
    # A request needs one access.
    *combinations(_ONE_ACCESS, 2),
    # A request has no credential, or a valid one, or none that is valid.
    ("credential-is-missing", "credential-is-invalid"),
    *(("credential-is-missing", step) for step in _OF_SUBJECTS),
    *(("credential-is-invalid", step) for step in _OF_SUBJECTS),
}
"""The pairs of steps that no single request can meet."""

ONE_STANDING = {
    ("client-is-blocked", "client-is-allowed"),
    ("client-is-blocked", "inspected-client-is-allowed"),
    ("client-is-allowed", "inspected-client-is-allowed"),
}
"""The pairs that are settled by the most specific list entry before either step is asked."""

PAIRS = tuple(
    (earlier, later)
    for position, earlier in enumerate(SITUATIONS)
    for later in SITUATIONS[position + 1 :]
    if (earlier.name, later.name) not in NEVER_TOGETHER
)
