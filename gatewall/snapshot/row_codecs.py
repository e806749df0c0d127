"""JSON codecs of the rows of each kind of segment; decoding is strict. Pure."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from gatewall.engine.addresses import NetworkTable, parse_network
from gatewall.engine.hosts import Access, Domain, DomainTable
from gatewall.engine.lists import AllowedNetwork
from gatewall.engine.model import Action
from gatewall.engine.snapshot import (
    BlockedCountry,
    GitTokenState,
    LicenseState,
    PolicySettings,
    Segment,
    UserState,
)
from gatewall.engine.waf.rules import Category, Exclusion, Operator, Target, Transform, WafRule


def _encode_settings(settings: PolicySettings) -> Any:
    return asdict(settings)


def _decode_settings(row: Any) -> PolicySettings:
    values: dict[str, Any] = {
        name: _int(row[name]) if kind is int else kind(row[name]) for name, kind in PolicySettings.kinds().items()
    }
    return PolicySettings(**values)


def _encode_allowed(entry: AllowedNetwork) -> Any:
    return [entry.id, str(entry.network), entry.domain, entry.inspect, entry.expires_at]


def _decode_allowed(row: Any) -> AllowedNetwork:
    id_, network, domain, inspect, expires_at = row
    return AllowedNetwork(_int(id_), parse_network(network), _maybe(domain), _flag(inspect), _moment(expires_at))


def _encode_domain(domain: Domain) -> Any:
    return [domain.id, domain.name, domain.access.value]


def _decode_domain(row: Any) -> Domain:
    id_, name, access = row
    return Domain(_int(id_), _text(name), Access(access))


def _encode_country(rule: BlockedCountry) -> Any:
    return [rule.id, rule.country_code]


def _decode_country(row: Any) -> BlockedCountry:
    id_, code = row
    return BlockedCountry(_int(id_), _text(code))


def _encode_user(user: UserState) -> Any:
    return [
        user.id,
        user.username,
        user.email,
        user.is_admin,
        user.is_active,
        user.session_version,
        user.all_domains,
        sorted(user.domains),
    ]


def _decode_user(row: Any) -> UserState:
    id_, username, email, is_admin, is_active, session_version, all_domains, domains = row
    return UserState(
        id=_int(id_),
        username=_text(username),
        email=_text(email),
        is_admin=_flag(is_admin),
        is_active=_flag(is_active),
        session_version=_int(session_version),
        all_domains=_flag(all_domains),
        domains=frozenset(_text(name) for name in list_of(domains)),
    )


def _encode_git_token(token: GitTokenState) -> Any:
    return [token.id, token.user_id, token.digest, token.expires_at]


def _decode_git_token(row: Any) -> GitTokenState:
    id_, user_id, digest, expires_at = row
    return GitTokenState(_int(id_), _int(user_id), _text(digest), _moment(expires_at))


def _encode_license(state: LicenseState) -> Any:
    return [state.id, state.digest, state.is_active, state.expires_at, state.all_domains, sorted(state.domains)]


def _decode_license(row: Any) -> LicenseState:
    id_, digest, is_active, expires_at, all_domains, domains = row
    scope = frozenset(_text(name) for name in list_of(domains))
    return LicenseState(_int(id_), _text(digest), _flag(is_active), _moment(expires_at), _flag(all_domains), scope)


def _encode_rule(rule: WafRule) -> Any:
    return {
        "id": rule.id,
        "name": rule.name,
        "pattern": rule.pattern,
        "operator": rule.operator.value,
        "targets": [target.value for target in rule.targets],
        "transforms": [transform.value for transform in rule.transforms],
        "category": rule.category.value,
        "score": rule.score,
        "action": rule.action.value,
        "domain": rule.domain,
        "path_prefix": rule.path_prefix,
        "exclusions": [[part.domain, part.path_prefix, part.argument, part.expires_at] for part in rule.exclusions],
        "builtin": rule.builtin,
    }


def _decode_rule(row: Any) -> WafRule:
    return WafRule(
        id=_int(row["id"]),
        name=_text(row["name"]),
        pattern=_text(row["pattern"]),
        operator=Operator(row["operator"]),
        targets=tuple(Target(target) for target in list_of(row["targets"])),
        transforms=tuple(Transform(transform) for transform in list_of(row["transforms"])),
        category=Category(row["category"]),
        score=_int(row["score"]),
        action=Action(row["action"]),
        domain=_maybe(row["domain"]),
        path_prefix=_maybe(row["path_prefix"]),
        exclusions=tuple(map(_decode_exclusion, list_of(row["exclusions"]))),
        builtin=_flag(row["builtin"]),
    )


def _decode_exclusion(row: Any) -> Exclusion:
    domain, path_prefix, argument, expires_at = list_of(row)  # a row without fields would switch the rule off
    return Exclusion(_maybe(domain), _maybe(path_prefix), _maybe(argument), _moment(expires_at))


def list_of(value: Any) -> list[Any]:
    """Return a list. Raises TypeError."""
    if not isinstance(value, list):
        raise TypeError
    return value


def _int(value: Any) -> int:
    if type(value) is not int:
        raise TypeError
    return value


def _flag(value: Any) -> bool:
    if type(value) is not bool:
        raise TypeError
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _maybe(value: Any) -> str | None:
    return None if value is None else _text(value)


def _moment(value: Any) -> float | None:
    if value is None:
        return None
    if type(value) not in {int, float} or not math.isfinite(value):
        raise TypeError
    return float(value)


def _only(rows: tuple[Any, ...]) -> Any:
    if len(rows) != 1:
        raise ValueError("settings must be exactly one row")
    return rows[0]


@dataclass(frozen=True, slots=True)
class Kind:
    """Codec of a kind of segment, and how its rows become a table and which attribute of the policy.

    ``decode`` raises ValueError, KeyError, TypeError, AttributeError or OverflowError; ``build`` ValueError.
    """

    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]
    attribute: str = ""
    build: Callable[[tuple[Any, ...]], Any] = tuple


KINDS: Mapping[str, Kind] = {
    Segment.SETTINGS: Kind(_encode_settings, _decode_settings, "settings", _only),
    Segment.DOMAINS: Kind(_encode_domain, _decode_domain, "domains", DomainTable),
    Segment.ALLOWED_NETWORKS: Kind(_encode_allowed, _decode_allowed, build=NetworkTable),
    Segment.BLOCKED_COUNTRIES: Kind(
        _encode_country,
        _decode_country,
        "blocked_countries",
        lambda rows: {row.country_code: row for row in rows},
    ),
    Segment.WAF_RULES: Kind(_encode_rule, _decode_rule, "waf"),
    Segment.USERS: Kind(_encode_user, _decode_user, "users"),
    Segment.GIT_TOKENS: Kind(_encode_git_token, _decode_git_token, "git_tokens"),
    Segment.LICENSES: Kind(_encode_license, _decode_license, "licenses"),
    Segment.REVOCATIONS: Kind(_text, _text, "revoked_sessions", frozenset),
}
"""Every kind of segment except packed blocked networks. Those without an attribute are part of ``lists``."""
