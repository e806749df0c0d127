"""API views of the policy resources."""

from datetime import datetime, timedelta
from typing import Any, ClassVar

from django.db.models import Case, F, IntegerField, Model, QuerySet, Value, When
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from audit.figures import statistics
from audit.figures.statistics import Window
from audit.figures.used_resources import UsedResource, hits_of
from gatewall.api.operations import operation
from gatewall.api.own_origins import public_urls, site_origin
from gatewall.api.resources import Resource
from gatewall.api.scopes import POLICY
from gatewall.api.serializers import Warned
from gatewall.api.views import ApiView
from gatewall.engine.hosts import DomainTable, Host
from gatewall.engine.model import Action
from gatewall.engine.snapshot import DomainsMode
from gatewall.engine.waf.rules import Severity
from gatewall.kernel.cookie_domain import host_of
from gatewall.policy import revisions, system_settings
from gatewall.policy.resources import PolicyResource, Write
from policies import cookie_reach, geo, policy_source, resources, selectors, serializers
from policies.access_rules import serializers as access_rules
from policies.access_rules.warnings import warnings_about as warnings_about_access_rule
from policies.grants import serializers as grants
from policies.grants import share_links
from policies.groups import serializers as groups
from policies.models import AccessRule, AuthorizedDomain, WafRule
from policies.rules import serializers as waf_rules
from policies.rules.batch import change_waf_rules
from policies.rules.broad_patterns import warnings_about

_NAMED = 20
_FORCE = {"force": {"type": "boolean", "default": False}}
_SEVERITY_RANKS = [When(severity=each.value, then=Value(rank)) for rank, each in enumerate(Severity)]


class _PolicyView(Resource):
    """API view of a policy resource: its descriptor provides the rows, and the services that write them."""

    area = POLICY
    resource: ClassVar[PolicyResource]

    def get_queryset(self) -> QuerySet[Any]:
        return self.resource.rows()

    def create_row(self, *, force: bool = False, **values: Any) -> Model:
        row: Model = self._write(Write.CREATE, force=force, **values)
        return row

    def change_row(self, row: Any, *, force: bool = False, **values: Any) -> Any:
        return self._write(Write.UPDATE, row, force=force, **values)

    def delete_row(self, row: Any) -> None:
        self._write(Write.DELETE, row, force=Write.DELETE in self.resource.guards and self.force)

    def _write(self, way: Write, *row: Any, force: bool, **values: Any) -> Any:
        return self.resource.write(way, *row, actor=self.actor, caller=self.caller, force=force, **values)


class Blocklist(_PolicyView, UsedResource):
    """Blocked networks."""

    nouns = ("a blocklist entry", "the blocklist")
    resource, use_kind = resources.BLOCKLIST, resources.BLOCKLIST.logged_as
    input, output = serializers.BlocklistEntryInput, serializers.BlocklistEntryOutput
    rows_are_policy = True
    filterset_class = serializers.BlocklistFilters
    ordering_fields = ("id", "created_at", "expires_at", "ip")
    order_by = {"ip": F("network")}
    search_fields = ("network", "remark")


class Allowlist(_PolicyView, UsedResource):
    """Networks that need no credential."""

    nouns = ("an allowlist entry", "the allowlist")
    resource, use_kind = resources.ALLOWLIST, resources.ALLOWLIST.logged_as
    delete_parameters = _FORCE
    input, output = serializers.AllowlistEntryInput, serializers.AllowlistEntryOutput
    filterset_class = serializers.AllowlistFilters
    ordering_fields = ("id", "created_at", "expires_at", "ip")
    order_by = {"ip": F("network")}
    search_fields = ("network", "remark", "domain__name")


