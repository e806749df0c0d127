"""Values of a decision: request, credential, subject, verdict, reason. No I/O."""

from dataclasses import field
from enum import StrEnum
from typing import Any, Self

from gatewall.engine.addresses import IPAddress
from gatewall.engine.hosts import Authority, Host
from gatewall.engine.rule_match import RuleMatch
from gatewall.engine.shared import Shared
from gatewall.engine.token_scope import TokenScope
from gatewall.engine.values import value


class Effect(StrEnum):
    """Outcome for the proxy. CHALLENGE is a refusal that signing in may lift."""

    ALLOW = "allow"
    CHALLENGE = "challenge"
    DENY = "deny"
    ERROR = "error"

    @property
    def status(self) -> int:
        """The HTTP status for a reverse proxy."""
        return _STATUS[self]


_STATUS = {Effect.ALLOW: 200, Effect.CHALLENGE: 401, Effect.DENY: 403, Effect.ERROR: 503}


_FROM_HERE = "This site cannot be reached from your network or country."
_SIGN_IN = "The visitor has to sign in; no exemption can replace that."
_PROXY = "Change the proxy's configuration; the proxy doctor shows how."
_REGISTER = "The host is not registered and would be refused anyway, so no exemption helps. Register the host first."
_HARMFUL = "The request was refused because it looks harmful or cannot be read."


class Reason(StrEnum):
    """Reason of a decision, with its effect and its texts for operators and for refused visitors.

    ``advice`` says what an operator can do about a refusal where no exemption can be offered.

    Values are logged and shown: never reuse one. Pages translate the texts.
    """

    effect: Effect
    words: str
    visitor_words: str
    advice: str

    def __new__(cls, value: str, effect: Effect, words: str, visitor_words: str = "", advice: str = "") -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.effect, member.words, member.visitor_words, member.advice = effect, words, visitor_words, advice
        return member

    REQUEST_MALFORMED = "request-malformed", Effect.DENY, "The request is malformed or ambiguous.", _HARMFUL, _PROXY
    CLIENT_BLOCKED = "client-blocked", Effect.DENY, "The address is on the blocklist.", _FROM_HERE, _REGISTER
    HOST_NOT_AUTHORIZED = (
        "host-not-authorized",
        Effect.DENY,
        "The host is not registered, or its access is denied.",
        "There is no such site here.",
        "Change the access of the domain, or register the host by its name.",
    )
    CLIENT_ALLOWED = "client-allowed", Effect.ALLOW, "The address is on the allowlist."
    COUNTRY_BLOCKED = "country-blocked", Effect.DENY, "The country of the address is blocked.", _FROM_HERE, _REGISTER
    WAF_RULE = (
        "waf-rule",
        Effect.DENY,
        "WAF rules found an attack.",
        _HARMFUL,
        "The recorded request matches no rule that can have an exclusion. Ask for a new attempt, or register the host.",
    )
    CLIENT_RATE_LIMITED = (
        "client-rate-limited",
        Effect.DENY,
        "The address sent more requests than the settings or an access rule allow.",
        "Too many requests. Please wait a moment and try again.",
        "Wait a minute, or change the request rate in the settings or the access rule.",
    )
    ACCESS_DENIED = (
        "access-denied",
        Effect.DENY,
        "An access rule denies this request.",
        "This part of the site is closed to you.",
        "An access rule denies the request. Change the rule, or put a rule before it that lets the request in.",
    )
    HOST_PUBLIC = "host-public", Effect.ALLOW, "The host is open to everybody."
    PATH_PUBLIC = "path-public", Effect.ALLOW, "An access rule opens this path to everybody."
    CREDENTIAL_MISSING = "credential-missing", Effect.CHALLENGE, "Nobody was signed in.", "", _SIGN_IN
    CREDENTIAL_INVALID = (
        "credential-invalid",
        Effect.CHALLENGE,
        "The credential is not valid, or no longer valid.",
        "",
        _SIGN_IN,
    )
    HOST_NOT_IN_SCOPE = (
        "host-not-in-scope",
        Effect.DENY,
        "The scope of the user or token does not cover this host or path.",
        "Your account may not enter this site.",
        "Add the domain to the scope of the user or a group of theirs; an app token needs host and path in its scope.",
    )
    SECOND_FACTOR_REQUIRED = (
        "second-factor-required",
        Effect.CHALLENGE,
        "The host or an access rule requires a second factor, and the session has none.",
        "",
        "The visitor has to set up or enter a second factor; no exemption can replace that.",
    )
    PHISHING_RESISTANT_REQUIRED = (
        "phishing-resistant-required",
        Effect.CHALLENGE,
        "The host or an access rule requires a phishing-resistant sign-in, and the session has none.",
        "",
        "The visitor has to sign in with a passkey; no exemption can replace that.",
    )
    SESSION_VALID = "session-valid", Effect.ALLOW, "A user was signed in."
    GIT_TOKEN_VALID = "git-token-valid", Effect.ALLOW, "A git token was valid."
    APP_TOKEN_VALID = "app-token-valid", Effect.ALLOW, "An app token was valid."
    LICENSE_VALID = "license-valid", Effect.ALLOW, "A license was valid."
    GRANT_VALID = "grant-valid", Effect.ALLOW, "A grant let the user in for a while."
    DEVICE_PASS_VALID = "device-pass-valid", Effect.ALLOW, "A user let this program in at this address for a while."
    SHARE_LINK_VALID = "share-link-valid", Effect.ALLOW, "A guest came by a share link."
    CANNOT_DECIDE = (
        "cannot-decide",
        Effect.ERROR,
        "The gate could not decide.",
        "",
        "The gate had no policy or failed: see the dashboard and the service log.",
    )


