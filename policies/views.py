"""API of the policy resources."""

from typing import Any

from django.db.models import Case, F, IntegerField, Model, QuerySet, Value, When
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from audit.figures.used_resources import UsedResource
from gatewall.api.operations import operation
from gatewall.api.resources import Resource
from gatewall.api.serializers import Warned
from gatewall.api.views import ApiView
from gatewall.engine.hosts import Access
from gatewall.engine.model import Action
from gatewall.engine.snapshot import DomainsMode
from gatewall.engine.waf.rules import Severity
from gatewall.policy import revisions, system_settings
from policies import geo, seen_hosts, selectors, services
from policies.filters import (
    AllowlistFilters,
    AuthorizedDomainFilters,
    BlocklistFilters,
    GeoBlockRuleFilters,
    ListSubscriptionFilters,
    WafRuleFilters,
)
from policies.lists import subscriptions
from policies.models import AllowlistEntry, AuthorizedDomain, BlocklistEntry, GeoBlockRule, ListSubscription, WafRule
from policies.rules import scanned_apart
from policies.rules.batch import change_waf_rules
from policies.serializers import (
    FETCHED,
    AllowlistEntryInput,
    AllowlistEntryOutput,
    AuthorizedDomainInput,
    AuthorizedDomainOutput,
    BlocklistEntryInput,
    BlocklistEntryOutput,
    GeoBlockRuleInput,
    GeoBlockRuleOutput,
    ListSubscriptionInput,
    ListSubscriptionOutput,
    WafRuleBatchInput,
    WafRuleBatchOutput,
    WafRuleInput,
    WafRuleOutput,
)

_FORCE = {"force": {"type": "boolean", "default": False}}
_SEVERITY_RANKS = [When(severity=each.value, then=Value(rank)) for rank, each in enumerate(Severity)]


class Blocklist(UsedResource):
    """Networks that are refused."""

    input, output = BlocklistEntryInput, BlocklistEntryOutput
    use_kind, volatile = "ip-black-list", ("hits", "last_hit_at")
    rows_are_policy = True
    filterset_class = BlocklistFilters
    ordering_fields = ("id", "created_at", "expires_at", "ip")
    order_by = {"ip": F("network")}
    search_fields = ("network", "remark")

    def get_queryset(self) -> QuerySet[BlocklistEntry]:
        return selectors.blocked_networks()

    def create_row(self, **values: Any) -> BlocklistEntry:
        return services.block_network(actor=self.actor, caller=self.caller, **values)

    def change_row(self, row: BlocklistEntry, **values: Any) -> BlocklistEntry:
        return services.change_blocked_network(row, actor=self.actor, caller=self.caller, **values)

    def delete_row(self, row: BlocklistEntry) -> None:
        services.unblock_network(row, actor=self.actor)


class Allowlist(UsedResource):
    """Networks that need no credential."""

    delete_parameters = _FORCE
    input, output = AllowlistEntryInput, AllowlistEntryOutput
    use_kind, volatile = "ip-white-list", ("hits", "last_hit_at")
    filterset_class = AllowlistFilters
    ordering_fields = ("id", "created_at", "expires_at", "ip")
    order_by = {"ip": F("network")}
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

    delete_parameters = _FORCE
    input, output = AuthorizedDomainInput, AuthorizedDomainOutput
    output_on_create = Warned
    filterset_class = AuthorizedDomainFilters
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
        warnings = [f"authorized_domains_mode is now {DomainsMode.REGISTERED.value}: other hosts are refused"]
        if refused := seen_hosts.warning(timezone.now()):
            warnings.append(refused)
        return {**super().created(row), "warnings": warnings}

    def change_row(self, row: AuthorizedDomain, **values: Any) -> AuthorizedDomain:
        return services.change_domain(row, actor=self.actor, caller=self.caller, **values)

    def delete_row(self, row: AuthorizedDomain) -> None:
        services.remove_domain(row, actor=self.actor, caller=self.caller, force=self.force)

    def warning_after_delete(self) -> str:
        return selectors.domains_warning()


