"""Data planes with and without a memo, the policies that they may have, and their visitors."""

import dataclasses
from functools import cache
from typing import Any

from audit.spool.records import AccessRecord
from gatewall.engine.access_rules.rules import AccessRule, PathMatch, PathPattern
from gatewall.engine.device_passes import DevicePass
from gatewall.engine.grants import Grant
from gatewall.engine.hosts import Access
from gatewall.engine.waf.judge import builtin_rules
from gatewall.gate.application import AuthApplication
from gatewall.gate.gate import Gate
from gatewall.gate.responses import GuardPage
from gatewall.kernel.trusted_callers import TrustedCallers
from gatewall.server.answer_bytes import answer_bytes
from gatewall.server.heads import Heads
from gatewall.snapshot.confirmed import PolicyAge
from tests.support.cast import (
    BOB,
    BOBS_APP_TOKEN,
    BOBS_GIT_TOKEN,
    NOW,
    OFFICE,
    TRUSTED,
    a_blocked,
    a_credential_check,
    a_policy,
    a_ports,
    a_rule,
    a_session_token,
    an_allowed,
)
from tests.support.ports import Countries, Rates
from tests.support.records import Records
from tests.unit.recorded import Policies
from tests.unit.test_heads import a_head, read

CLIENT = "203.0.113.7"
SOON = NOW + 60
DOMAINS = {OFFICE: "authenticated", "open.example": "public"}
NARROW = dataclasses.replace(BOB, all_domains=False)
HIDDEN = {"X-Gatewall-Decision-Id", "X-Request-Id"}


def a_closed_path(**parts):
    usual = {"id": 1, "name": "closed", "access": Access.DENIED, "paths": (PathPattern(PathMatch.PREFIX, "/closed"),)}
    return AccessRule(**{**usual, **parts})


def a_grant(**parts):
    usual = {"id": 5, "user_id": BOB.id, "group_id": None, "domain": OFFICE, "path_prefix": None}
    return Grant(**{**usual, "methods": frozenset(), "expires_at": SOON, **parts})


POLICIES: dict[str, dict[str, Any]] = {
    "in force": {},
    "WAF": {"rules": builtin_rules()},
    "WAF off": {"rules": builtin_rules(), "waf_mode": "off"},
    "WAF monitors": {"rules": builtin_rules(), "waf_mode": "monitor"},
    "an edited rule": {"rules": [*builtin_rules(), a_rule("attack", id=999, builtin=True)]},
    "a custom rule": {"rules": [*builtin_rules(), a_rule("attack", id=999)]},
    "signed out": {"revoked": ["session-1"]},
    "deactivated": {"users": [dataclasses.replace(BOB, is_active=False)]},
    "all sessions ended": {"users": [dataclasses.replace(BOB, session_version=2)]},
    "an administrator": {"users": [dataclasses.replace(BOB, is_admin=True)]},
    "removed": {"users": []},
    "out of scope": {"users": [NARROW]},
    "granted": {"users": [NARROW], "grants": [a_grant()]},
    "granted below": {"users": [NARROW], "grants": [a_grant(path_prefix="/closed", expires_at=None)]},
    "blocked": {"blocked": ["203.0.113.0/24"]},
    "blocked for a while": {"blocked": [a_blocked("203.0.113.0/24", expires_at=SOON)]},
    "allowed": {"allowed": ["203.0.113.0/24"]},
    "allowed for a while": {"allowed": [an_allowed("203.0.113.0/24", expires_at=SOON)]},
    "two factors": {"domains": {OFFICE: "two_factor", "open.example": "public"}},
    "shut": {"domains": {OFFICE: "denied", "open.example": "denied"}},
    "unregistered": {"domains": {}, "authorized_domains_mode": "registered"},
    "public": {"domains": {OFFICE: "public", "open.example": "public"}},
    "a closed path": {"access_rules": [a_closed_path()]},
    "a path closed for a while": {"access_rules": [a_closed_path(expires_at=SOON)]},
    "a path closed at times": {"access_rules": [a_closed_path(start_minute=9 * 60 + 27, end_minute=10 * 60)]},
    "an open path": {"access_rules": [a_closed_path(access=Access.PUBLIC), a_closed_path(id=2)]},
    "a path closed to a user": {"access_rules": [a_closed_path(users=frozenset({BOB.id}))]},
    "a path for two factors": {"access_rules": [a_closed_path(access=Access.TWO_FACTOR)]},
    "a path closed to a country": {"access_rules": [a_closed_path(countries=frozenset({"NZ"}))]},
    "a rate of a rule": {"access_rules": [a_closed_path(access=Access.AUTHENTICATED, paths=(), rate_per_minute=5)]},
    "a country": {"countries": ["NZ"], "unknown_country": "block"},
    "a rate": {"request_rate_per_minute": 5},
    "strict records": {"audit_mode": "strict"},
    "strict age": {"stale_policy": "strict"},
    "signed identity": {"signed_identity": "EdDSA"},
    "no queries": {"log_query_strings": "off"},
    "a device pass": {"device_passes": [DevicePass(1, BOB.id, OFFICE, CLIENT, "", SOON)]},
}
PROXY = [b"Host: gate", b"X-Forwarded-For: " + CLIENT.encode(), b"X-Forwarded-Proto: https", b"X-Forwarded-Method: GET"]
SESSION = f"Cookie: theme=dark; service.token={a_session_token(BOB)}".encode()
VISITORS = [
    [b"X-Forwarded-Host: " + host, *credential]
    for host, credential in [
        (OFFICE.encode(), [SESSION]),
        (OFFICE.encode(), []),
        (OFFICE.encode(), [f"Cookie: service.token={a_session_token(BOB, exp=int(SOON))}".encode()]),
        (OFFICE.encode(), [f"Cookie: service.token={a_session_token(BOB, nbf=int(SOON) + 60)}".encode()]),
        (OFFICE.encode(), [SESSION + f"; service.token={a_session_token(BOB, nbf=int(SOON) + 60)}".encode()]),
        (OFFICE.encode(), [b"Cookie: service.token=x.y.z"]),
        (OFFICE.encode(), [f"Service-Git-Token: Bob:{BOBS_GIT_TOKEN}".encode()]),
        (OFFICE.encode(), [f"Authorization: Bearer {BOBS_APP_TOKEN}".encode(), b"User-Agent: python/3"]),
        (OFFICE.encode(), [SESSION, b"X-Note: <script>alert(1)</script>"]),
        (b"open.example", [SESSION]),
        (b"open.example", []),
        (b"unknown.example", [SESSION]),
    ]
]
URIS = [
    *(b"/a", b"/static/app.js?v=12", b"/closed/x", b"/a?q=attack", b"/?q=1'+or+'1'='1", b"/<script>", b"/%61ttack"),
    *(b"/closed/..%2f..", b"/x\\..\\closed", b"/a#x", b"/\xc3\xa4", b"*", b"/" + b"a" * 2000, b"/a?token=secret"),
    *(b"/a?" + b"&".join([b"a%d=b" % number for number in range(60)]), b"/a?x=PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg=="),
]
VARIED = [
    *([b"X-Forwarded-Uri: " + uri] for uri in URIS),
    [b"X-Forwarded-Uri: /a", b"Referer: https://office.example/a?b=<script>alert(1)</script>"],
    [b"X-Forwarded-Uri: /a?id=1", b"Referer: https://elsewhere.example/"],
    [b"X-Forwarded-Uri: /a", b'If-None-Match: "1"', b"Accept: text/html"],
    [b"X-Forwarded-Uri: /a", b"If-None-Match: <attack>", b"Accept: text/html"],
    [b"X-Forwarded-Uri: /a", b"Range: ../../etc/passwd"],
    [],
]


