"""The users, keys and builders of the tests.

Alice is an admin, Bob may enter every domain, Charlie only ``office.example``. Builders take what matters to a test
and default the rest. Values only: nothing here needs Django or a database.
"""

from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from functools import partial
from typing import Any

import jwt

from gatewall.credentials.check import PolicyCredentials, VerifiedTokens
from gatewall.credentials.guests import GuestVerifier
from gatewall.credentials.keyring import KeyRing, SigningKey
from gatewall.credentials.machine import digest_of
from gatewall.credentials.sessions import SessionVerifier
from gatewall.engine.addresses import IPAddress, parse_address, parse_network
from gatewall.engine.hosts import Access, Authority, Domain
from gatewall.engine.lists import AllowedNetwork, BlockedNetwork
from gatewall.engine.model import (
    AccessRequest,
    Credential,
    CredentialKind,
    Decision,
    Effect,
    Reason,
    Subject,
    SubjectKind,
    Verdict,
)
from gatewall.engine.ports import Ports
from gatewall.engine.segments import SHARD_OF, blocked_networks_of
from gatewall.engine.snapshot import (
    KINDS,
    AppTokenState,
    BlockedCountry,
    GitTokenState,
    LicenseState,
    PolicySettings,
    PolicySnapshot,
    Segment,
    Version,
)
from gatewall.engine.token_scope import TokenScope
from gatewall.engine.users import UserState
from gatewall.engine.waf.rules import WafRule
from gatewall.gate.subrequest import Subrequest
from gatewall.kernel.clientip import TrustedProxies
from gatewall.snapshot import codec
from gatewall.snapshot.assembly import Assembly, SegmentData
from tests.support.ports import Countries, Rates

NOW = 1_773_480_413.0
"""2026-03-14 09:26:53 UTC: the time of every test."""
MOMENT = datetime.fromtimestamp(NOW, UTC)
"""The same as an aware datetime."""
HOUR = 3600
DAY = 24 * HOUR
CLIENT = "198.51.100.7"
PROXY = "10.0.0.1"
OFFICE = "office.example"
TRUSTED = TrustedProxies.parse(["10.0.0.0/24", "127.0.0.0/8", "::1"])

ISSUER = "gatewall"
AUDIENCE = "gate"
KEYS = KeyRing.parse("new:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8,old:ZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXp7fH1-f4CBgoM")
STRANGERS_KEY = SigningKey("new", b"a key that this installation never had")

ALICE = UserState(1, "alice", "alice@office.example", True, True, 3, True, frozenset())
BOB = UserState(2, "Bob", "bob@office.example", False, True, 1, True, frozenset())
CHARLIE = UserState(3, "charlie", "charlie@office.example", False, True, 1, False, frozenset({OFFICE}))

ALICE_SUBJECT = Subject(SubjectKind.USER, 1, "alice", "alice@office.example", is_admin=True, amr=("pwd",), user_id=1)
BOB_SUBJECT = Subject(SubjectKind.USER, 2, "Bob", "bob@office.example", amr=("pwd",), user_id=2)
_OF_OFFICE: dict[str, Any] = {"all_domains": False, "domains": frozenset({OFFICE}), "amr": ("pwd",)}
CHARLIE_SUBJECT = Subject(SubjectKind.USER, 3, "charlie", "charlie@office.example", user_id=3, **_OF_OFFICE)
GIT_SUBJECT = Subject(SubjectKind.GIT_TOKEN, 21, "Bob", "bob@office.example", user_id=2)
APP_SUBJECT = Subject(
    SubjectKind.APP_TOKEN, 41, "Bob", "bob@office.example", user_id=2, limits=TokenScope(all_domains=True)
)
LICENSE_SUBJECT = Subject(SubjectKind.LICENSE, 31)
GUEST_SUBJECT = Subject(
    SubjectKind.GUEST,
    51,
    all_domains=False,
    domains=frozenset({OFFICE}),
    limits=TokenScope(all_domains=False, domains=frozenset({OFFICE}), paths=("/wedding",)),
)

BOBS_GIT_TOKEN = "gwg_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA33qbQG"
CHARLIES_GIT_TOKEN = "gwg_BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB0HFiDL"
BOBS_APP_TOKEN = "gwp_EEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEE3Ebz6o"
ALICES_APP_TOKEN = "gwp_FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF0RzxuD"
OPEN_LICENSE = "gwl_CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC4dTvGZ"
OFFICE_LICENSE = "gwl_DDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDD343Wh4"

