"""Convert policy rows to the engine's values."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from gatewall.database.prepared import Prepared
from gatewall.engine.access_rules.rules import AccessRule, PathMatch, PathPattern
from gatewall.engine.addresses import IPAddress, NetworkTable, canonical_text, networks_of, parse_network
from gatewall.engine.device_passes import DevicePass
from gatewall.engine.grants import Grant
from gatewall.engine.groups import GroupState
from gatewall.engine.hosts import Access, Domain
from gatewall.engine.lists import AllowedNetwork, BlockedNetwork, IPLists
from gatewall.engine.model import Action
from gatewall.engine.snapshot import BlockedCountry, Segment, ShareLinkState
from gatewall.engine.waf.rules import Category, Operator, Target, Transform, WafRule
from policies import selectors
from policies.access_conditions import WEEKDAYS, minute_of
from policies.exclusions import engine_exclusion
from policies.models import MANUAL, AuthorizedDomain, BlocklistEntry, GeoBlockRule, Group, ShareLink
from policies.models import AccessRule as AccessRuleRow
from policies.models import DevicePass as DevicePassRow
from policies.models import Grant as GrantRow
from policies.models import WafRule as WafRuleRow


def seconds(moment: datetime | None) -> float | None:
    """Return a moment as seconds since the epoch, None without a moment."""
    return None if moment is None else moment.timestamp()


def block_sources() -> list[str]:
    """Return the sources of the blocklist; the query takes one index step per source, regardless of its entries."""
    with connection.cursor() as cursor:
        cursor.execute(_SOURCES)
        return sorted([source for (source,) in cursor.fetchall()])


_SOURCES = (
    "WITH RECURSIVE step (source) AS (SELECT min(source) FROM policies_blocklistentry UNION ALL "
    "SELECT (SELECT min(source) FROM policies_blocklistentry WHERE source > step.source) FROM step "
    "WHERE step.source IS NOT NULL) SELECT source FROM step WHERE source IS NOT NULL"
)
"""Runs at each publication: Django takes longer to build one statement per source than the database to run this."""
_ALLOWED_COLUMNS = ("id", "network", "domain__name", "inspect", "expires_at")
_ALLOWED = Prepared(lambda: selectors.allowed_networks().values_list(*_ALLOWED_COLUMNS))
_DOMAINS = Prepared(
    lambda: AuthorizedDomain.objects.values_list("id", "name", "access", "waf_monitor_until", "identity_headers")
)
_COUNTRIES = Prepared(lambda: GeoBlockRule.objects.values_list("id", "country_code"))
_GROUPS = Prepared(lambda: Group.objects.values_list("id", "name", "all_domains"))
_GROUP_DOMAINS = Prepared(
    lambda: Group.authorized_domains.through.objects.values_list("group_id", "authorizeddomain__name")
)
_WAF_RULES = Prepared(lambda: selectors.waf_rules().filter(enabled=True))
_GRANTS = Prepared(
    lambda: GrantRow.objects.order_by("id").values_list(
        "id", "user_id", "group_id", "domain__name", "path_prefix", "methods", "expires_at"
    )
)
_SHARE_LINKS = Prepared(
    lambda: ShareLink.objects.order_by("id").values_list(
        "id", "digest", "domain__name", "path_prefix", "methods", "expires_at"
    )
)
_DEVICE_PASSES = Prepared(
    lambda: DevicePassRow.objects.order_by("id").values_list(
        "id", "user_id", "domain__name", "address", "program", "expires_at"
    )
)
_parsed = lru_cache(maxsize=1024)(parse_network)
"""Cached, because few networks of a list change at once, and parsing takes half of the time of compiling an entry."""


def blocked_networks(source: str) -> Iterator[BlockedNetwork]:
    """Yield the blocklist entries of one source; there may be a million."""
    return _blocked(BlocklistEntry.objects.filter(source=source))


def allowed_networks() -> tuple[AllowedNetwork, ...]:
    """Return the allowlist."""
    return _allowed(_ALLOWED())


def lists_about(address: IPAddress) -> IPLists:
    """Return the lists with only the entries that contain this address, looked up by index."""
    networks = [canonical_text(network) for network in networks_of(address)]
    blocked = tuple(_blocked(BlocklistEntry.objects.filter(network__in=networks)))
    allowed = _allowed(selectors.allowed_networks().filter(network__in=networks).values_list(*_ALLOWED_COLUMNS))
    by_hand = [[entry for entry in blocked if entry.by_hand is whose] for whose in (True, False)]
    return IPLists([NetworkTable(entries) for entries in by_hand], NetworkTable(allowed))


def _blocked(rows: QuerySet[BlocklistEntry]) -> Iterator[BlockedNetwork]:
    values = rows.values_list("id", "network", "source", "expires_at")
    for id_, network, source, expires_at in values.iterator():
        yield BlockedNetwork(id_, _parsed(network), source == MANUAL, seconds(expires_at))


def _allowed(rows: Iterable[tuple[Any, ...]]) -> tuple[AllowedNetwork, ...]:
    return tuple(
        AllowedNetwork(id_, parse_network(network), domain, inspect, seconds(expires_at))
        for id_, network, domain, inspect, expires_at in rows
    )


def domains() -> tuple[Domain, ...]:
    """Return the registered domains."""
    return tuple(
        Domain(id_, name, Access(access), seconds(until), tuple(headers))
        for id_, name, access, until, headers in _DOMAINS()
    )


def blocked_countries() -> tuple[BlockedCountry, ...]:
    """Return the blocked countries."""
    return tuple(BlockedCountry(*row) for row in _COUNTRIES())


def groups() -> tuple[GroupState, ...]:
    """Return the groups with their scopes."""
    names: defaultdict[int, set[str]] = defaultdict(set)
    for group_id, name in _GROUP_DOMAINS():
        names[group_id].add(name)
    return tuple(GroupState(*row, domains=frozenset(names[row[0]])) for row in _GROUPS())


def waf_rules() -> tuple[WafRule, ...]:
    """Return the enabled WAF rules by priority."""
    return tuple(engine_rule(row) for row in _WAF_RULES())


def engine_rule(row: WafRuleRow) -> WafRule:
    """Return a rule as an engine value. Raises ValueError if the row is not valid for the engine."""
    return WafRule(
        id=row.pk,
        name=row.name,
        pattern=row.pattern,
        operator=Operator(row.operator),
        targets=tuple(Target(target) for target in row.targets),
        transforms=tuple(Transform(transform) for transform in row.transforms),
        category=Category(row.category),
        score=row.score,
        action=Action(row.action),
        domain=row.domain.name if row.domain else None,
        path_prefix=row.path_prefix,
        exclusions=tuple(map(engine_exclusion, row.exclusions)),
        builtin=row.builtin,
    )


def access_rules() -> tuple[AccessRule, ...]:
    """Return the enabled access rules in their order."""
    return tuple(engine_access_rule(row) for row in selectors.access_rules().filter(enabled=True))


def engine_access_rule(row: AccessRuleRow) -> AccessRule:
    """Return an access rule as an engine value. Raises ValueError if the row is not valid for the engine."""
    return AccessRule(
        id=row.pk,
        name=row.name,
        access=Access(row.access),
        domains=frozenset(domain.name for domain in row.domains.all()),
        paths=tuple(PathPattern(PathMatch(path["match"]), path["value"]) for path in row.paths),
        methods=frozenset(row.methods),
        networks=tuple(map(parse_network, row.networks)),
        countries=frozenset(row.countries),
        asns=frozenset(row.asns),
        weekdays=frozenset(WEEKDAYS.index(day) + 1 for day in row.weekdays),
        start_minute=minute_of(row.from_time),
        end_minute=minute_of(row.until_time),
        time_zone=row.time_zone,
        groups=frozenset(group.pk for group in row.groups.all()),
        users=frozenset(user.pk for user in row.users.all()),
        credential_kinds=frozenset(row.credential_kinds),
        rate_per_minute=row.rate_per_minute,
        app_token_header=row.app_token_header,
        expires_at=seconds(row.expires_at),
    )


def grants() -> tuple[Grant, ...]:
    """Return the grants."""
    return tuple(
        Grant(id_, user_id, group_id, domain, prefix, frozenset(methods), seconds(expires_at))
        for id_, user_id, group_id, domain, prefix, methods, expires_at in _GRANTS()
    )


def share_links() -> tuple[ShareLinkState, ...]:
    """Return the share links."""
    return tuple(
        ShareLinkState(id_, digest, domain, prefix, frozenset(methods), seconds(expires_at))
        for id_, digest, domain, prefix, methods, expires_at in _SHARE_LINKS()
    )


def device_passes() -> tuple[DevicePass, ...]:
    """Return the device passes."""
    return tuple(
        DevicePass(id_, user_id, domain, address, program, seconds(expires_at))
        for id_, user_id, domain, address, program, expires_at in _DEVICE_PASSES()
    )


SEGMENTS: Mapping[str, Callable[[], Iterable[Any]]] = {
    Segment.DOMAINS: domains,
    Segment.ALLOWED_NETWORKS: allowed_networks,
    Segment.BLOCKED_COUNTRIES: blocked_countries,
    Segment.WAF_RULES: waf_rules,
    Segment.GROUPS: groups,
    Segment.ACCESS_RULES: access_rules,
    Segment.GRANTS: grants,
    Segment.SHARE_LINKS: share_links,
    Segment.DEVICE_PASSES: device_passes,
}
"""The rows of each segment as engine values; for the blocklist see ``blocked_networks``."""
