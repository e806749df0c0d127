"""Compiled conditions of access rules: does a rule match a request, and does it apply to the subject? No I/O."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from gatewall.engine.access_rules import paths, times
from gatewall.engine.access_rules.rules import AccessRule, RuleCredential
from gatewall.engine.expiry import is_live
from gatewall.engine.hosts import Access
from gatewall.engine.model import AccessRequest, Subject

_PREFLIGHT = frozenset({"OPTIONS"})
_OF_PATHS = ("uri",)
_OF_METHODS = ("method",)
_OF_CLIENTS = ("for",)


class Condition(StrEnum):
    """Conditions in the order in which they are judged."""

    EXPIRED = "expired"
    DOMAINS = "domains"
    PATHS = "paths"
    METHODS = "methods"
    PREFLIGHT = "preflight"
    NETWORKS = "networks"
    COUNTRIES = "countries"
    ASNS = "asns"
    TIME = "time"
    GROUPS = "groups"
    USERS = "users"
    CREDENTIAL_KINDS = "credential_kinds"


class RequestFacts(Protocol):
    """Facts that conditions are judged on; each is looked up when a condition first needs it."""

    @property
    def request(self) -> AccessRequest: ...
    @property
    def domain_name(self) -> str | None: ...
    @property
    def country_code(self) -> str | None: ...
    @property
    def asn(self) -> int | None: ...
    @property
    def subject(self) -> Subject | None: ...
    @property
    def is_preflight(self) -> bool: ...
    @property
    def asked_at(self) -> float: ...
    @property
    def path_readings(self) -> tuple[str, ...] | None: ...


Judge = Callable[[RequestFacts, str], bool]
"""Predicate: does a condition hold for a request and one trimmed reading of its path?"""


@dataclass(frozen=True, slots=True)
class Judged:
    """A condition with its predicate, and the parts of a request that the proxy must have shown for it."""

    name: Condition
    holds: Judge
    parts: tuple[str, ...] = ()


class CompiledRule:
    """A rule with its conditions as functions; ``position`` is its place in the order of all rules."""

    __slots__ = ("_judges", "conditions", "is_about_subjects", "parts", "position", "rule")

    def __init__(self, rule: AccessRule, position: int) -> None:
        """Raises ValueError for an unknown time zone."""
        self.rule = rule
        self.position = position
        self.conditions = _conditions(rule)
        self.parts = frozenset(part for condition in self.conditions for part in condition.parts)
        self.is_about_subjects = rule.is_about_subjects
        self._judges = tuple([condition.holds for condition in self.conditions])

    def holds(self, facts: RequestFacts, path: str, unseen: frozenset[str]) -> bool:
        """True if every condition on the request holds, except those on parts that the proxy did not show."""
        if not unseen:
            for holds in self._judges:  # noqa: SIM110 - a generator costs more than most conditions
                if not holds(facts, path):
                    return False
            return True
        return all(condition.holds(facts, path) for condition in self.conditions if unseen.isdisjoint(condition.parts))

    def first_failed(self, facts: RequestFacts, path: str, unseen: frozenset[str]) -> Condition | None:
        """Return the first condition that does not hold, of those on the domain, the request and a known subject."""
        if self.rule.domains and facts.domain_name not in self.rule.domains:
            return Condition.DOMAINS
        for condition in self.conditions:
            if unseen.isdisjoint(condition.parts) and not condition.holds(facts, path):
                return condition.name
        return self.first_unmet(facts.subject) if self.is_about_subjects and facts.subject else None

    def means(self, subject: Subject) -> bool:
        """True if the subject meets every condition on subjects."""
        return self.first_unmet(subject) is None

    def first_unmet(self, subject: Subject) -> Condition | None:
        """Return the first condition on subjects that this subject does not meet, or None."""
        rule = self.rule
        if rule.groups and rule.groups.isdisjoint(subject.group_ids):
            return Condition.GROUPS
        if rule.users and subject.user_id not in rule.users:
            return Condition.USERS
        if rule.credential_kinds and RuleCredential.of(subject.kind) not in rule.credential_kinds:
            return Condition.CREDENTIAL_KINDS
        return None


def _conditions(rule: AccessRule) -> tuple[Judged, ...]:
    """Return the judged conditions of the rule, except the one on domains, which the table looks up."""
    found = []
    if rule.expires_at is not None:
        found.append(Judged(Condition.EXPIRED, lambda facts, _: is_live(rule.expires_at, facts.request.at)))
    if rule.paths:
        found.append(Judged(Condition.PATHS, _on_paths(rule), _OF_PATHS))
    if rule.methods:
        found.append(Judged(Condition.METHODS, lambda facts, _: facts.request.method in rule.methods, _OF_METHODS))
    if rule.methods == _PREFLIGHT and rule.access is Access.PUBLIC:
        found.append(Judged(Condition.PREFLIGHT, lambda facts, _: facts.is_preflight))
    if rule.networks:
        found.append(Judged(Condition.NETWORKS, _on_networks(rule), _OF_CLIENTS))
    if rule.countries:
        found.append(Judged(Condition.COUNTRIES, lambda facts, _: facts.country_code in rule.countries, _OF_CLIENTS))
    if rule.asns:
        found.append(Judged(Condition.ASNS, lambda facts, _: facts.asn in rule.asns, _OF_CLIENTS))
    if times.is_restricted(rule):
        contains = times.compiled(rule)
        found.append(Judged(Condition.TIME, lambda facts, _: contains(facts.asked_at)))
    return tuple(found)


def _on_paths(rule: AccessRule) -> Judge:
    patterns = tuple([paths.compiled(pattern) for pattern in rule.paths])
    if len(patterns) == 1:
        only = patterns[0]
        return lambda _, path: only(path)
    return lambda _, path: any(matches(path) for matches in patterns)


def _on_networks(rule: AccessRule) -> Judge:
    groups: dict[tuple[int, int], set[int]] = {}
    for network in rule.networks:
        host_bits = network.max_prefixlen - network.prefixlen
        groups.setdefault((network.version, host_bits), set()).add(int(network.network_address) >> host_bits)
    prefixes = [(version, host_bits, frozenset(found)) for (version, host_bits), found in groups.items()]

    def contain(facts: RequestFacts, _: str) -> bool:
        client = facts.request.client
        number, client_version = int(client), client.version
        for version, host_bits, found in prefixes:  # noqa: SIM110 - as above
            if version == client_version and number >> host_bits in found:
                return True
        return False

    return contain