USERS = (ALICE, BOB, CHARLIE)
GIT_TOKENS = (
    GitTokenState(21, BOB.id, digest_of(BOBS_GIT_TOKEN), None),
    GitTokenState(22, CHARLIE.id, digest_of(CHARLIES_GIT_TOKEN), NOW + DAY),
)
APP_TOKENS = (
    AppTokenState(41, BOB.id, digest_of(BOBS_APP_TOKEN), None, True, frozenset(), ()),
    AppTokenState(42, ALICE.id, digest_of(ALICES_APP_TOKEN), NOW + DAY, False, frozenset({OFFICE}), ("/dav",)),
)
LICENSES = (
    LicenseState(31, digest_of(OPEN_LICENSE), True, None, True, frozenset()),
    LicenseState(32, digest_of(OFFICE_LICENSE), True, NOW + DAY, False, frozenset({OFFICE})),
)

SECRETS = {
    "alice": ALICE_SUBJECT,
    "bob": BOB_SUBJECT,
    "charlie": CHARLIE_SUBJECT,
    "git": GIT_SUBJECT,
    "app": APP_SUBJECT,
    "license": LICENSE_SUBJECT,
    "guest": GUEST_SUBJECT,
}
"""The subjects that the fake credential check of ``a_ports`` knows, by secret."""


def an_address(text: str) -> IPAddress:
    address = parse_address(text)
    assert address is not None, text
    return address


def a_credential(
    secret: str = "bob", kind: CredentialKind = CredentialKind.SESSION_HEADER, name: str = ""
) -> Credential:
    return Credential(kind, secret, name)


def a_request(
    *, client: str = CLIENT, host: str | None = OFFICE, credentials: Iterable[Credential | str] = (), **parts: Any
) -> AccessRequest:
    """Return a parsed subrequest; a credential may be given by its secret only."""
    return AccessRequest(
        at=parts.pop("at", NOW),
        client=an_address(client),
        authority=Authority.parse(host) if host else None,
        credentials=tuple(a_credential(each) if isinstance(each, str) else each for each in credentials),
        headers=tuple(dict(parts.pop("headers", ())).items()),
        cookies=tuple(dict(parts.pop("cookies", ())).items()),
        **parts,
    )


def a_blocked(network: str, *, id: int = 1, **parts: Any) -> BlockedNetwork:  # noqa: A002 - the field's name
    return BlockedNetwork(id, parse_network(network), **parts)


def an_allowed(network: str, *, id: int = 1, **parts: Any) -> AllowedNetwork:  # noqa: A002 - the field's name
    return AllowedNetwork(id, parse_network(network), **parts)


def a_rule(pattern: str = "attack", **parts: Any) -> WafRule:
    return WafRule(parts.pop("id", 1), parts.pop("name", pattern), pattern, **parts)


def a_source(
    *,
    blocked: Iterable[BlockedNetwork | str] = (),
    allowed: Iterable[AllowedNetwork | str] = (),
    domains: Mapping[str, str] | None = None,
    countries: Iterable[str] = (),
    rules: Iterable[WafRule] = (),
    revoked: Iterable[str] = (),
    **parts: Any,
) -> dict[str, list[Any]]:
    """Return the rows of a policy by segment; networks as text, domains as name: access, settings as keywords.

    Rows of other kinds by their attribute of the policy, such as ``groups``.
    """
    rows = {name: list(parts.pop(kind.attribute, _USUAL.get(name, ()))) for name, kind in KINDS.items()}
    return {
        **_in_segments(rows),
        Segment.SETTINGS: [some_settings(**parts)],
        blocked_networks_of("manual"): [
            a_blocked(each, id=number) if isinstance(each, str) else each for number, each in enumerate(blocked, 1)
        ],
        Segment.ALLOWED_NETWORKS: [
            an_allowed(each, id=number) if isinstance(each, str) else each for number, each in enumerate(allowed, 1)
        ],
        Segment.DOMAINS: [
            Domain(number, name, Access(access)) for number, (name, access) in enumerate((domains or {}).items(), 1)
        ],
        Segment.BLOCKED_COUNTRIES: [BlockedCountry(number, code) for number, code in enumerate(countries, 1)],
        Segment.WAF_RULES: list(rules),
        Segment.REVOCATIONS: list(revoked),
    }