@cache
def policy_in(name):
    """Return the policy of this name, always the same object."""
    parts: dict[str, Any] = {"users": [BOB], "domains": DOMAINS, **POLICIES[name]}
    return a_policy(**parts)


class World:
    """State that can change between two requests, shared by both planes."""

    at = NOW
    country = "DE"
    over = 0
    is_disk_full = False
    confirmed_at = 100.0


class Journal(Records):
    """A journal that loses all records while the disk is full."""

    def __init__(self, world):
        super().__init__()
        self._world = world

    def write(self, record):
        super().write(record)
        return not self._world.is_disk_full


class Plane:
    """A data plane in a ``World``, with or without a memo."""

    def __init__(self, world, *, has_memo):
        self._world = world
        self.policies, self._journal = Policies(None), Journal(world)
        self._countries, self._rates = Countries(), Rates()
        ports = a_ports(countries=self._countries, rates=self._rates, credentials=a_credential_check())
        self.gate = Gate(
            self.policies,
            ports,
            trusted=TRUSTED,
            guard=GuardPage("/wall"),
            clock=lambda: world.at,
            records=self._journal,
            age=PolicyAge(lambda: world.confirmed_at, lambda: 110.0),
        )
        self._application = AuthApplication(self.gate, self.policies, "/wall", TrustedCallers(TRUSTED, None))
        self._memo = Heads() if has_memo else None
        self.given_again = 0

    def ask(self, path, lines):
        """Return the answer, its records and the number of requests counted so far, without random parts."""
        self._countries.code, self._rates.over = self._world.country, self._world.over
        request = read(self._memo, a_head([*PROXY, *lines], path), "10.0.0.1")
        answer = self._application("GET", path, request.lines, "10.0.0.1", "http", None, request.head)
        self.given_again += bool(answer.wire)
        sent, encoded = (
            answer_bytes(each, "date: now\n", shows_body=True, keep_alive=True)
            for each in (answer, dataclasses.replace(answer, wire=b""))
        )
        assert sent == encoded
        records = [AccessRecord.from_bytes(each.to_bytes()) for each in self._journal.written]
        self._journal.written.clear()
        ids = {value for name, value in answer.headers if name in HIDDEN}
        assert ids == {record.decision_id for record in records}
        records = [dataclasses.replace(each, decision_id="", latency_us=0) for each in records]
        return answer.status, [each for each in answer.headers if each[0] not in HIDDEN], records, self._rates.asked


def two_planes(world):
    return [Plane(world, has_memo=has_memo) for has_memo in (True, False)]
