"""The gateway's answer to a case of the oracle.

``Site`` is a policy of the oracle as a published snapshot, ``Site.decide`` the engine's answer to a request.
``differs`` compares an answer with the oracle's.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from gatewall.credentials.check import git_token_subject, license_subject, session_subject
from gatewall.credentials.machine import GIT_TOKEN_PREFIX, LICENSE_PREFIX, MachineToken, new_token
from gatewall.engine.access_rules.rules import AccessRule, PathMatch, PathPattern
from gatewall.engine.addresses import IPAddress, parse_network
from gatewall.engine.evaluate import evaluate
from gatewall.engine.facts import Facts
from gatewall.engine.groups import GroupState
from gatewall.engine.hosts import Access, Authority
from gatewall.engine.model import AccessRequest, Credential, CredentialKind, Subject
from gatewall.engine.ports import Ports
from gatewall.engine.snapshot import GitTokenState, LicenseState, PolicySnapshot
from gatewall.engine.users import UserState
from tests.access_rules import oracle
from tests.access_rules import shapes as of_oracle
from tests.access_rules.windows import WEEKDAYS
from tests.support.cast import a_policy, an_address

KINDS = {
    "session": CredentialKind.SESSION_HEADER,
    "git-token": CredentialKind.GIT_TOKEN,
    "license": CredentialKind.LICENSE,
}
FORGED = "forged"
_NOBODY = 999
"""The id of a group or user that a rule names and that does not exist."""


@dataclass(frozen=True)
class Answered:
    """An answer with the rule that counts, by name: the one that asks for the access, or whose rate is exceeded."""

    status: int
    reason: str
    rule: str | None
    rates: tuple[str, ...]


@dataclass(frozen=True)
class Situation:
    """The engine's ports for one request: what the oracle's case says of country, network, rate and credentials."""

    request: of_oracle.Request

    def country_of(self, address: IPAddress) -> str | None:
        return self.request["country"]

    def asn_of(self, address: IPAddress) -> int | None:
        return self.request["asn"]

    def seconds_over(self, client: IPAddress, limit_per_minute: int, at: float, rule_id: int | None = None) -> int:
        return int(self.request["over_rate"] == ("client" if rule_id is None else "rule"))

    def subject_of(self, credential: Credential, policy: PolicySnapshot, at: float) -> Subject | None:
        """Return the subject of a secret, which is the place of the oracle's credential in the request."""
        sent = self.request["credentials"][int(credential.secret)]
        name = sent["name"]
        if sent["forged"]:
            return None
        if credential.kind is CredentialKind.SESSION_HEADER:
            user = next((user for user in policy.users.values() if user.username == name), None)
            return session_subject(user, policy, tuple(sent["amr"])) if user else None
        if credential.kind is CredentialKind.GIT_TOKEN:
            token = policy.git_tokens.get(token_of(GIT_TOKEN_PREFIX, name).digest)
            return git_token_subject(token, policy, at) if token else None
        license_ = policy.licenses.get(token_of(LICENSE_PREFIX, name).digest)
        return license_subject(license_, at) if license_ else None

    def ports(self) -> Ports:
        return Ports(countries=self, credentials=self, rates=self)


class Site:
    """A policy of the oracle, published and loaded."""

    def __init__(self, policy: of_oracle.Policy) -> None:
        self.rules = _rules(policy)
        self.snapshot = a_policy(
            **policy["settings"],
            waf_mode="off",
            domains={domain["name"]: domain["access"] for domain in policy["domains"]},
            groups=_groups(policy),
            users=_users(policy),
            git_tokens=_git_tokens(policy),
            licenses=_licenses(policy),
            access_rules=self.rules,
        )
        self._names = {rule.id: rule.name for rule in self.rules}

    def decide(self, request: of_oracle.Request) -> Answered:
        """Return the engine's answer."""
        asked, ports = access_request(request), Situation(request).ports()
        decision = evaluate(asked, self.snapshot, ports)
        access = Facts(asked, self.snapshot, ports).access
        verdict = decision.verdict
        decided_by = verdict.decided_by
        rates = tuple(rule.name for rule in access.rates)
        if decided_by and decided_by.kind == "access-rules":
            rule = self._names[decided_by.id]
        elif verdict.reason in {"client-rate-limited", "host-not-authorized"}:
            rule = None
        else:
            rule = access.rule.name if access.rule else None
        return Answered(verdict.effect.status, verdict.reason.value, rule, rates)

    def name_of(self, decided_by: Mapping[str, Any] | None) -> str | None:
        """Return the name of the access rule that decided, as it is in the record."""
        return self._names[decided_by["id"]] if decided_by and decided_by["kind"] == "access-rules" else None


