"""Policy sources as bytes and back: JSON with a schema version. Pure; never pickle.

``decode`` trusts nothing: whatever is not exactly what ``encode`` writes is refused.
"""

import json
import math
from collections.abc import Callable
from typing import Any

from gatewall.engine.addresses import parse_network
from gatewall.engine.hosts import Access, Domain
from gatewall.engine.lists import AllowedNetwork, BlockedNetwork
from gatewall.engine.model import Action
from gatewall.engine.snapshot import (
    BlockedCountry,
    DomainsMode,
    EnforcementMode,
    GitTokenState,
    LicenseState,
    PolicySettings,
    PolicySource,
    UnknownCountry,
    UserState,
    Version,
)
from gatewall.engine.waf.rules import Category, Exclusion, Operator, Target, Transform, WafRule

SCHEMA = 1
_MAX_BYTES = 256 * 1024 * 1024


class DecodeError(ValueError):
    """The bytes are not a policy of this schema."""


def encode(source: PolicySource) -> bytes:
    """Return the bytes of a policy source."""
    document = {
        "schema": SCHEMA,
        "version": [source.version.revision, source.version.revocations],
        "settings": _encode_settings(source.settings),
        "blocked_networks": [
            [entry.id, str(entry.network), entry.by_hand, entry.expires_at] for entry in source.blocked_networks
        ],
        "allowed_networks": [
            [entry.id, str(entry.network), entry.domain, entry.inspect, entry.expires_at]
            for entry in source.allowed_networks
        ],
        "domains": [[domain.id, domain.name, domain.access.value] for domain in source.domains],
        "blocked_countries": [[rule.id, rule.country_code] for rule in source.blocked_countries],
        "waf_rules": [_encode_rule(rule) for rule in source.waf_rules],
        "users": [
            [
                user.id,
                user.username,
                user.email,
                user.is_admin,
                user.is_active,
                user.session_version,
                user.all_domains,
                sorted(user.domains),
            ]
            for user in source.users
        ],
        "git_tokens": [[token.id, token.user_id, token.digest, token.expires_at] for token in source.git_tokens],
        "licenses": [
            [state.id, state.digest, state.is_active, state.expires_at, state.all_domains, sorted(state.domains)]
            for state in source.licenses
        ],
        "revoked_sessions": sorted(source.revoked_sessions),
    }
    return json.dumps(document, separators=(",", ":")).encode()


def _encode_settings(settings: PolicySettings) -> dict[str, Any]:
    return {
        "authorized_domains_mode": settings.authorized_domains_mode.value,
        "waf_mode": settings.waf_mode.value,
        "waf_threshold": settings.waf_threshold,
        "geo_mode": settings.geo_mode.value,
        "unknown_country": settings.unknown_country.value,
        "request_rate_per_minute": settings.request_rate_per_minute,
    }


def decode(data: bytes) -> PolicySource:
    """Return the policy source of these bytes. Raises DecodeError."""
    if len(data) > _MAX_BYTES:
        raise DecodeError(f"more than {_MAX_BYTES} bytes")
    try:
        document = json.loads(data)
        schema = document["schema"]
        source = _decode_document(document) if schema == SCHEMA else None
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError) as error:
        raise DecodeError(f"{type(error).__name__} while reading a policy") from None
    if source is None:
        raise DecodeError(f"schema {schema!r}, not {SCHEMA}")
    return source


def _decode_document(document: dict[str, Any]) -> PolicySource:
    settings = document["settings"]
    return PolicySource(
        version=Version(*(_int(number) for number in document["version"])),
        settings=PolicySettings(
            authorized_domains_mode=DomainsMode(settings["authorized_domains_mode"]),
            waf_mode=EnforcementMode(settings["waf_mode"]),
            waf_threshold=_int(settings["waf_threshold"]),
            geo_mode=EnforcementMode(settings["geo_mode"]),
            unknown_country=UnknownCountry(settings["unknown_country"]),
            request_rate_per_minute=_int(settings["request_rate_per_minute"]),
        ),
        blocked_networks=_rows(document["blocked_networks"], _decode_blocked),
        allowed_networks=_rows(document["allowed_networks"], _decode_allowed),
        domains=_rows(document["domains"], lambda row: Domain(_int(row[0]), _text(row[1]), Access(row[2]))),
        blocked_countries=_rows(document["blocked_countries"], lambda row: BlockedCountry(_int(row[0]), _text(row[1]))),
        waf_rules=_rows(document["waf_rules"], _decode_rule),
        users=_rows(document["users"], _decode_user),
        git_tokens=_rows(document["git_tokens"], _decode_git_token),
        licenses=_rows(document["licenses"], _decode_license),
        revoked_sessions=frozenset(_text(jti) for jti in document["revoked_sessions"]),
    )


def _rows(rows: list[Any], decode_row: Callable[[Any], Any]) -> tuple[Any, ...]:
    return tuple(decode_row(row) for row in rows)


def _decode_blocked(row: Any) -> BlockedNetwork:
    id_, network, by_hand, expires_at = row
    return BlockedNetwork(_int(id_), parse_network(network), _flag(by_hand), _moment(expires_at))


def _decode_allowed(row: Any) -> AllowedNetwork:
    id_, network, domain, inspect, expires_at = row
    return AllowedNetwork(_int(id_), parse_network(network), _maybe(domain), _flag(inspect), _moment(expires_at))


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
        domains=frozenset(_text(name) for name in domains),
    )


def _decode_git_token(row: Any) -> GitTokenState:
    id_, user_id, digest, expires_at = row
    return GitTokenState(_int(id_), _int(user_id), _text(digest), _moment(expires_at))


def _decode_license(row: Any) -> LicenseState:
    id_, digest, is_active, expires_at, all_domains, domains = row
    scope = frozenset(_text(name) for name in domains)
    return LicenseState(_int(id_), _text(digest), _flag(is_active), _moment(expires_at), _flag(all_domains), scope)


def _encode_rule(rule: WafRule) -> dict[str, Any]:
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
        "exclusions": [[part.domain, part.path_prefix, part.argument] for part in rule.exclusions],
    }


def _decode_rule(row: Any) -> WafRule:
    return WafRule(
        id=_int(row["id"]),
        name=_text(row["name"]),
        pattern=_text(row["pattern"]),
        operator=Operator(row["operator"]),
        targets=tuple(Target(target) for target in row["targets"]),
        transforms=tuple(Transform(transform) for transform in row["transforms"]),
        category=Category(row["category"]),
        score=_int(row["score"]),
        action=Action(row["action"]),
        domain=_maybe(row["domain"]),
        path_prefix=_maybe(row["path_prefix"]),
        exclusions=tuple(Exclusion(*(_maybe(part) for part in exclusion)) for exclusion in row["exclusions"]),
    )


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
