"""Serializers of IP lists, domains, countries and subscriptions, and the fields that other policy resources share."""

from datetime import datetime
from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from audit.figures.used_resources import HitsOutput, LastHitOutput
from gatewall.api.filters import ListFilters, at_or_after, before, flag, one_of, text, whole_number
from gatewall.api.serializers import FlagField, MomentField, StrictInput, TextField, WholeNumberField
from gatewall.engine.hosts import Access
from gatewall.engine.identity_headers import KNOWN_HEADERS
from policies import validators
from policies.countries import COUNTRY_NAMES
from policies.filters import domain_filter, network_filter
from policies.list_files.parsing import Format
from policies.models import AllowlistEntry, AuthorizedDomain, BlocklistEntry, GeoBlockRule, ListSubscription

_RECORD = ("id", "created_at", "created_by")
FETCHED = ("next_at", "tried_at", "succeeded_at", "failure", "entries")
"""Fields of a list subscription that downloads change."""
_MAX_DOMAINS = 1000


class RegisteredDomainField(TextField):
    """The name of a registered domain; validates to its row."""

    default_error_messages = {"unregistered": _("{name} is not a registered domain")}

    def to_internal_value(self, data: Any) -> AuthorizedDomain:  # type: ignore[override]  # TextField gives the text
        name = validators.canonical_domain(super().to_internal_value(data))
        domain = AuthorizedDomain.objects.filter(name=name).first()
        if domain is None:
            self.fail("unregistered", name=name)
        return domain


class RegisteredDomainsField(serializers.ListField):
    """Names of registered domains; the maximum number is checked before any lookup."""

    def __init__(self, **options: Any) -> None:
        super().__init__(child=RegisteredDomainField(), max_length=_MAX_DOMAINS, **options)

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, list) and len(data) > _MAX_DOMAINS:
            self.fail("max_length", max_length=_MAX_DOMAINS)
        return super().to_internal_value(data)


class ScopeInput(StrictInput):
    """The scope of a user or license, as sent."""

    all_domains = FlagField(required=False)
    authorized_domains = RegisteredDomainsField(required=False)