def differs(answered: Answered, decision: oracle.Decision) -> bool:
    """True if the answer is not the oracle's: status, reason, the rule, or one that is as strict, and the rates."""
    if (answered.status, answered.reason) != (decision.status, decision.reason):
        return True
    if answered.reason == "host-not-authorized":  # no rule is judged
        return answered.rule is not None
    if answered.rates != decision.rates:
        return True
    if answered.reason == "client-rate-limited":
        return answered.rule != decision.rule
    return answered.rule not in {decision.rule, *decision.equals}


def access_request(request: of_oracle.Request) -> AccessRequest:
    """Return the request as the gate parses it from a proxy that shows what the oracle's case says."""
    shown = {"host", "proto", "headers"}
    shown |= {part for part in ("uri", "method") if request[part] is not None}
    shown |= {"for"} if request["client_shown"] else set()
    preflight = (("origin", "https://a.example"), ("access-control-request-method", "PUT"))
    port = "" if request["port"] is None else f":{request['port']}"
    return AccessRequest(
        at=seconds(request["at"]),
        client=an_address(request["client"]),
        authority=Authority.parse(request["host"] + port),
        scheme="https",
        method=request["method"] or "GET",
        uri=request["uri"] or "/",
        headers=preflight if request["preflight"] else (),
        credentials=tuple(
            Credential(KINDS[sent["kind"]], str(place)) for place, sent in enumerate(request["credentials"])
        ),
        allowlist_applies=request["client_shown"],
        visible=frozenset(shown),
    )


@lru_cache(maxsize=10_000)
def seconds(moment: str) -> float:
    """Return a time of the oracle as seconds since the epoch."""
    return datetime.fromisoformat(moment).timestamp()


@lru_cache
def token_of(prefix: str, name: str) -> MachineToken:
    """Return the text and the digest of the git token or license of this name."""
    return new_token(prefix)


def _groups(policy: of_oracle.Policy) -> list[GroupState]:
    return [
        GroupState(number, group["name"], group["all_domains"], frozenset(group["authorized_domains"]))
        for number, group in enumerate(policy["groups"], 1)
    ]


def _users(policy: of_oracle.Policy) -> list[UserState]:
    group_ids = _ids(group["name"] for group in policy["groups"])
    return [
        UserState(
            id=number,
            username=user["username"],
            email=f"{user['username']}@office.example",
            is_admin=user["is_admin"],
            is_active=user["is_active"],
            session_version=1,
            all_domains=user["all_domains"],
            domains=frozenset(user["authorized_domains"]),
            groups=frozenset(group_ids[name] for name in user["groups"]),
        )
        for number, user in enumerate(policy["users"], 1)
    ]


def _git_tokens(policy: of_oracle.Policy) -> list[GitTokenState]:
    user_ids = _ids(user["username"] for user in policy["users"])
    return [
        GitTokenState(
            number,
            user_ids[token["user"]],
            token_of(GIT_TOKEN_PREFIX, token["name"]).digest,
            _moment(token["expires_at"]),
        )
        for number, token in enumerate(policy["git_tokens"], 1)
    ]


def _licenses(policy: of_oracle.Policy) -> list[LicenseState]:
    return [
        LicenseState(
            number,
            token_of(LICENSE_PREFIX, license_["name"]).digest,
            license_["is_active"],
            _moment(license_["expires_at"]),
            license_["all_domains"],
            frozenset(license_["authorized_domains"]),
        )
        for number, license_ in enumerate(policy["licenses"], 1)
    ]


def _rules(policy: of_oracle.Policy) -> list[AccessRule]:
    """Return the enabled rules in their order."""
    group_ids = _ids(group["name"] for group in policy["groups"])
    user_ids = _ids(user["username"] for user in policy["users"])
    return [
        AccessRule(
            id=100 + number,
            name=rule["name"],
            access=Access(rule["access"]),
            domains=frozenset(rule["domains"]),
            paths=tuple(PathPattern(PathMatch(path["match"]), path["value"]) for path in rule["paths"]),
            methods=frozenset(rule["methods"]),
            networks=tuple(parse_network(network) for network in rule["networks"]),
            countries=frozenset(rule["countries"]),
            asns=frozenset(rule["asns"]),
            weekdays=frozenset(WEEKDAYS.index(day) + 1 for day in rule["weekdays"]),
            start_minute=_minute(rule["from"]),
            end_minute=_minute(rule["until"]),
            time_zone=rule["time_zone"] or "UTC",
            groups=frozenset(group_ids.get(name, _NOBODY) for name in rule["groups"]),
            users=frozenset(user_ids.get(name, _NOBODY) for name in rule["users"]),
            credential_kinds=frozenset(rule["credential_kinds"]),
            rate_per_minute=rule["rate_per_minute"],
            expires_at=_moment(rule["expires_at"]),
        )
        for number, rule in enumerate(policy["rules"], 1)
        if rule["enabled"]
    ]


def _ids(names: Iterable[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(names, 1)}


def _moment(text: str | None) -> float | None:
    return None if text is None else seconds(text)


def _minute(clock: str | None) -> int | None:
    return None if clock is None else int(clock[:2]) * 60 + int(clock[3:])
