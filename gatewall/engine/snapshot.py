"""One revision of the policy: plain source values, and the look-up tables built from them. No I/O."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from gatewall.engine.hosts import Domain, DomainTable
from gatewall.engine.lists import AllowedNetwork, BlockedNetwork, IPLists
from gatewall.engine.model import AccessRequest
from gatewall.engine.waf.rules import WafRule


class DomainsMode(StrEnum):
    """Whether hosts that nobody registered may be asked for."""

    ANY = "any"
    REGISTERED = "registered"


class EnforcementMode(StrEnum):
    """Whether a step refuses, only records, or does not look."""

    BLOCK = "block"
    MONITOR = "monitor"
    OFF = "off"


class UnknownCountry(StrEnum):
    """What becomes of a public address that the geo database does not know."""

    ALLOW = "allow"
    BLOCK = "block"


@dataclass(frozen=True, slots=True)
class PolicySettings:
    """The system settings that the decision reads."""

    authorized_domains_mode: DomainsMode = DomainsMode.ANY
    waf_mode: EnforcementMode = EnforcementMode.BLOCK
    waf_threshold: int = 5
    geo_mode: EnforcementMode = EnforcementMode.BLOCK
    unknown_country: UnknownCountry = UnknownCountry.ALLOW
    request_rate_per_minute: int = 0


@dataclass(frozen=True, slots=True)
class UserState:
    """What a session or git token of this user is worth right now."""

    id: int
    username: str
    email: str
    is_admin: bool
    is_active: bool
    session_version: int
    all_domains: bool
    domains: frozenset[str]


@dataclass(frozen=True, slots=True)
class GitTokenState:
    """A git token, found by the SHA-256 digest of its text."""

    id: int
    user_id: int
    digest: str
    expires_at: float | None


@dataclass(frozen=True, slots=True)
class LicenseState:
    """A license, found by the SHA-256 digest of its token."""

    id: int
    digest: str
    is_active: bool
    expires_at: float | None
    all_domains: bool
    domains: frozenset[str]


@dataclass(frozen=True, slots=True)
class BlockedCountry:
    """A geo rule: one blocked country."""

    id: int
    country_code: str


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """Which policy this is: revision of the rows, and count of the revocations since."""

    revision: int
    revocations: int = 0


@dataclass(frozen=True, slots=True)
class PolicySource:
    """Everything that decides, as the rows say it. This is what is stored and sent."""

    version: Version
    settings: PolicySettings = field(default_factory=PolicySettings)
    blocked_networks: tuple[BlockedNetwork, ...] = ()
    allowed_networks: tuple[AllowedNetwork, ...] = ()
    domains: tuple[Domain, ...] = ()
    blocked_countries: tuple[BlockedCountry, ...] = ()
    waf_rules: tuple[WafRule, ...] = ()
    users: tuple[UserState, ...] = ()
    git_tokens: tuple[GitTokenState, ...] = ()
    licenses: tuple[LicenseState, ...] = ()
    revoked_sessions: frozenset[str] = frozenset()


class WafInspector(Protocol):
    """The port of the WAF step."""

    def inspect(self, request: AccessRequest, domain: str | None) -> Sequence[WafRule]:
        """Return the rules that match the request."""


class PolicySnapshot:
    """One revision, indexed for look-up. Never changes; safe to share between threads."""

    __slots__ = (
        "blocked_countries",
        "domains",
        "git_tokens",
        "licenses",
        "lists",
        "revoked_sessions",
        "settings",
        "users",
        "version",
        "waf",
    )

    def __init__(self, source: PolicySource, waf: WafInspector) -> None:
        self.version = source.version
        self.settings = source.settings
        self.lists = IPLists(source.blocked_networks, source.allowed_networks)
        self.domains = DomainTable(source.domains)
        self.blocked_countries: Mapping[str, BlockedCountry] = {
            country.country_code: country for country in source.blocked_countries
        }
        self.users: Mapping[int, UserState] = {user.id: user for user in source.users}
        self.git_tokens: Mapping[str, GitTokenState] = {token.digest: token for token in source.git_tokens}
        self.licenses: Mapping[str, LicenseState] = {state.digest: state for state in source.licenses}
        self.revoked_sessions = source.revoked_sessions
        self.waf = waf
