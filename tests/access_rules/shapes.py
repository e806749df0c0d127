"""The plain JSON-able structures that the oracle decides: a policy and a request."""

from typing import TypedDict


class Settings(TypedDict):
    """The settings that matter here."""

    authorized_domains_mode: str  # any, registered
    request_rate_per_minute: int  # 0: off


class Domain(TypedDict):
    """A registered domain."""

    name: str
    access: str  # authenticated, two_factor, phishing_resistant, public, denied


class Group(TypedDict):
    """A group and its scope. Its members name it."""

    name: str
    all_domains: bool
    authorized_domains: list[str]


class User(TypedDict):
    """A user, their scope and their groups."""

    username: str
    is_admin: bool
    is_active: bool
    all_domains: bool
    authorized_domains: list[str]
    groups: list[str]


class GitToken(TypedDict):
    """A git token of a user."""

    name: str
    user: str
    expires_at: str | None


class License(TypedDict):
    """A license and its scope."""

    name: str
    is_active: bool
    expires_at: str | None
    all_domains: bool
    authorized_domains: list[str]


class PathPattern(TypedDict):
    """One path of a rule."""

    match: str  # exact, prefix, glob
    value: str


Rule = TypedDict(
    "Rule",
    {
        "name": str,  # unique: results name rules by it
        "enabled": bool,
        "expires_at": str | None,
        "domains": list[str],
        "paths": list[PathPattern],
        "methods": list[str],
        "networks": list[str],
        "countries": list[str],
        "asns": list[int],
        "weekdays": list[str],  # mon to sun
        "from": str | None,  # HH:MM
        "until": str | None,
        "time_zone": str | None,  # IANA; none is UTC
        "groups": list[str],
        "users": list[str],
        "credential_kinds": list[str],  # session, git-token, app-token, license
        "access": str,  # public, authenticated, two_factor, phishing_resistant, denied
        "rate_per_minute": int,  # 0: none
    },
)


class Policy(TypedDict):
    """All that decides. The order of ``rules`` is their position."""

    settings: Settings
    domains: list[Domain]
    groups: list[Group]
    users: list[User]
    git_tokens: list[GitToken]
    licenses: list[License]
    rules: list[Rule]


class Credential(TypedDict):
    """A credential that was sent: ``name`` is the username, or the name of the git token or license."""

    kind: str  # session, git-token, license
    name: str
    amr: list[str]  # of a session
    forged: bool  # its signature or digest is wrong


class Request(TypedDict):
    """What the proxy showed of a visitor's request, and when."""

    host: str
    port: int | None
    uri: str | None  # none: not shown
    method: str | None  # none: not shown
    preflight: bool  # with the headers Origin and Access-Control-Request-Method
    client: str
    client_shown: bool  # false: the proxy sent forwarding headers but not the client's address
    country: str | None
    asn: int | None
    at: str  # UTC, YYYY-MM-DDTHH:MM:SSZ
    credentials: list[Credential]  # in the order in which the gateway tries them
    over_rate: str | None  # client: over the setting's rate; rule: over the rate of every rule that has one
