"""Descriptors of the policy resources, for API, admin, backtests and console."""

from functools import partial

from django.utils.translation import gettext_lazy as _

from gatewall.api.serializers import StrictInput
from gatewall.engine.hosts import Access
from gatewall.engine.model import SubjectKind
from gatewall.policy.resources import CREATE_OR_UPDATE, PolicyResource, Write
from policies import selectors, serializers, services
from policies.access_rules import services as access_rules
from policies.access_rules.serializers import AccessRuleInput
from policies.grants import device_passes, share_links
from policies.grants import services as grants
from policies.grants.serializers import GrantInput, ShareLinkChange
from policies.groups import services as groups
from policies.groups.serializers import GroupInput
from policies.lists import subscriptions
from policies.models import (
    AccessRule,
    AllowlistEntry,
    AuthorizedDomain,
    BlocklistEntry,
    DevicePass,
    Expectation,
    GeoBlockRule,
    Grant,
    Group,
    ListSubscription,
    ShareLink,
    WafRule,
)
from policies.rules.serializers import WafRuleInput

WAF_RULES = PolicyResource(
    model=WafRule,
    title=_("WAF rule"),
    help_page="how-to/false-positive.md",
    selector=selectors.waf_rules,
    create=services.create_waf_rule,
    update=services.change_waf_rule,
    delete=services.delete_waf_rule,
    forces=CREATE_OR_UPDATE,
    draft=WafRuleInput,
    note="description",
)
BLOCKLIST = PolicyResource(
    model=BlocklistEntry,
    title=_("blocklist entry"),
    help_page="how-to/under-attack.md",
    create=services.block_network,
    update=services.change_blocked_network,
    delete=services.unblock_network,
    guards=CREATE_OR_UPDATE,
    draft=serializers.BlocklistEntryInput,
)
ALLOWLIST = PolicyResource(
    model=AllowlistEntry,
    title=_("allowlist entry"),
    help_page="how-to/README.md#apps-that-cannot-show-a-sign-in-page",
    selector=selectors.allowed_networks,
    create=services.allow_network,  # an allowlist entry cannot lock anyone out
    update=services.change_allowed_network,
    delete=services.disallow_network,
    guards=frozenset({Write.UPDATE, Write.DELETE}),
    draft=serializers.AllowlistEntryInput,
)
COUNTRIES = PolicyResource(
    model=GeoBlockRule,
    title=_("blocked country"),
    help_page="geo.md",
    create=services.block_country,
    delete=services.unblock_country,
    draft=serializers.GeoBlockRuleInput,
)
DOMAINS = PolicyResource(
    model=AuthorizedDomain,
    title=_("domain"),
    help_page="how-to/first-site.md",
    create=partial(services.register_domain, access=Access.AUTHENTICATED.value),
    update=services.change_domain,
    delete=services.remove_domain,
    guards=frozenset(Write),
    draft=serializers.AuthorizedDomainInput,
)
GROUPS = PolicyResource(
    model=Group,
    title=_("group"),
    help_page="how-to/family-and-guests.md",
    selector=selectors.groups,
    create=groups.create_group,
    update=groups.change_group,
    delete=groups.delete_group,
    draft=GroupInput,
    note="description",
)
ACCESS_RULES = PolicyResource(
    model=AccessRule,
    title=_("access rule"),
    help_page="access-rules.md",
    selector=selectors.access_rules,
    create=access_rules.create_access_rule,
    update=access_rules.change_access_rule,
    delete=access_rules.delete_access_rule,
    guards=frozenset(Write),
    draft=AccessRuleInput,
)
GRANTS = PolicyResource(
    model=Grant,
    title=_("grant"),
    help_page="how-to/grants.md",
    selector=selectors.grants,
    create=grants.create_grant,
    update=grants.change_grant,
    delete=grants.delete_grant,
    draft=GrantInput,
    note="reason",
)
SHARE_LINKS = PolicyResource(
    model=ShareLink,
    title=_("share link"),
    help_page="how-to/share-for-an-evening.md",
    subject=SubjectKind.GUEST.value,
    selector=selectors.share_links,
    update=share_links.change_share_link,
    delete=share_links.delete_share_link,
    draft=ShareLinkChange,
    note="",
)
DEVICE_PASSES = PolicyResource(
    model=DevicePass,
    title=_("device pass"),
    help_page="how-to/let-a-device-in.md",
    subject=SubjectKind.DEVICE.value,
    delete=device_passes.delete_device_pass,
    draft=StrictInput,  # no fields: only users create device passes, so that a draft can only delete one
    note="",
)
SUBSCRIPTIONS = PolicyResource(
    model=ListSubscription,
    title=_("list subscription"),
    help_page="operations.md#lists-that-are-fetched",
    create=subscriptions.subscribe,
    update=subscriptions.change_subscription,
    delete=subscriptions.unsubscribe,
)
# Changed only through the policy document.
EXPECTATIONS = PolicyResource(model=Expectation, title=_("expectation"), help_page="policy-document.md#expectations")
RESOURCES = (
    *(WAF_RULES, BLOCKLIST, ALLOWLIST, COUNTRIES, DOMAINS, ACCESS_RULES, GRANTS, SHARE_LINKS, GROUPS),
    *(DEVICE_PASSES, SUBSCRIPTIONS, EXPECTATIONS),
)
