"""The words of a decision: what is asked, what is answered, and why. Plain values, no I/O."""

from dataclasses import field
from enum import StrEnum
from typing import Self

from gatewall.engine.addresses import IPAddress
from gatewall.engine.hosts import Authority, Host
from gatewall.engine.values import value


class Effect(StrEnum):
    """What the proxy is to do. CHALLENGE is a refusal that signing in may lift."""

    ALLOW = "allow"
    CHALLENGE = "challenge"
    DENY = "deny"
    ERROR = "error"

    @property
    def status(self) -> int:
        """The HTTP status that says this to a reverse proxy."""
        return _STATUS[self]


_STATUS = {Effect.ALLOW: 200, Effect.CHALLENGE: 401, Effect.DENY: 403, Effect.ERROR: 503}


_FROM_HERE = "This site cannot be reached from your network or country."
_HARMFUL = "The request was refused because it looks harmful or cannot be read."


class Reason(StrEnum):
    """Why a decision was taken, its effect, and its words for operators and for a visitor who is refused.

    Logged and shown to operators: never reuse a value. The words are translated where a page shows them.
    """

    effect: Effect
    words: str
    visitor_words: str

    def __new__(cls, value: str, effect: Effect, words: str, visitor_words: str = "") -> Self:
        """Make a member that is its value."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.effect, member.words, member.visitor_words = effect, words, visitor_words
        return member

    REQUEST_MALFORMED = "request-malformed", Effect.DENY, "The question could be read in two ways.", _HARMFUL
    CLIENT_BLOCKED = "client-blocked", Effect.DENY, "The address is on the blocklist.", _FROM_HERE
    HOST_NOT_AUTHORIZED = (
        "host-not-authorized",
        Effect.DENY,
        "The host is not registered, or its access is denied.",
        "There is no such site here.",
    )
    CLIENT_ALLOWED = "client-allowed", Effect.ALLOW, "The address is on the allowlist."
    COUNTRY_BLOCKED = "country-blocked", Effect.DENY, "The country of the address is blocked.", _FROM_HERE
    WAF_RULE = "waf-rule", Effect.DENY, "WAF rules found an attack.", _HARMFUL
    CLIENT_RATE_LIMITED = (
        "client-rate-limited",
        Effect.DENY,
        "The address asked more often than the settings allow.",
        "Too many requests. Please wait a moment and try again.",
    )
    HOST_PUBLIC = "host-public", Effect.ALLOW, "The host is open to everybody."
    CREDENTIAL_MISSING = "credential-missing", Effect.CHALLENGE, "Nobody was signed in."
    CREDENTIAL_INVALID = (
        "credential-invalid",
        Effect.CHALLENGE,
        "What was sent to sign in is not valid, or not any more.",
    )
    HOST_NOT_IN_SCOPE = (
        "host-not-in-scope",
        Effect.DENY,
        "Whoever was signed in may not enter this host.",
        "Your account may not enter this site.",
    )
    SECOND_FACTOR_REQUIRED = (
        "second-factor-required",
        Effect.CHALLENGE,
        "The host asks for a second factor, and the session has none.",
    )
    SESSION_VALID = "session-valid", Effect.ALLOW, "A user was signed in."
    GIT_TOKEN_VALID = "git-token-valid", Effect.ALLOW, "A git token was valid."
    LICENSE_VALID = "license-valid", Effect.ALLOW, "A license was valid."
    CANNOT_DECIDE = "cannot-decide", Effect.ERROR, "The gate could not decide."


class CredentialKind(StrEnum):
    """How a credential was sent, in the order in which credentials are tried."""

    SESSION_HEADER = "session-header"
    SESSION_COOKIE = "session-cookie"
    GIT_TOKEN = "git-token"
    GIT_BASIC = "git-basic"
    LICENSE = "license"


@value
class Credential:
    """What a client sent to prove who it is; ``username`` only with git tokens."""

    kind: CredentialKind
    secret: str
    username: str = ""

    def __repr__(self) -> str:
        """Show the kind alone: a credential must not reach a log through a traceback."""
        return f"Credential({self.kind.value})"


class SubjectKind(StrEnum):
    """What a credential stands for; also the value of ``X-Gatewall-Subject-Kind``."""

    USER = "user"
    GIT_TOKEN = "git-token"
    LICENSE = "license"


SECOND_FACTORS = frozenset({"otp", "mfa"})
"""RFC 8176 ``amr`` values that prove a second factor."""


@value
class Subject:
    """Who a credential proved, and which registered domains they may enter.

    ``id`` is the id of the user, git token or license; ``name`` and ``email`` are those of the
    person, empty for a license.
    """

    kind: SubjectKind
    id: int
    name: str = ""
    email: str = ""
    is_admin: bool = False
    all_domains: bool = True
    domains: frozenset[str] = frozenset()
    amr: tuple[str, ...] = ()

    def may_enter(self, domain: str | None) -> bool:
        """True if the scope covers the registered domain; None is a host that belongs to none."""
        return self.is_admin or self.all_domains or self.names(domain)

    def names(self, domain: str | None) -> bool:
        """True if the scope names this very domain, not merely all of them."""
        return not self.all_domains and domain is not None and domain in self.domains


@value
class AccessRequest:
    """One question of the proxy, parsed. Texts hold header bytes as latin-1 characters.

    ``at`` is the moment in seconds since the epoch; ``fault`` says what is malformed, in which case
    nothing but ``client`` and ``at`` may be relied on; ``visible`` names the parts that the proxy
    showed, ``headers`` have lower-case names and never hold our own credentials; ``body`` is None where
    the proxy showed none, and ``body_is_whole`` says whether nothing of it is missing. Printed, it shows no body.
    """

    at: float
    client: IPAddress
    authority: Authority | None = None
    scheme: str = "http"
    method: str = "GET"
    uri: str = "/"
    headers: tuple[tuple[str, str], ...] = ()
    cookies: tuple[tuple[str, str], ...] = ()
    credentials: tuple[Credential, ...] = ()
    allowlist_applies: bool = True
    visible: frozenset[str] = frozenset()
    fault: str = ""
    body: bytes | None = field(default=None, repr=False)
    body_is_whole: bool = True

    @property
    def host(self) -> Host | None:
        return self.authority.host if self.authority else None

    def header(self, name: str) -> str:
        """Return the value of a header by its lower-case name, empty if it was not sent."""
        for key, found in self.headers:
            if key == name:
                return found
        return ""


class Action(StrEnum):
    """What a match of a WAF rule does."""

    BLOCK = "block"
    MONITOR = "monitor"


@value
class RuleMatch:
    """A WAF rule that matched; ``enforced`` if its score counted towards a refusal."""

    rule_id: int
    name: str
    category: str
    score: int
    enforced: bool


@value
class DecidedBy:
    """The row that decided: ``kind`` is a resource, ``id`` its row."""

    kind: str
    id: int


@value
class Verdict:
    """What one step says: the effect, why, and what decided it."""

    effect: Effect
    reason: Reason
    decided_by: DecidedBy | None = None
    retry_after_seconds: int | None = None


@value
class Decision:
    """The answer to one access request, with the facts it rests on."""

    verdict: Verdict
    subject: Subject | None = None
    country_code: str | None = None
    rules: tuple[RuleMatch, ...] = ()

    @property
    def effect(self) -> Effect:
        return self.verdict.effect

    @property
    def reason(self) -> Reason:
        return self.verdict.reason
