"""Values of access rules: conditions and access levels. No I/O."""

from dataclasses import dataclass
from enum import StrEnum

from gatewall.engine.addresses import IPNetwork
from gatewall.engine.hosts import Access
from gatewall.engine.model import SubjectKind


class PathMatch(StrEnum):
    """How a path pattern is compared, always case-sensitively and by whole segments."""

    EXACT = "exact"
    PREFIX = "prefix"
    GLOB = "glob"


@dataclass(frozen=True, slots=True)
class PathPattern:
    """A path pattern of a rule.

    ``prefix`` ``/api`` covers ``/api`` and ``/api/x``, not ``/apis``, as in the Gateway API of Kubernetes. In a
    ``glob``, the segment ``*`` stands for one non-empty segment, ``**`` for any number of segments, none included.
    """

    match: PathMatch
    value: str


class RuleCredential(StrEnum):
    """Kinds of credentials in a rule's condition."""

    SESSION = "session"
    GIT_TOKEN = "git-token"
    APP_TOKEN = "app-token"
    LICENSE = "license"
    GUEST = "guest"
    DEVICE = "device"

    @classmethod
    def of(cls, kind: SubjectKind) -> "RuleCredential":
        """Return the kind of credential that authenticates a subject of this kind."""
        return cls.SESSION if kind is SubjectKind.USER else cls(kind.value)


@dataclass(frozen=True, slots=True)
class AccessRule:
    """An access rule; an empty condition does not restrict.

    ``domains``: names of registered domains. ``weekdays``: ISO 8601, Monday is 1. ``start_minute`` and ``end_minute``:
    minutes since midnight in ``time_zone``, the end excluded; an end before the start is on the next day, and the
    weekday is that of the start. ``groups`` and ``users`` are ids: the subject needs one of each that is not empty.
    ``rate_per_minute``: 0 is no limit. ``app_token_header``: lower-case name of a header that may hold an app token at
    the hosts of the rule; "" is none.
    """

    id: int
    name: str
    access: Access
    domains: frozenset[str] = frozenset()
    paths: tuple[PathPattern, ...] = ()
    methods: frozenset[str] = frozenset()
    networks: tuple[IPNetwork, ...] = ()
    countries: frozenset[str] = frozenset()
    asns: frozenset[int] = frozenset()
    weekdays: frozenset[int] = frozenset()
    start_minute: int | None = None
    end_minute: int | None = None
    time_zone: str = "UTC"
    groups: frozenset[int] = frozenset()
    users: frozenset[int] = frozenset()
    credential_kinds: frozenset[str] = frozenset()
    rate_per_minute: int = 0
    app_token_header: str = ""
    expires_at: float | None = None

    @property
    def is_about_subjects(self) -> bool:
        """True if a condition of the rule is about the subject, so that it cannot be judged without a subject."""
        return bool(self.groups or self.users or self.credential_kinds)
