"""IP lists, domains, countries and WAF rules in the Django admin. Any spelling goes in, one is stored."""

import re
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from gatewall.api.caller import caller_of
from gatewall.api.service_admin import ServiceAdmin, ServiceForm, actor, forced
from gatewall.engine.model import Action
from gatewall.engine.waf.rules import Target
from gatewall.models import choices
from policies import selectors, services
from policies.countries import COUNTRY_NAMES
from policies.lists import subscriptions
from policies.models import AllowlistEntry, AuthorizedDomain, BlocklistEntry, GeoBlockRule, ListSubscription, WafRule
from policies.rules import scanned_apart
from policies.rules.batch import change_waf_rules
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


class WordsField(forms.CharField):
    """A list of words in their order, edited as text."""

    def to_python(self, value: Any) -> Any:
        return [word for word in re.split(r"[\s,]+", super().to_python(value)) if word]

    def prepare_value(self, value: Any) -> Any:
        return ", ".join(map(str, value)) if isinstance(value, list) else value

    def has_changed(self, initial: Any, data: Any) -> bool:
        return self.to_python(data) != list(initial or [])


class PatternField(forms.CharField):
    """A pattern, byte for byte: not trimmed, and with the line ends that it had before a browser made them CRLF."""

    widget = forms.Textarea

    def __init__(self, **options: Any) -> None:
        super().__init__(strip=False, max_length=4096, **options)

    def to_python(self, value: Any) -> Any:
        return super().to_python(value).replace("\r\n", "\n")


class WafRuleForm(ServiceForm):
    """A WAF rule."""

    pattern = PatternField()
    targets = forms.MultipleChoiceField(choices=choices(Target), widget=forms.CheckboxSelectMultiple)
    transforms = WordsField(required=False, help_text="in their order, separated by commas")
    exclusions = forms.JSONField(
        required=False,
        help_text='like [{"path_prefix": "/editor", "argument": "text", "expires_at": "2026-01-31T12:00:00Z"}]',
    )
    force = forms.BooleanField(required=False, help_text="also when the pattern matches everything")

    def clean_exclusions(self) -> Any:
        """Return an empty list where nothing was written."""
        value = self.cleaned_data["exclusions"]
        return [] if value is None else value


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


@admin.register(WafRule)
class WafRuleAdmin(ServiceAdmin):
    form = WafRuleForm
    list_display = ("name", "category", "severity", "score", "action", "enabled", "priority", "domain", "is_builtin")
    list_filter = ("enabled", "action", "category", "severity", ("builtin_key", admin.EmptyFieldListFilter))
    list_select_related = ("domain",)
    search_fields = ("name", "pattern", "description")
    readonly_fields = ("is_builtin", *_RECORD)
    fields = (
        "name",
        "pattern",
        "force",
        "operator",
        "targets",
        "transforms",
        "category",
        "severity",
        "score",
        "action",
        "priority",
        "enabled",
        "domain",
        "path_prefix",
        "exclusions",
        "description",
        *readonly_fields,
    )

    actions = ("switch_on", "switch_off", "block", "monitor")

    @admin.action(description="Switch the selected WAF rules on")
    def switch_on(self, request: HttpRequest, queryset: QuerySet[WafRule]) -> None:
        """Switch the chosen rules on, in one revision."""
        self._change_chosen(request, queryset, enabled=True)

    @admin.action(description="Switch the selected WAF rules off")
    def switch_off(self, request: HttpRequest, queryset: QuerySet[WafRule]) -> None:
        """Switch the chosen rules off, in one revision."""
        self._change_chosen(request, queryset, enabled=False)

    @admin.action(description="Have the selected WAF rules block")
    def block(self, request: HttpRequest, queryset: QuerySet[WafRule]) -> None:
        """Let the chosen rules count, in one revision."""
        self._change_chosen(request, queryset, action=Action.BLOCK)

    @admin.action(description="Have the selected WAF rules only monitor")
    def monitor(self, request: HttpRequest, queryset: QuerySet[WafRule]) -> None:
        """Let the chosen rules be noted and not count, in one revision."""
        self._change_chosen(request, queryset, action=Action.MONITOR)

    def _change_chosen(self, request: HttpRequest, queryset: QuerySet[WafRule], **values: Any) -> None:
        changed = change_waf_rules(queryset, actor=actor(request), **values)
        self.message_user(request, f"{changed} of {queryset.count()} rules changed", messages.SUCCESS)

    @admin.display(description="built-in", boolean=True)
    def is_builtin(self, rule: WafRule) -> bool:
        """Return whether the rule comes with Gatewall."""
        return rule.builtin

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        fixed = ("pattern", "operator") if obj is not None and obj.builtin else ()
        return (*fixed, *self.readonly_fields)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_delete_permission(request, obj) and not (obj is not None and obj.builtin)

    def create_row(self, request: HttpRequest, **values: Any) -> WafRule:
        return self._warned(request, services.create_waf_rule(actor=actor(request), **values))

    def change_row(self, request: HttpRequest, row: WafRule, **values: Any) -> None:
        self._warned(request, services.change_waf_rule(row, actor=actor(request), **values))

    def _warned(self, request: HttpRequest, row: WafRule) -> WafRule:
        for warning in scanned_apart.warnings_about(row):
            self.message_user(request, warning, messages.WARNING)
        return row

    def delete_row(self, request: HttpRequest, row: WafRule) -> None:
        services.delete_waf_rule(row, actor=actor(request))


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
