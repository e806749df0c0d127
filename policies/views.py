"""The policy resources over HTTP: parse, one call, answer."""

from typing import Any

from django.conf import settings
from django.db.models import Model, QuerySet

from gatewall import system_settings
from gatewall.api.resources import Resource
from gatewall.engine.hosts import Access
from gatewall.engine.snapshot import DomainsMode
from policies import geo, selectors, services
from policies.models import AllowlistEntry, AuthorizedDomain, BlocklistEntry, GeoBlockRule, WafRule
from policies.serializers import (
    AllowlistEntryInput,
    AllowlistEntryOutput,
    AuthorizedDomainInput,
    AuthorizedDomainOutput,
    BlocklistEntryInput,
    BlocklistEntryOutput,
    GeoBlockRuleInput,
    GeoBlockRuleOutput,
    WafRuleInput,
    WafRuleOutput,
)


class Blocklist(Resource):
    """Networks that are refused."""

    input, output = BlocklistEntryInput, BlocklistEntryOutput
    ordering_fields = ("id", "created_at", "expires_at", "network")
    search_fields = ("network", "remark")

    def get_queryset(self) -> QuerySet[BlocklistEntry]:
        return selectors.blocked_networks()

    def create_row(self, **values: Any) -> BlocklistEntry:
        return services.block_network(actor=self.actor, caller=self.caller, **values)

    def change_row(self, row: BlocklistEntry, **values: Any) -> BlocklistEntry:
        return services.change_blocked_network(row, actor=self.actor, caller=self.caller, **values)

    def delete_row(self, row: BlocklistEntry) -> None:
        services.unblock_network(row, actor=self.actor)


class Allowlist(Resource):
    """Networks that need no credential."""

    input, output = AllowlistEntryInput, AllowlistEntryOutput
    ordering_fields = ("id", "created_at", "expires_at", "network")
    search_fields = ("network", "remark", "domain__name")

    def get_queryset(self) -> QuerySet[AllowlistEntry]:
        return selectors.allowed_networks()

    def create_row(self, *, force: bool = False, **values: Any) -> AllowlistEntry:
        return services.allow_network(actor=self.actor, **values)  # shuts nobody out, so nothing is forced

    def change_row(self, row: AllowlistEntry, **values: Any) -> AllowlistEntry:
        return services.change_allowed_network(row, actor=self.actor, caller=self.caller, **values)

    def delete_row(self, row: AllowlistEntry) -> None:
        services.disallow_network(row, actor=self.actor, caller=self.caller, force=self.force)


class AuthorizedDomains(Resource):
    """Hosts that visitors may ask for."""

    input, output = AuthorizedDomainInput, AuthorizedDomainOutput
    ordering_fields = ("id", "created_at", "name")
    search_fields = ("name", "remark")

    def get_queryset(self) -> QuerySet[AuthorizedDomain]:
        return selectors.authorized_domains()

    def create_row(self, **values: Any) -> AuthorizedDomain:
        self._mode_before = system_settings.current().authorized_domains_mode
        values = {"access": Access.AUTHENTICATED.value, **values}
        return services.register_domain(actor=self.actor, caller=self.caller, **values)

    def created(self, row: Model) -> dict[str, Any]:
        mode = system_settings.current().authorized_domains_mode
        if mode == self._mode_before:
            return super().created(row)
        warning = f"authorized_domains_mode is now {DomainsMode.REGISTERED.value}: other hosts are refused"
        return {**super().created(row), "warnings": [warning]}

    def change_row(self, row: AuthorizedDomain, **values: Any) -> AuthorizedDomain:
        return services.change_domain(row, actor=self.actor, caller=self.caller, **values)

    def delete_row(self, row: AuthorizedDomain) -> None:
        services.remove_domain(row, actor=self.actor, caller=self.caller, force=self.force)


class GeoBlockRules(Resource):
    """Countries that are refused."""

    input, output = GeoBlockRuleInput, GeoBlockRuleOutput
    ordering_fields = ("id", "created_at", "country_code")
    search_fields = ("country_code", "remark")
    http_method_names = ["get", "head", "options", "post", "delete"]

    def get_queryset(self) -> QuerySet[GeoBlockRule]:
        return selectors.blocked_countries()

    def create_row(self, **values: Any) -> GeoBlockRule:
        return services.block_country(actor=self.actor, **values)

    def created(self, row: Model) -> dict[str, Any]:
        if geo.describe(settings.GATEWALL_GEOIP_DATABASE):
            return super().created(row)
        return {**super().created(row), "warnings": ["there is no geo database: no country is known (GEOIP_DATABASE)"]}

    def delete_row(self, row: GeoBlockRule) -> None:
        services.unblock_country(row, actor=self.actor)


class WafRules(Resource):
    """Patterns that are looked for in requests."""

    input, output = WafRuleInput, WafRuleOutput
    ordering_fields = ("id", "created_at", "priority", "name", "category", "severity", "score")
    search_fields = ("name", "pattern", "description")

    def get_queryset(self) -> QuerySet[WafRule]:
        return selectors.waf_rules()

    def create_row(self, **values: Any) -> WafRule:
        return services.create_waf_rule(actor=self.actor, **values)

    def change_row(self, row: WafRule, **values: Any) -> WafRule:
        return services.change_waf_rule(row, actor=self.actor, **values)

    def delete_row(self, row: WafRule) -> None:
        services.delete_waf_rule(row, actor=self.actor)
