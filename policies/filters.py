"""Filters of rows by network, registered domain and decision; filter sets are defined next to the serializers."""

import uuid
from ipaddress import IPv4Network, IPv6Network
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet

from gatewall.api.filters import ValueFilter
from gatewall.engine.addresses import canonical_text, parse_network
from policies.validators import canonical_domain, canonical_network

_MAX_FOUND = 10_000
"""Maximum number of IPv6 networks listed in one statement."""
_MAX_LISTED_BITS = 8
"""If a network has at most this many host bits, all of its subnets are listed, so that the query uses an index."""
_EVERYWHERE = "null"
"""The value of ``domain`` that selects rows for every host."""


class _NetworkFilter(ValueFilter):
    """Select entries that overlap an address or network."""

    def filter(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        """Return the entries that overlap the network. Raises ValidationError if too many IPv6 entries match."""
        if value is None:
            return qs
        network = parse_network(value)
        around = [canonical_text(network.supernet(new_prefix=length)) for length in range(network.prefixlen + 1)]
        if network.max_prefixlen - network.prefixlen <= _MAX_LISTED_BITS:
            return qs.filter(network__in=[*around, *_all_within(network)])
        within = _within_v4(network) if isinstance(network, IPv4Network) else self._within_v6(qs, network)
        return qs.filter(Q(network__in=around) | within)

    def _within_v6(self, rows: QuerySet[Any], network: IPv6Network) -> Q:
        """Return a condition that lists the IPv6 entries within the network: text prefixes alone are not exact."""
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
    """Return the texts of all smaller networks in the network: 510 for an IPv4 /24."""
    lengths = range(network.prefixlen + 1, network.max_prefixlen + 1)
    return [canonical_text(each) for length in lengths for each in network.subnets(new_prefix=length)]


def _within_v4(network: IPv4Network) -> Q:
    """Return a condition for IPv4 entries within the network, on the prefix of their text."""
    octets = -(-network.prefixlen // 8)  # those that the prefix fixes, the last one possibly only in part
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


def network_filter() -> ValueFilter:
    """Return a filter that selects the entries that overlap an address or network."""
    return _NetworkFilter("network", parse=canonical_network, openapi={"type": "string", "maxLength": 64})


class _DomainFilter(ValueFilter):
    def filter(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        relation = self.field_name.removesuffix("__name")
        return qs.filter(**{f"{relation}__isnull": True}) if value == _EVERYWHERE else super().filter(qs, value)


def domain_filter(relation: str = "domain") -> ValueFilter:
    """Return a filter by the name of a registered domain; ``null`` selects the rows for every host."""
    return _DomainFilter(f"{relation}__name", parse=_domain_name, openapi={"type": "string", "maxLength": 255})


def _domain_name(name: str) -> str:
    return name if name == _EVERYWHERE else canonical_domain(name)


def decision_id(column: str) -> ValueFilter:
    """Return a filter by a decision id."""
    return ValueFilter(column, parse=_uuid, openapi={"type": "string", "format": "uuid"})


def _uuid(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except ValueError:
        raise ValidationError("a decision id is a UUID", code="invalid") from None
