"""Django admin pages of IP lists, domains and countries; input is stored in canonical form."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.views.main import ChangeList
from django.db import models
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from audit.figures.used_rows import DomainsWithRequests, UsedRowsAdmin, use_columns
from gatewall.api.admin_forms import ServiceForm
from gatewall.api.caller import caller_of
from gatewall.api.service_admin import ServiceAdmin, actor, forced
from gatewall.api.translation import translated
from gatewall.engine.hosts import Access
from gatewall.engine.identity_headers import DEFAULT_HEADERS, KNOWN_HEADERS
from gatewall.policy.resources import PolicyResource, Write
from policies import cookie_reach, resources, selectors
from policies.access_choices import access_field
from policies.countries import COUNTRY_NAMES
from policies.country_choices import NO_COUNTRY, choices_after
from policies.models import AllowlistEntry, AuthorizedDomain, BlocklistEntry, GeoBlockRule, ListSubscription
from policies.validators import canonical_domain, canonical_network

_RECORD = ("created_at", "created_by")
CONFIRM = "admin/policies/delete_confirmation.html"


class PolicyAdmin(ServiceAdmin):
    """Base class of the admin pages of a policy resource; writes go through the resource's services."""

    resource: ClassVar[PolicyResource]

    def create_row(self, request: HttpRequest, **values: Any) -> models.Model:
        row: models.Model = self.write(request, Write.CREATE, **values)
        return row

    def change_row(self, request: HttpRequest, row: Any, **values: Any) -> object:
        return self.write(request, Write.UPDATE, row, **values)

    def delete_row(self, request: HttpRequest, row: Any) -> None:
        self.write(request, Write.DELETE, row, force=forced(request))

    def write(self, request: HttpRequest, way: Write, *row: Any, force: bool = False, **values: Any) -> Any:
        """Call the resource's service for this write, with actor and caller of the request."""
        return self.resource.write(way, *row, actor=actor(request), caller=caller_of(request), force=force, **values)


class ForcedForm(ServiceForm):
    """Edit a row whose change may lock out its author."""

    force = forms.BooleanField(required=False)


class NetworkForm(ForcedForm):
    """Edit a network in any notation; store the canonical one."""

    network = forms.CharField(
        max_length=64, help_text="An address or a network, for example 192.0.2.7 or 2001:db8::/32."
    )

    def clean_network(self) -> str:
        return canonical_network(self.cleaned_data["network"])


class BlocklistForm(NetworkForm):
    """Edit a blocklist entry."""


class DomainForm(ForcedForm):
    """Edit a domain in any letter case and script."""

    access = access_field(
        _("Users also need the domain in their scope. Access rules may ask for more or less at some paths."),
        initial=Access.AUTHENTICATED.value,
    )
    identity_headers = forms.MultipleChoiceField(
        choices=[(name, name) for name in KNOWN_HEADERS],
        required=False,
        initial=DEFAULT_HEADERS,
        widget=forms.CheckboxSelectMultiple(attrs={"class": "pick"}),
        help_text="The request headers in which the site gets the user, e-mail address and groups of a visitor.",
    )

    def clean_name(self) -> str:
        return canonical_domain(self.cleaned_data["name"])


class CountryForm(ServiceForm):
    """Choose a country by its name."""

    country_code = forms.ChoiceField(label=_("Country"), choices=choices_after(NO_COUNTRY))


@admin.register(BlocklistEntry)
class BlocklistAdmin(UsedRowsAdmin, PolicyAdmin):
    resource = resources.BLOCKLIST
    use_kind = resource.logged_as
    hits, last_hit = use_columns(use_kind, log_filter="decided_by")
    form = BlocklistForm
    list_display = ("network", "source", "remark", "hits", "last_hit", "expires_at", *_RECORD)
    list_filter = ("source",)
    search_fields = ("network", "remark")
    readonly_fields = ("source", *_RECORD)
    fields = ("network", "force", "remark", "expires_at", *readonly_fields)


@admin.register(AllowlistEntry)
class AllowlistAdmin(UsedRowsAdmin, PolicyAdmin):
    resource = resources.ALLOWLIST
    use_kind = resource.logged_as
    hits, last_hit = use_columns(use_kind, log_filter="decided_by")
    form = NetworkForm
    delete_confirmation_template = CONFIRM
    list_display = ("network", "domain", "inspect", "remark", "hits", "last_hit", "expires_at", *_RECORD)
    list_filter = ("inspect", "domain")
    list_select_related = ("domain",)
    search_fields = ("network", "remark", "domain__name")
    readonly_fields = _RECORD
    fields = ("network", "force", "domain", "inspect", "remark", "expires_at", *readonly_fields)


