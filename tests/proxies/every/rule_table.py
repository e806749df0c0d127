"""A policy of 20 access rules and 60 requests, each with its answer and the rule that asks for the access."""

from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

DOMAINS = {
    "app.example": "authenticated",
    "two.example": "two_factor",
    "open.example": "public",
    "shut.example": "denied",
    "*.wild.example": "authenticated",
}
GROUPS: dict[str, dict[str, Any]] = {
    "family": {"all_domains": False, "authorized_domains": ["app.example", "open.example"]},
    "staff": {"all_domains": True},
}
USERS: dict[str, dict[str, Any]] = {
    "ann": {"all_domains": False, "groups": ["family"]},
    "bob": {"all_domains": False, "groups": ["staff"]},
    "cid": {"all_domains": False, "authorized_domains": ["app.example"]},
}
FACTORS = {"": ["pwd"], "otp": ["pwd", "otp"], "key": ["hwk", "mfa", "phr"]}
NEW_ZEALAND, ELSEWHERE, BANNED = "127.10", "127.20", "127.66"
"""The first half of addresses on loopback; the geo database knows where they are."""
COUNTRIES = {f"{NEW_ZEALAND}.0.0/16": "NZ", f"{ELSEWHERE}.0.0/16": "DE"}


def rules() -> list[dict[str, Any]]:
    """Return the rules in order, as bodies for the API."""
    another_day = (datetime.now(UTC) + timedelta(days=3)).strftime("%a").lower()
    app, two, opened = ["app.example"], ["two.example"], ["open.example"]
    return [
        _rule("banned", "denied", app, networks=[f"{BANNED}.0.0/16"]),
        _rule("webhook", "public", app, "exact /webhook", methods=["POST"]),
        _rule("preflight", "public", app, "prefix /api", methods=["OPTIONS"]),
        _rule("limited", "public", app, "exact /limited", rate_per_minute=1),
        _rule("no family", "denied", app, "prefix /admin", groups=["family"]),
        _rule("admin", "two_factor", app, "prefix /admin"),
        _rule("keys", "phishing_resistant", app, "prefix /keys"),
        _rule("kiwis", "public", app, "prefix /kiwi", countries=["NZ"]),
        _rule("no kiwis", "denied", app, "prefix /kiwi"),
        _rule("git", "authenticated", app, "glob /*/info/refs", credential_kinds=["git-token"]),
        _rule("no git", "denied", app, "glob /*/info/refs"),
        _rule("assets", "public", app, "glob /static/**", "exact /robots.txt"),
        _rule("today", "public", app, "prefix /days", **{"from": "00:00"}, time_zone="Pacific/Auckland"),
        _rule("another day", "public", app, "prefix /day", weekdays=[another_day]),
        _rule("off", "public", app, "prefix /off", enabled=False),
        _rule("status", "authenticated", two, "prefix /status", groups=["staff"]),
        _rule("members", "authenticated", opened, "prefix /members"),
        _rule("ann's", "authenticated", opened, "prefix /ann", users=["ann"]),
        _rule("not ann's", "denied", opened, "prefix /ann"),
        _rule("wild", "public", ["*.wild.example"], "prefix /pub"),
    ]


def _rule(name: str, access: str, domains: list[str], *paths: str, **conditions: Any) -> dict[str, Any]:
    patterns = [dict(zip(("match", "value"), path.split(" "), strict=True)) for path in paths]
    return {"name": name, "access": access, "domains": domains, "paths": patterns, **conditions}


class Row(NamedTuple):
    """A request and its answer. ``who`` is a user, ``user+factor``, ``user/git``, ``license``, ``forged`` or ``-``.

    ``rule`` asks for the access; None: the domain does.
    """

    host: str
    method: str
    path: str
    who: str
    network: str
    answer: tuple[int, str]
    rule: str | None

    is_preflight: bool = False
    """Whether the request has the headers of a CORS preflight."""

    @property
    def headers(self) -> dict[str, str]:
        return {"Origin": "https://a.example", "Access-Control-Request-Method": "PUT"} if self.is_preflight else {}

    def __str__(self) -> str:
        return f"{self.method} {self.host}{self.path} {self.who} {self.network}"