class GeoBlockRules(UsedResource):
    """Countries that are refused."""

    input, output = GeoBlockRuleInput, GeoBlockRuleOutput
    output_on_create = Warned
    use_kind, volatile = "geo-block-rules", ("hits",)
    filterset_class = GeoBlockRuleFilters
    ordering_fields = ("id", "created_at", "country_code")
    search_fields = ("country_code", "remark")
    http_method_names = ["get", "head", "options", "post", "delete"]

    def get_queryset(self) -> QuerySet[GeoBlockRule]:
        return selectors.blocked_countries()

    def create_row(self, **values: Any) -> GeoBlockRule:
        return services.block_country(actor=self.actor, **values)

    def created(self, row: Model) -> dict[str, Any]:
        if geo.describe(geo.in_use()):
            return super().created(row)
        return {**super().created(row), "warnings": ["there is no geo database: no country is known (GEOIP_DATABASE)"]}

    def delete_row(self, row: GeoBlockRule) -> None:
        services.unblock_country(row, actor=self.actor)


class WafRules(UsedResource):
    """Patterns that are looked for in requests."""

    input, output = WafRuleInput, WafRuleOutput
    output_on_create = output_on_change = Warned
    use_kind, volatile = "waf-rules", ("hits", "last_hit_at")
    filterset_class = WafRuleFilters
    ordering_fields = ("id", "created_at", "priority", "name", "category", "severity", "score")
    order_by = {"severity": Case(*_SEVERITY_RANKS, output_field=IntegerField())}
    search_fields = ("name", "pattern", "description")

    def get_queryset(self) -> QuerySet[WafRule]:
        return selectors.waf_rules()

    def create_row(self, **values: Any) -> WafRule:
        return services.create_waf_rule(actor=self.actor, **values)

    def created(self, row: Model) -> dict[str, Any]:
        return {**super().created(row), **_warned(row)}

    def change_row(self, row: WafRule, **values: Any) -> WafRule:
        return services.change_waf_rule(row, actor=self.actor, **values)

    def changed(self, row: WafRule) -> dict[str, Any]:
        return {**super().changed(row), **_warned(row)}

    def delete_row(self, row: WafRule) -> None:
        services.delete_waf_rule(row, actor=self.actor)


def _warned(row: Any) -> dict[str, Any]:
    warnings = scanned_apart.warnings_about(row)
    return {"warnings": warnings} if warnings else {}


class ListSubscriptions(Resource):
    """Block lists that are fetched again and again."""

    input, output = ListSubscriptionInput, ListSubscriptionOutput
    volatile = FETCHED
    filterset_class = ListSubscriptionFilters
    ordering_fields = ("id", "created_at", "name", "next_at", "succeeded_at", "entries")
    search_fields = ("name", "url", "remark")

    def get_queryset(self) -> QuerySet[ListSubscription]:
        return selectors.list_subscriptions()

    def create_row(self, **values: Any) -> ListSubscription:
        return subscriptions.subscribe(actor=self.actor, **values)

    def change_row(self, row: ListSubscription, **values: Any) -> ListSubscription:
        return subscriptions.change_subscription(row, actor=self.actor, **values)

    def delete_row(self, row: ListSubscription) -> None:
        subscriptions.unsubscribe(row, actor=self.actor)


class WafRuleBatch(ApiView):
    """The rules of a category, all at once."""

    @operation(body=WafRuleBatchInput, answer=WafRuleBatchOutput, refuses={409})
    def post(self, request: Request) -> Response:
        """Switch the rules of a category on or off, or have them block or monitor: all of them or none."""
        form = WafRuleBatchInput(data=request.data)
        form.is_valid(raise_exception=True)
        wanted = dict(form.validated_data)
        category, builtin = wanted.pop("category"), wanted.pop("builtin", None)
        if "action" in wanted:
            wanted["action"] = Action(wanted["action"])
        chosen = selectors.waf_rules_of(category, builtin=builtin)
        changed = change_waf_rules(chosen, actor=str(request.user), **wanted)
        body = {"category": category, "matched": chosen.count(), "changed": changed}
        return Response({**body, "policy_pending": True} if revisions.publication_is_pending() else body)