_USUAL: dict[str, tuple[Any, ...]] = {
    Segment.USERS: USERS,
    Segment.GIT_TOKENS: GIT_TOKENS,
    Segment.APP_TOKENS: APP_TOKENS,
    Segment.LICENSES: LICENSES,
}


def _in_segments(rows: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    """Return rows by kind as rows by segment."""
    found = {kind: of_kind for kind, of_kind in rows.items() if kind not in SHARD_OF}
    for kind, shard_of in SHARD_OF.items():
        for row in rows[kind]:
            found.setdefault(shard_of(getattr(row, KINDS[kind].key)), []).append(row)
    return found


def a_policy(*, version: int | Version = 1, **parts: Any) -> PolicySnapshot:
    """Return the policy of ``a_source``, encoded and decoded like a published one."""
    segments = {name: SegmentData(name, partial(codec.encode, name, rows)) for name, rows in a_source(**parts).items()}
    return Assembly().build(version if isinstance(version, Version) else Version(version), segments)


def some_settings(**values: Any) -> PolicySettings:
    """Return the settings with these values, in an operator's notation."""
    kinds: dict[str, Any] = {each.name: each.type for each in fields(PolicySettings)}
    return PolicySettings(**{name: kinds[name](value) for name, value in values.items()})


@dataclass
class Subjects:
    """A credential check that knows secrets by a dict, and records its calls."""

    known: Mapping[str, Subject] = field(default_factory=lambda: SECRETS)
    asked: list[str] = field(default_factory=list)

    def subject_of(self, credential: Credential, policy: PolicySnapshot, at: float) -> Subject | None:
        self.asked.append(credential.secret)
        return self.known.get(credential.secret)


def a_ports(*, country: str | None = None, over_seconds: int = 0, **parts: Any) -> Ports:
    """Return fakes for every port; ``credentials``, ``countries`` and ``rates`` replace one."""
    return Ports(
        countries=parts.pop("countries", None) or Countries(country),
        credentials=parts.pop("credentials", None) or Subjects(),
        rates=parts.pop("rates", None) or Rates(over_seconds),
    )


def a_credential_check(keys: KeyRing = KEYS) -> PolicyCredentials:
    """Return the real credential check over the test keys."""
    sessions = VerifiedTokens(SessionVerifier(keys, issuer=ISSUER, audience=AUDIENCE))
    return PolicyCredentials(sessions, VerifiedTokens(GuestVerifier(keys)))


def a_decision(reason: Reason = Reason.SESSION_VALID, *, effect: Effect = Effect.ALLOW, **parts: Any) -> Decision:
    verdict = Verdict(effect, reason, retry_after_seconds=parts.pop("retry_after_seconds", None))
    return Decision(verdict, **parts)


def some_claims(user: UserState = BOB, **claims: object) -> dict[str, object]:
    """Return the claims of this user's session that began an hour ago, ordered as we issue them; None omits one."""
    usual: dict[str, object] = {
        "typ": "session",
        "exp": int(NOW) + DAY,
        "iat": int(NOW) - HOUR,
        "jti": "session-1",
        "nbf": int(NOW) - HOUR,
        "sub": str(user.id),
        "sv": user.session_version,
        "amr": ["pwd"],
        "aud": AUDIENCE,
        "iss": ISSUER,
    }
    return {name: value for name, value in (usual | claims).items() if value is not None}


def a_session_token(
    user: UserState = BOB, *, key: SigningKey = KEYS.signing, headers: Mapping[str, Any] | None = None, **claims: object
) -> str:
    """Return a session token of this user, signed with a test key."""
    return jwt.encode(some_claims(user, **claims), key.secret, "HS256", headers={"kid": key.kid, **(headers or {})})


def base64url(content: bytes) -> str:
    return urlsafe_b64encode(content).rstrip(b"=").decode()


def a_subrequest(*, peer: str = PROXY, scheme: str = "http", **headers: str) -> Subrequest:
    """Return a subrequest of a trusted proxy; keywords are header names, ``_`` for ``-``."""
    return Subrequest(peer, scheme, {name.replace("_", "-"): value for name, value in headers.items()})
