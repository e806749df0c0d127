"""One revision of the policy: its segments by name, their values, and the look-up tables of them. No I/O."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from typing import Any, Protocol, get_type_hints

from gatewall.engine.hosts import DomainTable
from gatewall.engine.lists import IPLists
from gatewall.engine.model import AccessRequest
from gatewall.engine.waf.rules import WafRule


class Segment(StrEnum):
    """A part of the policy that is compiled, stored and loaded as a whole, or (``SHARD_OF``) in shards."""

    SETTINGS = "settings"
    DOMAINS = "domains"
    ALLOWED_NETWORKS = "allowed-networks"
    BLOCKED_COUNTRIES = "blocked-countries"
    WAF_RULES = "waf-rules"
    USERS = "users"
    GIT_TOKENS = "git-tokens"
    LICENSES = "licenses"
    REVOCATIONS = "revocations"


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


class AuditMode(StrEnum):
    """What is answered when its record cannot be kept: the decision, or that there is none."""

    BEST_EFFORT = "best-effort"
    STRICT = "strict"


class StalePolicy(StrEnum):
    """What is answered by a policy that nobody could compare with the database for long: as it says, or nothing."""

    STATIC = "static"
    STRICT = "strict"


class QueryStrings(StrEnum):
    """What the access log keeps of the query string of a target."""

    MASKED = "masked"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class PolicySettings:
    """The system settings that the gate reads, by their names, with their defaults."""

    authorized_domains_mode: DomainsMode = DomainsMode.ANY
    waf_mode: EnforcementMode = EnforcementMode.BLOCK
    waf_threshold: int = 5
    geo_mode: EnforcementMode = EnforcementMode.BLOCK
    unknown_country: UnknownCountry = UnknownCountry.ALLOW
    request_rate_per_minute: int = 0
    audit_mode: AuditMode = AuditMode.BEST_EFFORT
    log_query_strings: QueryStrings = QueryStrings.MASKED
    stale_policy: StalePolicy = StalePolicy.STATIC
    stale_policy_seconds: int = 60

    @classmethod
    def kinds(cls) -> "dict[str, Callable[[Any], Any]]":
        """Return of each setting what makes it of a plain value: its enum, or ``int``."""
        return get_type_hints(cls)


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


@dataclass(frozen=True, slots=True)
class Version:
    """Which policy this is.

    ``epoch`` names the history that the numbers belong to: it changes when a database was restored
    from a backup and an admin confirmed that. ``revocations`` counts revoked sessions and
    ``reloads`` demanded reloads, neither of which is a change of policy.
    """

    revision: int
    revocations: int = 0
    reloads: int = 0
    epoch: str = ""

    def supersedes(self, other: "Version") -> bool:
        """True if this version takes the place of the other: later in its epoch, or of another epoch."""
        if self.epoch != other.epoch:
            return True
        mine = (self.revision, self.revocations, self.reloads)
        return mine > (other.revision, other.revocations, other.reloads)


class WafInspector(Protocol):
    """The port of the WAF step."""

    @property
    def rules(self) -> Sequence[WafRule]:
        """All rules, in the order in which they are reported."""

    def inspect(self, request: AccessRequest, domain: str | None, stop_at: int = 0) -> Sequence[WafRule]:
        """Return the rules that match the request, or some whose scores reach ``stop_at`` in one category."""

    @property
    def engine(self) -> str:
        """What scans for the rules, empty if there are none."""

    @property
    def apart(self) -> Sequence[WafRule]:
        """The rules that are scanned for apart from all others, each by itself."""

    def check(self) -> str:
        """Hold the engine against requests of which the outcome is known; return what is wrong, empty if nothing is."""


@dataclass(frozen=True, slots=True, eq=False)
class PolicySnapshot:
    """One version of the policy, indexed for look-up. Never changes; safe to share between threads."""

    version: Version
    _: KW_ONLY
    settings: PolicySettings
    lists: IPLists
    domains: DomainTable
    blocked_countries: Mapping[str, BlockedCountry]
    waf: WafInspector
    users: Mapping[int, UserState]
    git_tokens: Mapping[str, GitTokenState]
    licenses: Mapping[str, LicenseState]
    revoked_sessions: frozenset[str]
