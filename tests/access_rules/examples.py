"""One small site for cases written by hand: domains, people and programs, and a rule and a request to change."""

from typing import Any, NamedTuple, cast

from tests.access_rules.shapes import Credential, GitToken, Group, License, PathPattern, Policy, Request, Rule, User

SUNDAY_NOON = "2026-06-07T12:00:00Z"
PASSES = "200 session-valid"
NOBODY = "401 credential-missing"
INVALID = "401 credential-invalid"
SECOND = "401 second-factor-required"
SCOPE = "403 host-not-in-scope"
NO_HOST = "403 host-not-authorized"


class Case(NamedTuple):
    """What the oracle must answer: status, reason, and the name of the rule that counts, if one does."""

    sentence: str
    policy: Policy
    request: Request
    answer: str


def site(*rules: Rule, mode: str = "any", rate: int = 0) -> Policy:
    """Get the site with these rules, named r1, r2 and so on."""
    return {
        "settings": {"authorized_domains_mode": mode, "request_rate_per_minute": rate},
        "domains": [
            {"name": "app.example", "access": "authenticated"},
            {"name": "two.example", "access": "two_factor"},
            {"name": "open.example", "access": "public"},
            {"name": "gone.example", "access": "denied"},
            {"name": "*.wild.example", "access": "authenticated"},
            {"name": "one.wild.example", "access": "authenticated"},
            {"name": "*.deep.wild.example", "access": "public"},
        ],
        "groups": [_group("staff"), _group("ops", "two.example"), _group("all", all_domains=True)],
        "users": [
            _user("root", is_admin=True),
            _user("ann", all_domains=True, groups=["staff"]),
            _user("bob", "app.example", "two.example"),
            _user("cid", groups=["ops"]),
            _user("dan", groups=["all", "ops"]),
            _user("off", all_domains=True, is_active=False),
        ],
        "git_tokens": [
            *(_git_token(name) for name in ("root", "ann", "bob", "cid", "off")),
            {"name": "old-token", "user": "ann", "expires_at": SUNDAY_NOON},
        ],
        "licenses": [
            _license("wide", all_domains=True),
            _license("narrow", "app.example", "two.example"),
            _license("dead", is_active=False, all_domains=True),
            _license("late", all_domains=True, expires_at=SUNDAY_NOON),
        ],
        "rules": [{**rule, "name": f"r{number}"} for number, rule in enumerate(rules, start=1)],
    }


def a_rule(access: str, *paths: str, **changes: Any) -> Rule:
    """Get a rule. A path is a glob if it has a ``*``, else exact; ``/a/...`` is the prefix ``/a``."""
    plain: Rule = {
        "name": "",
        "enabled": True,
        "expires_at": None,
        "domains": [],
        "paths": [_pattern(path) for path in paths],
        "methods": [],
        "networks": [],
        "countries": [],
        "asns": [],
        "weekdays": [],
        "from": changes.pop("begin", None),
        "until": None,
        "time_zone": None,
        "groups": [],
        "users": [],
        "credential_kinds": [],
        "access": access,
        "rate_per_minute": 0,
    }
    assert changes.keys() <= plain.keys()
    return cast("Rule", {**plain, **changes})


def public(**changes: Any) -> Rule:
    """Get a rule that opens."""
    return a_rule("public", **changes)


def denied(**changes: Any) -> Rule:
    """Get a rule that closes."""
    return a_rule("denied", **changes)


def a_request(uri: str | None = "/", *credentials: Credential, **changes: Any) -> Request:
    """Get a request for ``app.example`` on a Sunday at noon, UTC."""
    plain: Request = {
        "host": "app.example",
        "port": None,
        "uri": uri,
        "method": "GET",
        "preflight": False,
        "client": "192.0.2.7",
        "client_shown": True,
        "country": "DE",
        "asn": 64496,
        "at": SUNDAY_NOON,
        "credentials": list(credentials),
        "over_rate": None,
    }
    assert changes.keys() <= plain.keys()
    return cast("Request", {**plain, **changes})


def on(host: str, uri: str | None = "/", *credentials: Credential, **changes: Any) -> Request:
    """Get a request for ``host``."""
    return a_request(uri, *credentials, host=host, **changes)


def session(username: str, *factors: str) -> Credential:
    """Get a session that was opened with a password and these factors."""
    return {"kind": "session", "name": username, "amr": ["pwd", *factors], "forged": False}


def git_token(name: str) -> Credential:
    """Get the git token of this name."""
    return {"kind": "git-token", "name": name, "amr": [], "forged": False}


def license_key(name: str) -> Credential:
    """Get the token of this license."""
    return {"kind": "license", "name": name, "amr": [], "forged": False}


def forged(credential: Credential) -> Credential:
    """Get the same credential with a wrong signature."""
    return {**credential, "forged": True}


def _pattern(path: str) -> PathPattern:
    if path.endswith("/..."):
        return {"match": "prefix", "value": path.removesuffix("/...") or "/"}
    return {"match": "glob" if "*" in path else "exact", "value": path}


def _group(name: str, *domains: str, all_domains: bool = False) -> Group:
    return {"name": name, "all_domains": all_domains, "authorized_domains": list(domains)}


def _user(name: str, *domains: str, groups: list[str] | None = None, **flags: bool) -> User:
    plain = {"is_admin": False, "is_active": True, "all_domains": False}
    return cast(
        "User", {"username": name, **plain, **flags, "authorized_domains": list(domains), "groups": groups or []}
    )


def _git_token(username: str) -> GitToken:
    return {"name": f"{username}-token", "user": username, "expires_at": None}


def _license(name: str, *domains: str, **changes: Any) -> License:
    plain = {"is_active": True, "expires_at": None, "all_domains": False, "authorized_domains": list(domains)}
    return cast("License", {"name": name, **plain, **changes})


PUBLIC, DENIED = public(), denied()
ANN, BOB, CID, ROOT = (session(username) for username in ("ann", "bob", "cid", "root"))