_ANSWERS = {
    "public": (200, "path-public"),
    "host": (200, "host-public"),
    "session": (200, "session-valid"),
    "git-token": (200, "git-token-valid"),
    "license": (200, "license-valid"),
    "nobody": (401, "credential-missing"),
    "invalid": (401, "credential-invalid"),
    "second": (401, "second-factor-required"),
    "passkey": (401, "phishing-resistant-required"),
    "denied": (403, "access-denied"),
    "scope": (403, "host-not-in-scope"),
    "rate": (403, "client-rate-limited"),
    "no-host": (403, "host-not-authorized"),
}
_TABLE = """
app    GET     /                        -         DE      nobody     -
app    GET     /                        forged    DE      invalid    -
app    GET     /                        ann       DE      session    -
app    GET     /                        cid       DE      session    -
app    GET     /                        bob/git   DE      git-token  -
app    GET     /                        license   DE      license    -
app    GET     /                        ann       banned  denied     banned
app    POST    /webhook                 -         banned  denied     banned
app    POST    /webhook                 -         DE      public     webhook
app    POST    /webhook?a=/admin        -         DE      public     webhook
app    POST    /webhook/                -         DE      public     webhook
app    GET     /webhook                 -         DE      nobody     -
app    POST    /webhook/x               -         DE      nobody     -
app    POST    /Webhook                 -         DE      nobody     -
app    POST    /%77ebhook               -         DE      public     webhook
app    PREFLIGHT /api/items             -         DE      public     preflight
app    OPTIONS /api/items               -         DE      nobody     -
app    PREFLIGHT /apis                  -         DE      nobody     -
app    GET     /api/items               bob       DE      session    -
app    GET     /admin                   -         DE      nobody     no family
app    GET     /admin                   ann+otp   DE      denied     no family
app    GET     /admin/users             ann+key   DE      denied     no family
app    GET     /admin                   cid       DE      second     admin
app    GET     /admin                   cid+otp   DE      session    admin
app    GET     /admin                   cid/git   DE      git-token  admin
app    GET     /admin                   bob/git   DE      second     admin
app    GET     /admin                   license   DE      second     admin
app    GET     /administration          cid       DE      session    -
app    GET     /static/../admin         cid       DE      second     admin
app    GET     /static/%2e%2e/admin     -         DE      nobody     no family
app    GET     /static/..%2fadmin       cid       DE      second     admin
app    GET     /static/%252e%252e/admin cid       DE      second     admin
app    GET     //admin/x                ann       DE      denied     no family
app    GET     /%61dmin                 cid       DE      second     admin
app    GET     /admin;v=1/x             cid       DE      second     admin
app    GET     /x/..;/admin             cid       DE      second     admin
app    GET     /static/..;/keys         cid+otp   DE      passkey    keys
app    GET     /keys/new                cid+otp   DE      passkey    keys
app    GET     /keys/new                cid+key   DE      session    keys
app    GET     /keys/new                bob/git   DE      passkey    keys
app    GET     /kiwi                    -         NZ      public     kiwis
app    GET     /kiwi                    bob       DE      denied     no kiwis
app    GET     /repo/info/refs          bob/git   DE      git-token  git
app    GET     /repo/info/refs          bob       DE      denied     no git
app    GET     /a/repo/info/refs        bob       DE      session    -
app    GET     /static/css/a.css        -         DE      public     assets
app    HEAD    /robots.txt              -         NZ      public     assets
app    GET     /days                    -         DE      public     today
app    GET     /day                     -         DE      nobody     -
app    GET     /off                     -         DE      nobody     -
two    GET     /                        bob       DE      second     -
two    GET     /status                  bob       DE      session    status
two    GET     /status                  ann+otp   DE      scope      -
open   GET     /                        -         DE      host       -
open   GET     /members                 forged    DE      invalid    members
open   GET     /ann                     ann       DE      session    ann's
open   GET     /ann                     bob       DE      denied     not ann's
a.wild GET     /pub                     -         DE      public     wild
shut   GET     /                        bob+key   DE      no-host    -
app    GET     /limited                 -         NZ      rate       limited
"""
_NETWORKS = {"DE": ELSEWHERE, "NZ": NEW_ZEALAND, "banned": BANNED}


def rows() -> list[Row]:
    """Return the requests. Of the repeated one that exceeds its rate, the last answer counts."""
    found = []
    for line in _TABLE.strip().splitlines():
        host, method, path, who, network, answer, rule = line.split(maxsplit=6)
        named = None if rule == "-" else rule
        is_preflight, verb = method == "PREFLIGHT", method.replace("PREFLIGHT", "OPTIONS")
        found.append(Row(f"{host}.example", verb, path, who, _NETWORKS[network], _ANSWERS[answer], named, is_preflight))
    return found
