"""Random small policies and requests whose parts collide often, the same for the same seed.

``pairs(seed, count)`` yields ``(policy, request)`` of ``shapes``. One policy object serves several requests in a row,
so that who compiles policies may compile it once.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import TypeVar
from urllib.parse import quote
from zoneinfo import ZoneInfo

from tests.access_rules.oracle import ACCESSES
from tests.access_rules.shapes import (
    Credential,
    Domain,
    GitToken,
    Group,
    License,
    PathPattern,
    Policy,
    Request,
    Rule,
    User,
)
from tests.access_rules.windows import WEEKDAYS

T = TypeVar("T")
DOMAINS = ("app.example", "*.example", "api.example", "*.api.example")
HOSTS = (
    "app.example",
    "api.example",
    "x.example",
    "v1.api.example",
    "app.example",
    "api.example",
    "example",
    "other.test",
    "App.Example",
)
PATTERNS = {
    "exact": ("/", "/a", "/a/b", "/admin", "/admin/", "/A", "/a//b", "/a;x"),
    "prefix": ("/", "/a", "/a", "/a/b", "/b", "/admin", "/admin", "/admin/", "/A", "/ad"),
    "glob": ("/*", "/**", "/a/*", "/a/**", "/*/b", "/**/b", "/a/**/b", "/a/*/b", "/a/b/", "/**/admin/**", "/admin/*"),
}
PLAIN_SEGMENTS = ("a", "b", "admin", "A", "a", "admin")
TRICKY_SEGMENTS = (
    *(
        "..",
        ".",
        "",
        "%2e%2e",
        "%2E.",
        "%252e%252e",
        "%2e",
        "..;x",
        "%2e%2e;x",
        ";x",
        "a;x",
        "admin;x=1",
        "a%3bx",
        "a%253Bx",
    ),
    *(
        "a%2Fb",
        "a%252fb",
        "..%2Fadmin",
        "..%252F..",
        "%2F",
        "%61",
        "%2561",
        "%41",
        "admi%6e",
        "a\\b",
        "a%5Cb",
        "..%5c",
        "\\..\\admin",
        "%255C..",
        "a%3Fb",
        "%25",
        "%zz",
    ),
)
BACKSLASHES = ("\\", "%5c", "%2f", "%2F")
DOUBLE_DOTS = ("..", "%2e%2e", "..;x", ".%2e", ".%2E;", "..\\", "..%5C")
ODD_SEGMENTS = ("%25252525%32e%252e", "%2525252561", "%u0061", "%u002e%u002e", "caf%C3%A9", "caf%25C3%25A9")
ODD_PATTERNS = ("/café", "/café/a")
METHODS = ("GET", "POST", "HEAD", "OPTIONS")
NETWORKS = ("192.0.2.0/24", "192.0.2.7/32", "198.51.100.0/25", "2001:db8::/32", "2001:db8::7/128")
CLIENTS = ("192.0.2.7", "192.0.2.8", "198.51.100.127", "198.51.100.128", "2001:db8::7", "2001:db8:1::1", "203.0.113.1")
COUNTRIES = ("DE", "US", "FR")
ASNS = (64496, 64497, 64498)
ZONES = ("Europe/Berlin", "America/New_York")
CLOCKS = ("00:00", "02:00", "02:30", "03:00", "06:00", "22:00", "23:59")
DAYS = ("2026-03-08", "2026-03-09", "2026-03-29", "2026-06-05", "2026-06-06", "2026-06-08", "2026-10-25", "2026-11-01")
GROUPS = ("staff", "ops")
USERS = ("ann", "bob", "cid")
GIT_TOKENS = ("push", "pull")
LICENSES = ("site", "kiosk")
KINDS = ("session", "git-token", "license")
AMRS = (["pwd"], ["pwd", "otp"], ["pwd", "mfa"], ["hwk", "mfa"], ["hwk", "mfa", "phr"], ["swk", "mfa", "phr"], ["phr"])


def _instants() -> tuple[str, ...]:
    """The borders of all windows on ordinary days and around the changes of both zones, and a second on both sides."""
    walls = [
        datetime.fromisoformat(f"{day}T{clock}").replace(tzinfo=ZoneInfo(zone), fold=fold)
        for zone in ZONES
        for day in DAYS
        for clock in (*CLOCKS, "01:00", "01:30")
        for fold in (0, 1)
    ]
    moments = {wall.astimezone(UTC) + timedelta(seconds=by) for wall in walls for by in (-1, 0, 1)}
    return tuple(moment.strftime("%Y-%m-%dT%H:%M:%SZ") for moment in sorted(moments))


INSTANTS = _instants()


def pairs(
    seed: int, count: int, requests_per_policy: int = 20, *, odd: bool = False
) -> Iterator[tuple[Policy, Request]]:
    """Yield ``count`` pairs. ``odd`` adds spellings of paths about which the documents say the least."""
    chance = Random(seed)  # noqa: S311 - the same cases for the same seed
    for made in range(count):
        if made % requests_per_policy == 0:
            policy = a_policy(chance, odd=odd)
        yield policy, a_request(chance, policy, odd=odd)


def a_policy(chance: Random, *, odd: bool = False) -> Policy:
    """Make a policy of up to four domains and six rules, whose conditions are many or few."""
    density = chance.choice((0.2, 1))
    return {
        "settings": {
            "authorized_domains_mode": chance.choice(("any", "any", "registered")),
            "request_rate_per_minute": chance.choice((0, 60)),
        },
        "domains": [_domain(chance, name) for name in _some(chance, DOMAINS)],
        "groups": [_group(chance, name) for name in GROUPS],
        "users": [_user(chance, name) for name in USERS],
        "git_tokens": [_git_token(chance, name) for name in GIT_TOKENS],
        "licenses": [_license(chance, name) for name in LICENSES],
        "rules": [_rule(chance, f"rule-{number}", density, odd=odd) for number in range(1, chance.randint(2, 7))],
    }


def a_request(chance: Random, policy: Policy, *, odd: bool = False) -> Request:
    """Make a request that meets the rules of ``policy`` often."""
    return {
        "host": chance.choice(HOSTS),
        "port": chance.choice((None, 8443)),
        "uri": None if chance.random() < 0.05 else _uri(chance, policy, odd=odd),
        "method": None if chance.random() < 0.04 else chance.choice(METHODS),
        "preflight": chance.random() < 0.4,
        "client": chance.choice(CLIENTS),
        "client_shown": chance.random() < 0.96,
        "country": chance.choice((*COUNTRIES, None)),
        "asn": chance.choice((*ASNS, None)),
        "at": chance.choice(INSTANTS),
        "credentials": _credentials(chance),
        "over_rate": chance.choices((None, "client", "rule"), (88, 4, 8))[0],
    }


def _domain(chance: Random, name: str) -> Domain:
    return {
        "name": name,
        "access": chance.choices(ACCESSES, (6, 10, 5, 2, 1))[0],
    }


def _group(chance: Random, name: str) -> Group:
    return {"name": name, "all_domains": chance.random() < 0.15, "authorized_domains": _some(chance, DOMAINS)}


def _user(chance: Random, name: str) -> User:
    return {
        "username": name,
        "is_admin": chance.random() < 0.15,
        "is_active": chance.random() < 0.93,
        "all_domains": chance.random() < 0.5,
        "authorized_domains": _some(chance, DOMAINS),
        "groups": _some(chance, GROUPS),
    }


def _git_token(chance: Random, name: str) -> GitToken:
    return {"name": name, "user": chance.choice(USERS), "expires_at": _expiry(chance)}


def _license(chance: Random, name: str) -> License:
    return {
        "name": name,
        "is_active": chance.random() < 0.9,
        "expires_at": _expiry(chance),
        "all_domains": chance.random() < 0.5,
        "authorized_domains": _some(chance, DOMAINS),
    }


def _rule(chance: Random, name: str, density: float, *, odd: bool) -> Rule:
    access = chance.choice(ACCESSES)
    with_subject = access != "public" and chance.random() < 0.5 * density
    with_window = chance.random() < 0.25 * density
    return {
        "name": name,
        "enabled": chance.random() < 0.95,
        "expires_at": _expiry(chance),
        "domains": _perhaps(chance, 0.25 * density, DOMAINS),
        "paths": _paths(chance, odd=odd) if chance.random() < 0.8 else [],
        "methods": ["OPTIONS"] if chance.random() < 0.05 else _perhaps(chance, 0.2 * density, METHODS),
        "networks": _perhaps(chance, 0.2 * density, NETWORKS),
        "countries": _perhaps(chance, 0.15 * density, COUNTRIES),
        "asns": _perhaps(chance, 0.15 * density, ASNS),
        "weekdays": _perhaps(chance, 0.5, WEEKDAYS) if with_window else [],
        "from": chance.choice((*CLOCKS, None)) if with_window else None,
        "until": chance.choice((*CLOCKS, None)) if with_window else None,
        "time_zone": chance.choice((*ZONES, None)) if with_window else None,
        "groups": _perhaps(chance, 0.4, GROUPS) if with_subject else [],
        "users": _perhaps(chance, 0.4, USERS) if with_subject else [],
        "credential_kinds": _perhaps(chance, 0.3, (*KINDS, "app-token")) if with_subject else [],
        "access": access,
        "rate_per_minute": chance.choice((0, 0, 0, 30)),
    }


def _paths(chance: Random, *, odd: bool) -> list[PathPattern]:
    kinds = [chance.choice(tuple(PATTERNS)) for _ in range(chance.choice((1, 1, 2, 3)))]
    paths: list[PathPattern] = [{"match": kind, "value": chance.choice(PATTERNS[kind])} for kind in kinds]
    if odd and chance.random() < 0.2:
        paths.append({"match": chance.choice(("exact", "prefix")), "value": chance.choice(ODD_PATTERNS)})
    return paths


def _uri(chance: Random, policy: Policy, *, odd: bool) -> str:
    """Make a path of any segments, or disguise one that a rule names."""
    values = [path["value"] for rule in policy["rules"] for path in rule["paths"]]
    if values and chance.random() < 0.5:
        path = _disguised(chance, chance.choice(values).replace("**", "*").replace("*", chance.choice(PLAIN_SEGMENTS)))
    else:
        tricky = (*TRICKY_SEGMENTS, *ODD_SEGMENTS) if odd else TRICKY_SEGMENTS
        segments = [
            chance.choice(tricky) if chance.random() < 0.5 else chance.choice(PLAIN_SEGMENTS)
            for _ in range(chance.choice((0, 1, 1, 2, 2, 3, 4)))
        ]
        path = "/" + "/".join(segments) + ("/" if segments and chance.random() < 0.15 else "")
    return path + (chance.choice(("?q=/admin/..", "?", "?a;b%2F..")) if chance.random() < 0.15 else "")


def _disguised(chance: Random, path: str) -> str:
    """Spell a path in another way, which one server reads as the path and another does not, up to three times."""
    path = "".join(each if each.isascii() else quote(each) for each in path)
    for _ in range(chance.choice((0, 1, 1, 2, 3))):
        at = chance.choice([place for place, each in enumerate(path) if each == "/"])
        before, after = path[:at], path[at + 1 :]
        letter = chance.choice(path[1:] or "/")
        path = chance.choice(
            (
                f"{before}/{chance.choice(PLAIN_SEGMENTS)}/{chance.choice(DOUBLE_DOTS)}/{after}",
                f"{before}/{chance.choice(('.', '%2e', '.;x'))}/{after}",
                f"{before}//{after}",
                f"{before}{chance.choice(BACKSLASHES)}{after}" if before else path,
                f"{before};{chance.choice(PLAIN_SEGMENTS)}/{after}" if before else path,
                f"{path}{chance.choice((';x', '/', '%3bx', '/.', '/..'))}",
                path[0] + path[1:].replace(letter, f"%{ord(letter):02{chance.choice('xX')}}", 1),
                path.replace("%", "%25", 1),
            ),
        )
    return path


def _credentials(chance: Random) -> list[Credential]:
    """None, one, or several of different kinds in the order in which the gateway tries them."""
    if chance.random() < 0.25:
        return []
    kinds = [kind for kind in KINDS if chance.random() < 0.2] or [chance.choices(KINDS, (6, 2, 2))[0]]
    return [_credential(chance, kind) for kind in kinds]


def _credential(chance: Random, kind: str) -> Credential:
    names = {"session": USERS, "git-token": GIT_TOKENS, "license": LICENSES}[kind]
    amr = list(chance.choice(AMRS)) if kind == "session" else []
    return {"kind": kind, "name": chance.choice(names), "amr": amr, "forged": chance.random() < 0.12}


def _expiry(chance: Random) -> str | None:
    return chance.choice(INSTANTS) if chance.random() < 0.2 else None


def _perhaps(chance: Random, probability: float, pool: Sequence[T]) -> list[T]:
    return _some(chance, pool) or [chance.choice(pool)] if chance.random() < probability else []


def _some(chance: Random, pool: Sequence[T]) -> list[T]:
    return [each for each in pool if chance.random() < 0.5]
