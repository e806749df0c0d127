"""JSON codecs of the rows of each kind of segment: the fields of the engine's classes; decoding is strict. Pure.

The names and the order of those fields are the format: changing them changes ``codec.SCHEMA``.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass
from ipaddress import IPv4Network, IPv6Network
from operator import attrgetter
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from gatewall.engine.access_rules.rules import AccessRule, PathPattern
from gatewall.engine.access_rules.table import AccessRuleTable
from gatewall.engine.addresses import IPNetwork, NetworkTable, parse_network
from gatewall.engine.device_passes import DevicePass, DevicePassTable
from gatewall.engine.grants import Grant, GrantTable
from gatewall.engine.groups import GroupState, GroupTable
from gatewall.engine.hosts import Domain, DomainTable
from gatewall.engine.lists import AllowedNetwork
from gatewall.engine.snapshot import (
    AppTokenState,
    BlockedCountry,
    GitTokenState,
    LicenseState,
    PolicySettings,
    Segment,
    ShareLinkState,
)
from gatewall.engine.users import UserState
from gatewall.engine.waf.exclusions import Exclusion
from gatewall.engine.waf.rules import WafRule

Read = Callable[[Any], Any]


def plain(value: Any) -> Any:
    """Return the JSON value of a field that ``json`` cannot encode. Raises TypeError."""
    match value:
        case frozenset():
            return sorted(value)
        case IPv4Network() | IPv6Network():
            return str(value)
        case Exclusion() | PathPattern():
            return astuple(value)
    raise TypeError


def list_of(value: Any) -> list[Any]:
    """Return a list. Raises TypeError."""
    if not isinstance(value, list):
        raise TypeError
    return value


def _only(*kinds: type) -> Read:
    def read(value: Any) -> Any:
        if type(value) not in kinds:
            raise TypeError
        return value

    return read


def _moment(value: Any) -> float | None:
    if value is None:
        return None
    if type(value) not in {int, float} or not math.isfinite(value):
        raise TypeError
    return float(value)


def _all(read: Read, table: Callable[[Any], Any] = tuple) -> Read:
    return lambda values: table(map(read, list_of(values)))


_text = _only(str)
_READERS: dict[Any, Read] = {
    int: _only(int),
    bool: _only(bool),
    str: _text,
    str | None: _only(str, NoneType),
    float | None: _moment,
    int | None: _only(int, NoneType),
    frozenset[str]: _all(_text, frozenset),
    frozenset[int]: _all(_only(int), frozenset),
    IPNetwork: parse_network,
}
"""By the type of a field, the function that reads its JSON value. An enum reads its own."""


def _reader(kind: Any) -> Read:
    if get_origin(kind) is tuple:
        return _all(_reader(get_args(kind)[0]))
    read: Read = _READERS.get(kind, kind)
    return read


def _readers(row: type[Any]) -> dict[str, Read]:
    return {name: _reader(kind) for name, kind in get_type_hints(row).items()}


def _list_reader(row: type[Any]) -> Read:
    """Return the function that reads a row from the list of its fields."""
    readers = list(_readers(row).values())
    return lambda values: row(*[read(value) for read, value in zip(readers, list_of(values), strict=True)])


_READERS[Exclusion] = _list_reader(Exclusion)
_READERS[PathPattern] = _list_reader(PathPattern)


@dataclass(frozen=True, slots=True)
class Kind:
    """Codec of a kind of segment, and how its rows become a table and which attribute of the policy.

    Rows with a ``key``, the attribute that names a row, become a mapping by it, without ``build``.
    ``json`` with ``plain`` encodes what ``encode`` returns. ``decode`` raises ValueError, KeyError, TypeError,
    AttributeError or OverflowError; ``build`` ValueError.
    """

    encode: Callable[[Any], Any]
    decode: Read
    attribute: str = ""
    build: Callable[[tuple[Any, ...]], Any] = tuple
    key: str = ""


def _lists(row: type[Any], attribute: str = "", build: Callable[[tuple[Any, ...]], Any] = tuple, key: str = "") -> Kind:
    """Return the kind whose rows are lists of their fields."""
    return Kind(attrgetter(*get_type_hints(row)), _list_reader(row), attribute, build, key)


def _objects(row: type[Any], attribute: str, build: Callable[[tuple[Any, ...]], Any] = tuple) -> Kind:
    """Return the kind whose rows are objects of their fields, by name."""
    readers = _readers(row)
    return Kind(
        lambda value: {name: getattr(value, name) for name in readers},
        lambda values: row(**{name: read(values[name]) for name, read in readers.items()}),
        attribute,
        build,
    )


def _single(rows: tuple[Any, ...]) -> Any:
    if len(rows) != 1:
        raise ValueError("settings must be exactly one row")
    return rows[0]


def _by_digest(rows: tuple[ShareLinkState, ...]) -> dict[str, ShareLinkState]:
    return {row.digest: row for row in rows}


def _by_code(rows: tuple[BlockedCountry, ...]) -> dict[str, BlockedCountry]:
    return {row.country_code: row for row in rows}


KINDS: Mapping[str, Kind] = {
    Segment.SETTINGS: _objects(PolicySettings, "settings", _single),
    Segment.DOMAINS: _lists(Domain, "domains", DomainTable),
    Segment.ALLOWED_NETWORKS: _lists(AllowedNetwork, build=NetworkTable),
    Segment.BLOCKED_COUNTRIES: _lists(BlockedCountry, "blocked_countries", _by_code),
    Segment.WAF_RULES: _objects(WafRule, "waf"),
    Segment.GROUPS: _lists(GroupState, "groups", GroupTable),
    Segment.ACCESS_RULES: _objects(AccessRule, "access_rules", AccessRuleTable),
    Segment.GRANTS: _lists(Grant, "grants", GrantTable),
    Segment.SHARE_LINKS: _lists(ShareLinkState, "share_links", _by_digest),
    Segment.DEVICE_PASSES: _lists(DevicePass, "device_passes", DevicePassTable),
    Segment.USERS: _lists(UserState, "users", key="id"),
    Segment.GIT_TOKENS: _lists(GitTokenState, "git_tokens", key="digest"),
    Segment.APP_TOKENS: _lists(AppTokenState, "app_tokens", key="digest"),
    Segment.LICENSES: _lists(LicenseState, "licenses", key="digest"),
    Segment.REVOCATIONS: Kind(_text, _text, "revoked_sessions", frozenset),
}
"""Every kind of segment except packed blocked networks. Those without an attribute are part of ``lists``."""
