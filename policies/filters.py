"""API filters of the policy resources."""

import uuid
from ipaddress import IPv4Network, IPv6Network
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet

from gatewall.api.filters import ListFilters, ValueFilter, at_or_after, before, flag, is_set, one_of, text, whole_number
from gatewall.engine.addresses import canonical_text, parse_network
from gatewall.engine.hosts import Access
from gatewall.engine.model import Action
from gatewall.engine.waf.rules import Category, Operator, Severity
from policies.access_conditions import MAX_RULES
from policies.list_files.parsing import Format
from policies.validators import canonical_country, canonical_domain, canonical_network

_MAX_FOUND = 10_000
"""Maximum number of IPv6 networks listed in one statement."""
_NAMED_BITS = 8
"""For these prefix lengths every subnet is listed, so that an index is used; larger networks are searched."""
EVERYWHERE = "null"
"""The value of ``domain`` that selects rows for every host."""


class NetworkFilter(ValueFilter):
    """Select entries that overlap an address or network."""

    def filter(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        """Return the entries that overlap the network. Raises ValidationError if too many IPv6 entries match."""
        if value is None:
            return qs
        network = parse_network(value)
        around = [canonical_text(network.supernet(new_prefix=length)) for length in range(network.prefixlen + 1)]
        if network.max_prefixlen - network.prefixlen <= _NAMED_BITS:
            return qs.filter(network__in=[*around, *_all_within(network)])
        within = _within_v4(network) if isinstance(network, IPv4Network) else self._within_v6(qs, network)
        return qs.filter(Q(network__in=around) | within)

    def _within_v6(self, rows: QuerySet[Any], network: IPv6Network) -> Q:
        """Return a condition for IPv6 entries within the network, by listing them: prefixes of texts do not suffice."""
        whole = network.network_address.exploded.split(":")[: network.prefixlen // 16]
        texts = [f"{int(group, 16):x}:" for group in whole]
        leading = "".join(texts[: texts.index("0:") if "0:" in texts else len(texts)])
        candidates = rows.filter(network__startswith=leading, network__contains=":").order_by()
        matching = []
        for name in candidates.values_list("network", flat=True).distinct().iterator(chunk_size=2000):
            if IPv6Network(name).subnet_of(network):  # only IPv6 texts contain a colon
                matching.append(name)
            if len(matching) > _MAX_FOUND:
                raise ValidationError({"ip": ValidationError(f"over {_MAX_FOUND} entries: name a smaller network")})
        return Q(network__in=matching)


def _all_within(network: IPv4Network | IPv6Network) -> list[str]:
    """Return the texts of all smaller networks within the network: 510 for an IPv4 /24."""
    lengths = range(network.prefixlen + 1, network.max_prefixlen + 1)
    return [canonical_text(each) for length in lengths for each in network.subnets(new_prefix=length)]


def _within_v4(network: IPv4Network) -> Q:
    """Return a condition on the text prefix of the network's IPv4 addresses."""
    octets = -(-network.prefixlen // 8)  # those the prefix fixes, the last one possibly in part
    if octets == 0:
        return ~Q(network__contains=":")
    condition = Q()
    for part in network.subnets(new_prefix=8 * octets):
        head = ".".join(str(part.network_address).split(".")[:octets])
        if octets == 4:
            condition |= Q(network=head) | Q(network__startswith=f"{head}/")
        else:
            condition |= Q(network__startswith=f"{head}.")
    return condition


def _domain() -> ValueFilter:
    return _DomainFilter("domain__name", parse=_domain_name, openapi={"type": "string", "maxLength": 255})


def _domain_name(name: str) -> str:
    return name if name == EVERYWHERE else canonical_domain(name)


class _DomainFilter(ValueFilter):
    def filter(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        return qs.filter(domain__isnull=True) if value == EVERYWHERE else super().filter(qs, value)


class _DomainsFilter(ValueFilter):
    def filter(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        return qs.filter(domains__isnull=True) if value == EVERYWHERE else super().filter(qs, value)


def _ip() -> ValueFilter:
    return NetworkFilter("network", parse=canonical_network, openapi={"type": "string", "maxLength": 64})


class BlocklistFilters(ListFilters):
    """Filters of the blocklist."""

    ip = _ip()
    source = text("source", max_length=64)
    expires_at_after, expires_at_before = at_or_after("expires_at"), before("expires_at")


class AllowlistFilters(ListFilters):
    """Filters of the allowlist."""

    ip = _ip()
    domain = _domain()
    inspect = flag("inspect")
    expires_at_after, expires_at_before = at_or_after("expires_at"), before("expires_at")


class AuthorizedDomainFilters(ListFilters):
    """Filters of the registered domains."""

    name = text("name", max_length=255, parse=canonical_domain)
    access = one_of("access", Access)
    waf_monitor_until_after = at_or_after("waf_monitor_until")
    waf_monitor_until_before = before("waf_monitor_until")


class GroupFilters(ListFilters):
    """Filters of the groups."""

    name = text("name", max_length=64)
    all_domains = flag("all_domains")
    authorized_domain = text("authorized_domains__name", max_length=255, parse=canonical_domain)
    member_count = whole_number("member_count", most=1_000_000)


class GeoBlockRuleFilters(ListFilters):
    """Filters of the blocked countries."""

    country_code = text("country_code", max_length=64, parse=canonical_country)


class AccessRuleFilters(ListFilters):
    """Filters of the access rules."""

    position = whole_number("position", least=1, most=MAX_RULES)
    name = text("name", max_length=100)
    enabled = flag("enabled")
    access = one_of("access", Access)
    domain = _DomainsFilter("domains__name", parse=_domain_name, openapi={"type": "string", "maxLength": 255})
    group = text("groups__name", max_length=64)
    user = text("users__username", max_length=64, lookup="iexact")
    rate_per_minute = whole_number("rate_per_minute", most=1_000_000)
    app_token_header = text("app_token_header", max_length=64)
    time_zone = text("time_zone", max_length=64)
    expires_at_after, expires_at_before = at_or_after("expires_at"), before("expires_at")


def decision_id(column: str) -> ValueFilter:
    """Return a filter by a decision id."""
    return ValueFilter(column, parse=_uuid, openapi={"type": "string", "format": "uuid"})


def _uuid(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except ValueError:
        raise ValidationError("a decision id is a UUID", code="invalid") from None


class GrantFilters(ListFilters):
    """Filters of the grants."""

    user = text("user__username", max_length=64, lookup="iexact")
    group = text("group__name", max_length=64)
    domain = text("domain__name", max_length=255, parse=canonical_domain)
    path_prefix = text("path_prefix", max_length=500)
    decision_id = decision_id("decision_id")
    expires_at_after, expires_at_before = at_or_after("expires_at"), before("expires_at")


class ShareLinkFilters(ListFilters):
    """Filters of the share links."""

    name, prefix = text("name", max_length=100), text("prefix", max_length=16)
    domain = text("domain__name", max_length=255, parse=canonical_domain)
    path_prefix = text("path_prefix", max_length=500)
    expires_at_after, expires_at_before = at_or_after("expires_at"), before("expires_at")


class DevicePassFilters(ListFilters):
    """Filters of the device passes of a user."""

    domain = text("domain__name", max_length=255, parse=canonical_domain)
    program = text("program", max_length=60)
    expires_at_after, expires_at_before = at_or_after("expires_at"), before("expires_at")


class WafRuleFilters(ListFilters):
    """Filters of the WAF rules."""

    name = text("name", max_length=100)
    operator = one_of("operator", Operator)
    category = one_of("category", Category)
    severity = one_of("severity", Severity)
    score = whole_number("score", least=1, most=10)
    action = one_of("action", Action)
    priority = whole_number("priority", most=1_000_000)
    enabled = flag("enabled")
    builtin = is_set("builtin_key")
    domain = _domain()
    path_prefix = text("path_prefix", max_length=500)


class ListSubscriptionFilters(ListFilters):
    """Filters of the lists that are fetched."""

    name = text("name", max_length=50)
    url = text("url", max_length=1000)
    format = one_of("format", Format)
    interval_minutes = whole_number("interval_minutes", least=15, most=43_200)
    enabled = flag("enabled")
    allow_private = flag("allow_private")
    succeeded_at_after, succeeded_at_before = at_or_after("succeeded_at"), before("succeeded_at")
