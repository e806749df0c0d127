"""The policy in memory: its segments, settings, version and look-up tables. No I/O."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from enum import StrEnum
from typing import Any

from gatewall.engine.access_rules.rules import AccessRule
from gatewall.engine.access_rules.table import AccessRuleTable
from gatewall.engine.addresses import NetworkTable
from gatewall.engine.device_passes import DevicePass, DevicePassTable
from gatewall.engine.grants import Grant, GrantTable
from gatewall.engine.groups import GroupState, GroupTable
from gatewall.engine.hosts import Domain, DomainTable
from gatewall.engine.lists import AllowedNetwork, IPLists
from gatewall.engine.users import UserState
from gatewall.engine.waf.matcher import RuleSet
from gatewall.engine.waf.rules import WafRule


class Segment(StrEnum):
    """Part of the policy that is compiled and loaded as a whole, or in shards (``SHARD_OF``)."""

    SETTINGS = "settings"
    DOMAINS = "domains"
    ALLOWED_NETWORKS = "allowed-networks"
    BLOCKED_COUNTRIES = "blocked-countries"
    WAF_RULES = "waf-rules"
    GROUPS = "groups"
    ACCESS_RULES = "access-rules"
    GRANTS = "grants"
    SHARE_LINKS = "share-links"
    DEVICE_PASSES = "device-passes"
    USERS = "users"
    GIT_TOKENS = "git-tokens"
    APP_TOKENS = "app-tokens"
    LICENSES = "licenses"
    REVOCATIONS = "revocations"


class DomainsMode(StrEnum):
    """Whether unregistered hosts are allowed."""

    ANY = "any"
    REGISTERED = "registered"


class EnforcementMode(StrEnum):
    """Whether a step refuses, only records, or is off."""

    BLOCK = "block"
    MONITOR = "monitor"
    OFF = "off"


class UnknownCountry(StrEnum):
    """How to treat a public address of unknown country."""

    ALLOW = "allow"
    BLOCK = "block"


class AuditMode(StrEnum):
    """If the access record cannot be written: answer anyway, or refuse with 503."""

    BEST_EFFORT = "best-effort"
    STRICT = "strict"


class StalePolicy(StrEnum):
    """If the policy was not confirmed for too long: go on deciding with it, or refuse with 503."""

    STATIC = "static"
    STRICT = "strict"


class SignedIdentity(StrEnum):
    """Whether the site gets a signed identity token, and the algorithm of its signature (RFC 7518, RFC 8037)."""

    OFF = "off"
    EDDSA = "EdDSA"
    ES256 = "ES256"


class QueryStrings(StrEnum):
    """Whether the access log keeps query strings, masked."""

    MASKED = "masked"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class PolicySettings:
    """System settings that the gate reads, with their defaults."""

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
    signed_identity: SignedIdentity = SignedIdentity.OFF


@dataclass(frozen=True, slots=True)
class GitTokenState:
    """A git token, keyed by the SHA-256 digest of its text."""

    id: int
    user_id: int
    digest: str
    expires_at: float | None


@dataclass(frozen=True, slots=True)
class AppTokenState:
    """An app token, keyed by the SHA-256 digest of its text. ``paths``: prefixes, none means every path."""

    id: int
    user_id: int
    digest: str
    expires_at: float | None
    all_domains: bool
    domains: frozenset[str]
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LicenseState:
    """A license, keyed by the SHA-256 digest of its token."""

    id: int
    digest: str
    is_active: bool
    expires_at: float | None
    all_domains: bool
    domains: frozenset[str]


@dataclass(frozen=True, slots=True)
class ShareLinkState:
    """A share link, keyed by the SHA-256 digest of its text. ``path_prefix`` None is every path; no methods: all."""

    id: int
    digest: str
    domain: str
    path_prefix: str | None
    methods: frozenset[str]
    expires_at: float | None


@dataclass(frozen=True, slots=True)
class BlockedCountry:
    """A blocked country."""

    id: int
    country_code: str


@dataclass(frozen=True, slots=True)
class Version:
    """Version of the policy.

    ``epoch`` identifies the history that the numbers belong to: it changes when an admin confirms a restored database.
    ``revocations`` counts revoked sessions and ``reloads`` requested reloads; neither changes the revision.
    """

    revision: int
    revocations: int = 0
    reloads: int = 0
    epoch: str = ""

    def supersedes(self, other: "Version") -> bool:
        """True if this version replaces the other: newer in its epoch, or of another epoch."""
        if self.epoch != other.epoch:
            return True
        mine = (self.revision, self.revocations, self.reloads)
        return mine > (other.revision, other.revocations, other.reloads)


@dataclass(frozen=True, slots=True, eq=False)
class PolicySnapshot:
    """One immutable version of the policy, indexed for look-up; thread-safe."""

    version: Version
    _: KW_ONLY
    settings: PolicySettings
    lists: IPLists
    domains: DomainTable
    blocked_countries: Mapping[str, BlockedCountry]
    waf: RuleSet
    groups: GroupTable
    access_rules: AccessRuleTable
    grants: GrantTable
    share_links: Mapping[str, ShareLinkState]
    device_passes: DevicePassTable
    users: Mapping[int, UserState]
    git_tokens: Mapping[str, GitTokenState]
    app_tokens: Mapping[str, AppTokenState]
    licenses: Mapping[str, LicenseState]
    revoked_sessions: frozenset[str]
    identity: object = field(init=False, compare=False, default_factory=object, repr=False)
    """Identifies this snapshot, and no changed copy, in caches that must not keep the snapshot alive."""

    @classmethod
    def of(cls, version: Version, lists: IPLists, tables: Mapping[str, Any]) -> "PolicySnapshot":
        """Return the policy with these tables, by segment."""
        parts = {kind.attribute: tables[segment] for segment, kind in KINDS.items() if kind.attribute}
        return cls(version, lists=lists, **parts)


@dataclass(frozen=True, slots=True)
class Kind:
    """Kind of segment: the class of its rows, and the attribute of the policy that they become (none: in ``lists``).

    Rows with a ``key``, the field that names a row, become a mapping by it, others what ``make`` returns.
    """

    row: type[Any]
    attribute: str = ""
    make: Callable[[tuple[Any, ...]], Any] = tuple
    key: str = ""

    def table(self, rows: Iterable[Any]) -> Any:
        """Return the table of these rows. Raises ValueError."""
        return {getattr(row, self.key): row for row in rows} if self.key else self.make(tuple(rows))


def _single(rows: tuple[PolicySettings, ...]) -> PolicySettings:
    if len(rows) != 1:
        raise ValueError("settings must be exactly one row")
    return rows[0]


KINDS: Mapping[str, Kind] = {
    Segment.SETTINGS: Kind(PolicySettings, "settings", _single),
    Segment.DOMAINS: Kind(Domain, "domains", DomainTable),
    Segment.ALLOWED_NETWORKS: Kind(AllowedNetwork, make=NetworkTable),
    Segment.BLOCKED_COUNTRIES: Kind(BlockedCountry, "blocked_countries", key="country_code"),
    Segment.WAF_RULES: Kind(WafRule, "waf", RuleSet),
    Segment.GROUPS: Kind(GroupState, "groups", GroupTable),
    Segment.ACCESS_RULES: Kind(AccessRule, "access_rules", AccessRuleTable),
    Segment.GRANTS: Kind(Grant, "grants", GrantTable),
    Segment.SHARE_LINKS: Kind(ShareLinkState, "share_links", key="digest"),
    Segment.DEVICE_PASSES: Kind(DevicePass, "device_passes", DevicePassTable),
    Segment.USERS: Kind(UserState, "users", key="id"),
    Segment.GIT_TOKENS: Kind(GitTokenState, "git_tokens", key="digest"),
    Segment.APP_TOKENS: Kind(AppTokenState, "app_tokens", key="digest"),
    Segment.LICENSES: Kind(LicenseState, "licenses", key="digest"),
    Segment.REVOCATIONS: Kind(str, "revoked_sessions", frozenset),
}
"""Every kind of segment except blocked networks."""
