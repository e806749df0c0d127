"""IP lists, domains and countries in the Django admin. Any spelling is accepted, one is stored."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse

from gatewall.api.caller import caller_of
from gatewall.api.service_admin import ServiceAdmin, ServiceForm, actor, forced
from policies import selectors, services
from policies.countries import COUNTRY_NAMES
from policies.lists import subscriptions
from policies.models import AllowlistEntry, AuthorizedDomain, BlocklistEntry, GeoBlockRule, ListSubscription
from policies.validators import canonical_country, canonical_domain, canonical_network

_RECORD = ("created_at", "created_by")
_OWN_ADDRESS = "also when it shuts out my own address"
_CONFIRM = "admin/policies/delete_confirmation.html"


class NetworkForm(ServiceForm):
    """An entry of a list: an address or network in any spelling."""

    network = forms.CharField(max_length=64, help_text="an address or a network, like 192.0.2.7 or 2001:db8::/32")

    def clean_network(self) -> str:
        """Return the one spelling of the network."""
        return canonical_network(self.cleaned_data["network"])


class BlocklistForm(NetworkForm):
    """A blocklist entry."""

    force = forms.BooleanField(
        required=False, help_text="also when the network is very large, or shuts out my own address"
    )


class AllowlistForm(NetworkForm):
    """An allowlist entry."""

    force = forms.BooleanField(required=False, help_text=_OWN_ADDRESS)


class DomainForm(ServiceForm):
    """A domain, in any letter case and script."""

    force = forms.BooleanField(required=False, help_text=_OWN_ADDRESS)

    def clean_name(self) -> str:
        """Return the one spelling of the name."""
        return canonical_domain(self.cleaned_data["name"])


class CountryForm(ServiceForm):
    """A country code in any letter case."""

    def clean_country_code(self) -> str:
        """Return the code in capitals."""
        return canonical_country(self.cleaned_data["country_code"])


@admin.register(BlocklistEntry)
class BlocklistAdmin(ServiceAdmin):
    form = BlocklistForm
    list_display = ("network", "source", "remark", "expires_at", *_RECORD)
    list_filter = ("source",)
    search_fields = ("network", "remark")
    readonly_fields = ("source", *_RECORD)
    fields = ("network", "force", "remark", "expires_at", *readonly_fields)

    def create_row(self, request: HttpRequest, **values: Any) -> BlocklistEntry:
        return services.block_network(actor=actor(request), caller=caller_of(request), **values)

    def change_row(self, request: HttpRequest, row: BlocklistEntry, **values: Any) -> None:
        services.change_blocked_network(row, actor=actor(request), caller=caller_of(request), **values)

    def delete_row(self, request: HttpRequest, row: BlocklistEntry) -> None:
        services.unblock_network(row, actor=actor(request))


@admin.register(AllowlistEntry)
class AllowlistAdmin(ServiceAdmin):
    form = AllowlistForm
    delete_confirmation_template = _CONFIRM
    list_display = ("network", "domain", "inspect", "remark", "expires_at", *_RECORD)
    list_filter = ("inspect", "domain")
    list_select_related = ("domain",)
    search_fields = ("network", "remark", "domain__name")
    readonly_fields = _RECORD
    fields = ("network", "force", "domain", "inspect", "remark", "expires_at", *readonly_fields)

    def create_row(self, request: HttpRequest, *, force: bool = False, **values: Any) -> AllowlistEntry:
        return services.allow_network(actor=actor(request), **values)

    def change_row(self, request: HttpRequest, row: AllowlistEntry, **values: Any) -> None:
        services.change_allowed_network(row, actor=actor(request), caller=caller_of(request), **values)

    def delete_row(self, request: HttpRequest, row: AllowlistEntry) -> None:
        services.disallow_network(row, actor=actor(request), caller=caller_of(request), force=forced(request))


@admin.register(AuthorizedDomain)
class AuthorizedDomainAdmin(ServiceAdmin):
    form = DomainForm
    delete_confirmation_template = _CONFIRM
    list_display = ("name", "access", "remark", *_RECORD)
    list_filter = ("access",)
    search_fields = ("name", "remark")
    readonly_fields = _RECORD
    fields = ("name", "force", "access", "remark", *readonly_fields)

    def create_row(self, request: HttpRequest, **values: Any) -> AuthorizedDomain:
        return services.register_domain(actor=actor(request), caller=caller_of(request), **values)

    def change_row(self, request: HttpRequest, row: AuthorizedDomain, **values: Any) -> None:
        services.change_domain(row, actor=actor(request), caller=caller_of(request), **values)

    def delete_row(self, request: HttpRequest, row: AuthorizedDomain) -> None:
        services.remove_domain(row, actor=actor(request), caller=caller_of(request), force=forced(request))

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show the domains, and a warning if ``authorized_domains_mode`` contradicts them."""
        if request.method == "GET" and (warning := selectors.domains_warning()):
            messages.warning(request, warning)
        return super().changelist_view(request, extra_context)


@admin.register(GeoBlockRule)
class GeoBlockRuleAdmin(ServiceAdmin):
    form = CountryForm
    list_display = ("country_code", "country_name", "remark", *_RECORD)
    search_fields = ("country_code", "remark")
    readonly_fields = ("country_name", *_RECORD)
    fields = ("country_code", "remark", *readonly_fields)

    @admin.display(description="country")
    def country_name(self, rule: GeoBlockRule) -> str:
        """Return the English name of the country."""
        return COUNTRY_NAMES.get(rule.country_code, "-")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # a country is blocked or it is not

    def create_row(self, request: HttpRequest, **values: Any) -> GeoBlockRule:
        return services.block_country(actor=actor(request), **values)

    def delete_row(self, request: HttpRequest, row: GeoBlockRule) -> None:
        services.unblock_country(row, actor=actor(request))


@admin.register(ListSubscription)
class ListSubscriptionAdmin(ServiceAdmin):
    list_display = ("name", "url", "enabled", "interval_minutes", "entries", "succeeded_at", "failure")
    list_filter = ("enabled",)
    search_fields = ("name", "url", "remark")
    readonly_fields = ("next_at", "tried_at", "succeeded_at", "failure", "entries", *_RECORD)
    fields = ("name", "url", "format", "interval_minutes", "enabled", "allow_private", "remark", *readonly_fields)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return self.readonly_fields if obj is None else ("name", *self.readonly_fields)

    def create_row(self, request: HttpRequest, **values: Any) -> ListSubscription:
        return subscriptions.subscribe(actor=actor(request), **values)

    def change_row(self, request: HttpRequest, row: ListSubscription, **values: Any) -> None:
        subscriptions.change_subscription(row, actor=actor(request), **values)

    def delete_row(self, request: HttpRequest, row: ListSubscription) -> None:
        subscriptions.unsubscribe(row, actor=actor(request))