class AuthorizedDomains(_PolicyView):
    """Hosts that visitors may request."""

    nouns = ("a domain", "domains")
    resource = resources.DOMAINS
    delete_parameters = _FORCE
    input, output = serializers.AuthorizedDomainInput, serializers.AuthorizedDomainOutput
    output_on_create = output_on_change = Warned
    filterset_class = serializers.AuthorizedDomainFilters
    ordering_fields = ("id", "created_at", "name")
    search_fields = ("name", "remark")

    def create_row(self, **values: Any) -> Model:
        self._mode_before = system_settings.current().authorized_domains_mode
        return super().create_row(**values)

    def created(self, row: Any) -> dict[str, Any]:
        warnings: list[str | None] = []
        if system_settings.current().authorized_domains_mode != self._mode_before:
            warnings.append(f"authorized_domains_mode is now {DomainsMode.REGISTERED.value}: other hosts are refused")
            warnings.append(_refused_hosts(timezone.now()))
        return _warned(super().created(row), *warnings, cookie_reach.warning_about(row))

    def changed(self, row: AuthorizedDomain) -> dict[str, Any]:
        return _warned(super().changed(row), cookie_reach.warning_about(row))

    def warning_after_delete(self) -> str:
        return selectors.domains_warning()


def _refused_hosts(at: datetime) -> str | None:
    """Return a warning that names the unregistered hosts of the last hour, None if there are none.

    The most frequent hosts come first, and rare ones may be missing. The hosts of the guard page are not included.
    """
    domains, own = DomainTable(policy_source.domains()), {host_of(url) for url in public_urls()}
    seen = statistics.summaries(Window.until(at, timedelta(hours=1)), ["host"])["host"]
    hosts = [name for name, _number in seen.top() if name not in own and domains.match(Host(name)) is None]
    if not hosts:
        return None
    others = f" and {len(hosts) - _NAMED} others" if len(hosts) > _NAMED else ""
    return f"hosts that were requested in the last hour and are now refused: {', '.join(hosts[:_NAMED])}{others}"


class GeoBlockRules(_PolicyView, UsedResource):
    """Blocked countries."""

    nouns = ("a blocked country", "blocked countries")
    resource, use_kind = resources.COUNTRIES, resources.COUNTRIES.logged_as
    input, output = serializers.GeoBlockRuleInput, serializers.GeoBlockRuleOutput
    output_on_create = Warned
    filterset_class = serializers.GeoBlockRuleFilters
    ordering_fields = ("id", "created_at", "country_code")
    search_fields = ("country_code", "remark")
    http_method_names = ["get", "head", "options", "post", "delete"]

    def created(self, row: Model) -> dict[str, Any]:
        if geo.describe(geo.in_use()):
            return super().created(row)
        return {**super().created(row), "warnings": ["there is no geo database: no country is known (GEOIP_DATABASE)"]}


class WafRules(_PolicyView, UsedResource):
    """Patterns that are searched in requests."""

    nouns = ("a WAF rule", "WAF rules")
    resource, use_kind = resources.WAF_RULES, resources.WAF_RULES.logged_as
    input, output = waf_rules.WafRuleInput, waf_rules.WafRuleOutput
    output_on_create = output_on_change = Warned
    filterset_class = waf_rules.WafRuleFilters
    ordering_fields = ("id", "created_at", "priority", "name", "category", "severity", "score", "hits")
    order_by = {
        "severity": Case(*_SEVERITY_RANKS, output_field=IntegerField()),
        "hits": hits_of(resources.WAF_RULES.logged_as),
    }
    search_fields = ("name", "pattern", "description")

    def created(self, row: Any) -> dict[str, Any]:
        return _warned(super().created(row), *warnings_about(row))

    def changed(self, row: WafRule) -> dict[str, Any]:
        return _warned(super().changed(row), *warnings_about(row))


def _warned(shown: dict[str, Any], *warnings: str | None) -> dict[str, Any]:
    texts = [each for each in warnings if each]
    return {**shown, "warnings": texts} if texts else shown


class Groups(_PolicyView):
    """Groups of users; the members may enter the domains of the group."""

    nouns = ("a group", "groups")
    resource = resources.GROUPS
    input, output = groups.GroupInput, groups.GroupOutput
    volatile = ("member_count",)
    filterset_class = groups.GroupFilters
    ordering_fields = ("id", "created_at", "name", "member_count")
    search_fields = ("name", "description")