class NetworkField(TextField):
    """A network in any notation; validates to the canonical form."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=64, **options)

    def to_internal_value(self, data: Any) -> str:
        return validators.canonical_network(super().to_internal_value(data))


class BlocklistEntryInput(StrictInput):
    """A blocklist entry as sent."""

    ip = NetworkField(source="network")
    remark = TextField(max_length=500, allow_blank=True, required=False)
    expires_at = MomentField(allow_null=True, required=False)
    force = FlagField(required=False)


class BlocklistEntryOutput(LastHitOutput, serializers.ModelSerializer[BlocklistEntry]):
    """A blocklist entry."""

    ip = serializers.CharField(source="network")

    class Meta:
        model = BlocklistEntry
        fields = (*_RECORD, "ip", "remark", "expires_at", "source", "hits", "last_hit_at")


class BlocklistFilters(ListFilters):
    """Filters of the blocklist."""

    ip = network_filter()
    source = text("source", max_length=64)
    expires_at_after, expires_at_before = at_or_after("expires_at"), before("expires_at")


class AllowlistEntryInput(StrictInput):
    """An allowlist entry as sent."""

    ip = NetworkField(source="network")
    domain = RegisteredDomainField(allow_null=True, required=False)
    inspect = FlagField(required=False)
    remark = TextField(max_length=500, allow_blank=True, required=False)
    expires_at = MomentField(allow_null=True, required=False)
    force = FlagField(required=False)


class AllowlistEntryOutput(LastHitOutput, serializers.ModelSerializer[AllowlistEntry]):
    """An allowlist entry."""

    ip = serializers.CharField(source="network")
    domain = serializers.CharField(source="domain.name", default=None, allow_null=True)

    class Meta:
        model = AllowlistEntry
        fields = (*_RECORD, "ip", "domain", "inspect", "remark", "expires_at", "hits", "last_hit_at")


class AllowlistFilters(ListFilters):
    """Filters of the allowlist."""

    ip = network_filter()
    domain = domain_filter()
    inspect = flag("inspect")
    expires_at_after, expires_at_before = at_or_after("expires_at"), before("expires_at")


class AuthorizedDomainInput(StrictInput):
    """A registered domain as sent."""

    name = TextField(max_length=255)
    access = serializers.ChoiceField(choices=[access.value for access in Access], required=False)
    remark = TextField(max_length=500, allow_blank=True, required=False)
    waf_monitor_until = MomentField(allow_null=True, required=False)
    identity_headers = serializers.ListField(
        child=serializers.ChoiceField(choices=KNOWN_HEADERS), max_length=len(KNOWN_HEADERS), required=False
    )
    force = FlagField(required=False)

    def validate_name(self, name: str) -> str:
        return validators.canonical_domain(name)

    def validate_identity_headers(self, names: list[str]) -> list[str]:
        return list(dict.fromkeys(names))

    def validate_waf_monitor_until(self, until: datetime | None) -> datetime | None:
        return validators.monitoring_end(until)


class AuthorizedDomainOutput(serializers.ModelSerializer[AuthorizedDomain]):
    """A registered domain."""

    identity_headers = serializers.ListField(child=serializers.ChoiceField(choices=KNOWN_HEADERS))

    class Meta:
        model = AuthorizedDomain
        fields = (*_RECORD, "name", "access", "remark", "waf_monitor_until", "identity_headers")


class AuthorizedDomainFilters(ListFilters):
    """Filters of the registered domains."""

    name = text("name", max_length=255, parse=validators.canonical_domain)
    access = one_of("access", Access)
    waf_monitor_until_after = at_or_after("waf_monitor_until")
    waf_monitor_until_before = before("waf_monitor_until")


class GeoBlockRuleInput(StrictInput):
    """A blocked country as sent."""

    country_code = TextField(max_length=64)
    remark = TextField(max_length=500, allow_blank=True, required=False)

    def validate_country_code(self, code: str) -> str:
        return validators.canonical_country(code)


class GeoBlockRuleOutput(HitsOutput, serializers.ModelSerializer[GeoBlockRule]):
    """A blocked country."""

    country_name = serializers.SerializerMethodField()

    class Meta:
        model = GeoBlockRule
        fields = (*_RECORD, "country_code", "country_name", "remark", "hits")

    def get_country_name(self, rule: GeoBlockRule) -> str:
        """Return the English name of the country."""
        return COUNTRY_NAMES[rule.country_code]


class GeoBlockRuleFilters(ListFilters):
    """Filters of the blocked countries."""

    country_code = text("country_code", max_length=64, parse=validators.canonical_country)


class ListSubscriptionInput(StrictInput):
    """A list subscription as sent."""

    name = TextField(max_length=50, validators=[validators.validate_list_name])
    url = TextField(max_length=1000, validators=[validators.validate_list_url])
    format = serializers.ChoiceField(choices=[each.value for each in Format], required=False)
    interval_minutes = WholeNumberField(min_value=15, max_value=43_200, required=False)
    enabled = FlagField(required=False)
    allow_private = FlagField(required=False)
    remark = TextField(max_length=500, allow_blank=True, required=False)


class ListSubscriptionOutput(serializers.ModelSerializer[ListSubscription]):
    """A list subscription, and the result of the last download."""

    class Meta:
        model = ListSubscription
        fields = (*_RECORD, *ListSubscriptionInput().fields, *FETCHED)


class ListSubscriptionFilters(ListFilters):
    """Filters of the list subscriptions."""

    name = text("name", max_length=50)
    url = text("url", max_length=1000)
    format = one_of("format", Format)
    interval_minutes = whole_number("interval_minutes", least=15, most=43_200)
    enabled = flag("enabled")
    allow_private = flag("allow_private")
    succeeded_at_after, succeeded_at_before = at_or_after("succeeded_at"), before("succeeded_at")