class CredentialKind(StrEnum):
    """How a credential was sent, in the order of trial."""

    SESSION_HEADER = "session-header"
    SESSION_COOKIE = "session-cookie"
    GIT_TOKEN = "git-token"
    GIT_BASIC = "git-basic"
    APP_BASIC = "app-basic"
    APP_BEARER = "app-bearer"
    APP_HEADER = "app-header"
    LICENSE = "license"
    GUEST_COOKIE = "guest-cookie"


@value
class Credential:
    """A credential as sent; ``username`` only with git tokens and Basic, ``header`` where an app token is a header."""

    kind: CredentialKind
    secret: str
    username: str = ""
    header: str = ""
    known: list[tuple[object, Any, "Subject"]] = field(default_factory=list, compare=False)
    """Cached result of the check of this object (gatewall/credentials/check.py)."""

    def __repr__(self) -> str:
        """Omit the secret: it must not reach a log through a traceback."""
        return f"Credential({self.kind.value})"


class SubjectKind(StrEnum):
    """Kinds of subjects; also the values of ``X-Gatewall-Subject-Kind``."""

    USER = "user"
    GIT_TOKEN = "git-token"
    APP_TOKEN = "app-token"
    LICENSE = "license"
    GUEST = "guest"
    DEVICE = "device"


NAMELESS = (SubjectKind.LICENSE, SubjectKind.GUEST, SubjectKind.DEVICE)
"""Kinds whose names are not sent to sites: an operator could name a row after a user."""


@value
class Subject:
    """The authenticated subject, and the registered domains it may access.

    ``id`` is that of the user, or of what proved the subject; ``user_id``, ``name``, ``email`` and the groups are the
    user's, empty for a license or guest. ``domains`` are those that a scope lists, of the user or of a group; a scope
    of all domains lists none. ``groups`` are names, sorted. ``limits``: the scope of an app token within its user's
    scope, or that of a guest.
    """

    kind: SubjectKind
    id: int
    name: str = ""
    email: str = ""
    is_admin: bool = False
    all_domains: bool = True
    domains: frozenset[str] = frozenset()
    amr: tuple[str, ...] = ()
    user_id: int | None = None
    groups: tuple[str, ...] = ()
    group_ids: frozenset[int] = frozenset()
    limits: TokenScope | None = None

    def may_enter(self, domain: str | None) -> bool:
        """True if the scope covers the registered domain; None is an unregistered host."""
        own = self.limits is None or self.limits.covers(domain)
        return own and (self.is_admin or self.all_domains or self.names(domain))

    def names(self, domain: str | None) -> bool:
        """True if a scope lists this domain, not all domains."""
        return domain is not None and domain in self.domains

    def is_made_for(self, domain: str | None) -> bool:
        """True if the own scope of a machine lists this domain, not all domains."""
        return self.names(domain) if self.limits is None else domain in self.limits.domains


@value
class AccessRequest:
    """A parsed subrequest (not a user's request for access); texts are latin-1.

    ``at``: seconds since the epoch. ``fault``: what is malformed; then only ``client`` and ``at`` are reliable.
    ``visible``: the parts that the proxy passed on. ``headers``: lower-case names, without our own credentials.
    ``site_credentials``: Authorization and Proxy-Authorization without our own; only built-in WAF rules see them.
    ``body``: None if the proxy passed on none; omitted in the repr. ``body_is_whole``: False if it is truncated.
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
    site_credentials: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    shared: Shared | None = field(default=None, compare=False, repr=False)
    """State shared with earlier requests of the same head, if a memo knows the head."""

    @property
    def host(self) -> Host | None:
        return self.authority.host if self.authority else None

    def header(self, name: str) -> str:
        """Return the value of a header by its lower-case name, or ""."""
        for key, found in self.headers:
            if key == name:
                return found
        return ""


class Action(StrEnum):
    """What a matching WAF rule does."""

    BLOCK = "block"
    MONITOR = "monitor"


@value
class DecidedBy:
    """The row that decided: resource ``kind`` and row ``id``."""

    kind: str
    id: int


@value
class Verdict:
    """Result of a step that applies: effect, reason, and the row that decided."""

    effect: Effect
    reason: Reason
    decided_by: DecidedBy | None = None
    retry_after_seconds: int | None = None


@value
class Decision:
    """The decision on one subrequest, with the facts behind it."""

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