class AccessRules(_PolicyView, UsedResource):
    """Conditions on a request and its subject, and the access that the first matching rule asks for."""

    nouns = ("an access rule", "access rules")
    resource, use_kind = resources.ACCESS_RULES, resources.ACCESS_RULES.logged_as
    delete_parameters = _FORCE
    input, output = access_rules.AccessRuleInput, access_rules.AccessRuleOutput
    output_on_create = output_on_change = Warned
    filterset_class = access_rules.AccessRuleFilters
    ordering_fields = ("id", "created_at", "position", "name")
    search_fields = ("name", "remark")

    def created(self, row: Any) -> dict[str, Any]:
        return _warned(super().created(row), *warnings_about_access_rule(row))

    def changed(self, row: AccessRule) -> dict[str, Any]:
        return _warned(super().changed(row), *warnings_about_access_rule(row))


class Grants(_PolicyView, UsedResource):
    """Temporary access for users and groups, in addition to scope and access rules."""

    nouns = ("a grant", "grants")
    resource, use_kind = resources.GRANTS, resources.GRANTS.logged_as
    input, output = grants.GrantInput, grants.GrantOutput
    filterset_class = grants.GrantFilters
    ordering_fields = ("id", "created_at", "expires_at")
    search_fields = ("user__username", "group__name", "domain__name", "reason")


class ShareLinks(_PolicyView, UsedResource):
    """Links that give guests temporary access to a domain, in the first browsers that open them. Shown once."""

    nouns = ("a share link", "share links")
    resource, use_kind = resources.SHARE_LINKS, resources.SHARE_LINKS.logged_as
    input, output, output_on_create = grants.ShareLinkInput, grants.ShareLinkOutput, grants.SharedLink
    volatile = ("uses", "hits", "last_used_at", "last_used_by")
    filterset_class = grants.ShareLinkFilters
    ordering_fields = ("id", "created_at", "name", "expires_at")
    search_fields = ("name", "prefix", "domain__name")
    _link: str

    def create_row(self, **values: Any) -> Model:
        link, token = share_links.issue_share_link(actor=self.actor, **values)
        self._link = share_links.url_of(token, site_origin(self.request, link.domain.name))
        return link

    def created(self, row: Model) -> dict[str, Any]:
        return {**super().created(row), "link": self._link}


class ListSubscriptions(_PolicyView):
    """Published block lists that are fetched regularly."""

    nouns = ("a subscribed list", "subscribed lists")
    resource = resources.SUBSCRIPTIONS
    input, output = serializers.ListSubscriptionInput, serializers.ListSubscriptionOutput
    volatile = serializers.FETCHED
    filterset_class = serializers.ListSubscriptionFilters
    ordering_fields = ("id", "created_at", "name", "next_at", "succeeded_at", "entries")
    search_fields = ("name", "url", "remark")


RESOURCES = (
    *(Blocklist, Allowlist, WafRules, AccessRules, Grants, ShareLinks, AuthorizedDomains, Groups),
    *(ListSubscriptions, GeoBlockRules),
)


class WafRuleBatch(ApiView):
    """Changes to all WAF rules of a category."""

    area = POLICY

    @operation(body=waf_rules.WafRuleBatchInput, answer=waf_rules.WafRuleBatchOutput, refuses={409})
    def post(self, request: Request) -> Response:
        """Enable or disable the rules of a category, or set their action: all of them or none."""
        values = self.body(waf_rules.WafRuleBatchInput)
        category, builtin = values.pop("category"), values.pop("builtin", None)
        if "action" in values:
            values["action"] = Action(values["action"])
        chosen = WafRule.objects.filter(category=category)
        if builtin is not None:
            chosen = chosen.filter(builtin_key__isnull=not builtin)
        changed = change_waf_rules(chosen, actor=str(request.user), **values)
        body = {"category": category, "matched": chosen.count(), "changed": changed}
        return Response({**body, "policy_pending": True} if revisions.publication_is_pending() else body)