def _profiles_page(domain: AuthorizedDomain) -> str:
    return f"{reverse('console:app-profiles')}?{urlencode({'domain': domain.name})}"


def _waf_page(domain: AuthorizedDomain) -> str:
    return reverse("console:waf-report", args=[domain.pk])


@admin.register(AuthorizedDomain)
class AuthorizedDomainAdmin(PolicyAdmin):
    resource = resources.DOMAINS
    form = DomainForm
    delete_confirmation_template = CONFIRM
    list_display = ("name", "site", "access", "requests", "waf", "app_profiles", "remark", "created_at")
    list_filter = ("access",)
    search_fields = ("name", "remark")
    readonly_fields = ("waf_monitor_until", "waf_monitoring", "app_profiles", *_RECORD)
    fields = ("name", "force", "access", "identity_headers", "remark", *readonly_fields)

    @admin.display(description=_("Site"))
    def site(self, domain: AuthorizedDomain) -> str:
        """Return a link to the page about the domain: who may enter, its rules, and its requests."""
        return format_html('<a href="{}">{}</a>', reverse("console:site", args=[domain.pk]), _("at a glance"))

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[ChangeList]:
        return DomainsWithRequests

    @admin.display(description=_("requests in 24 hours"))
    def requests(self, domain: Any) -> str:
        """Return a lower bound of the number of requests, with a link to them in the log."""
        if not domain.requests:
            return "0"
        query = urlencode({"host": domain.name})
        return format_html('<a href="{}?{}">{}</a>', reverse("console:log"), query, f"{domain.requests:,}")

    @admin.display(description=_("WAF"))
    def waf(self, domain: AuthorizedDomain) -> str:
        """Return a link to the report of what the WAF refuses, or would refuse, at the domain."""
        until = domain.waf_monitor_until
        is_monitored = until is not None and until > timezone.now()
        return format_html('<a href="{}">{}</a>', _waf_page(domain), _("monitored") if is_monitored else _("report"))

    @admin.display(description=_("WAF"))
    def waf_monitoring(self, domain: AuthorizedDomain) -> str:
        """Return a link to the report of the WAF at the domain, where the WAF can be set to monitor for a week."""
        if not domain.pk:
            return "-"
        return format_html('<a href="{}">{}</a>', _waf_page(domain), _("What the WAF would have refused"))

    @admin.display(description=_("App profiles"))
    def app_profiles(self, domain: AuthorizedDomain) -> str:
        """Return a link to the page that applies the profile of an app to the domain."""
        if not domain.pk:
            return "-"
        return format_html('<a href="{}">{}</a>', _profiles_page(domain), _("choose the app"))

    def write(self, request: HttpRequest, way: Write, *row: Any, **values: Any) -> Any:
        """Register or change the domain; warn if browsers do not send the session cookie to it."""
        written = super().write(request, way, *row, **values)
        if way is not Write.DELETE and (warning := cookie_reach.warning_about(written)):
            messages.warning(request, translated(warning))
        return written

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Return the list page, with a warning if ``authorized_domains_mode`` contradicts the domains."""
        if request.method == "GET" and (warning := selectors.domains_warning()):
            messages.warning(request, warning)
        return super().changelist_view(request, extra_context)


@admin.register(GeoBlockRule)
class GeoBlockRuleAdmin(UsedRowsAdmin, PolicyAdmin):
    resource = resources.COUNTRIES
    use_kind = resource.logged_as
    hits, last_hit = use_columns(use_kind, log_filter="decided_by")
    form = CountryForm
    list_display = ("country_code", "country_name", "remark", "hits", "last_hit", *_RECORD)
    search_fields = ("country_code", "remark")
    readonly_fields = ("country_name", *_RECORD)
    fields = ("country_code", "remark", *readonly_fields)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return self.fields if obj else [name for name in self.fields if name != "country_name"]

    @admin.display(description=_("country"))
    def country_name(self, rule: GeoBlockRule) -> str:
        name = COUNTRY_NAMES.get(rule.country_code)
        return gettext(name) if name else "-"

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # a rule has no field to change


@admin.register(ListSubscription)
class ListSubscriptionAdmin(PolicyAdmin):
    resource = resources.SUBSCRIPTIONS
    list_display = ("name", "url", "enabled", "interval_minutes", "entries", "succeeded_at", "failure")
    list_filter = ("enabled",)
    search_fields = ("name", "url", "remark")
    readonly_fields = ("next_at", "tried_at", "succeeded_at", "failure", "entries", *_RECORD)
    fields = ("name", "url", "format", "interval_minutes", "enabled", "allow_private", "remark", *readonly_fields)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return self.readonly_fields if obj is None else ("name", *self.readonly_fields)
