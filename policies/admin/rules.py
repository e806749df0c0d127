"""Django admin pages of WAF rules."""

import re
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from audit.figures.used_rows import UsedRowsAdmin, use_columns
from gatewall.api.admin_forms import ServiceForm
from gatewall.api.content_policy import content_security_policy
from gatewall.api.service_admin import actor
from gatewall.engine.model import Action
from gatewall.engine.waf.rules import Target
from gatewall.models import choices
from gatewall.policy.resources import Write
from policies import resources
from policies.admin.entries import PolicyAdmin
from policies.admin.waf_rule_fields import ExclusionsField, TransformsField
from policies.models import WafRule
from policies.rules.batch import change_waf_rules
from policies.rules.broad_patterns import warnings_about

_RECORD = ("created_at", "created_by")


class WordsField(forms.CharField):
    """Edit an ordered list of words as text."""

    def to_python(self, value: Any) -> Any:
        return [word for word in re.split(r"[\s,]+", super().to_python(value) or "") if word]

    def prepare_value(self, value: Any) -> Any:
        return ", ".join(map(str, value)) if isinstance(value, list) else value

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(self.to_python(data) != list(initial or []))


class PatternField(forms.CharField):
    """Edit a pattern verbatim: not stripped, and CRLF from the browser converted back to LF."""

    widget = forms.Textarea

    def __init__(self, **options: Any) -> None:
        super().__init__(strip=False, max_length=4096, **options)

    def to_python(self, value: Any) -> Any:
        return (super().to_python(value) or "").replace("\r\n", "\n")


class WafRuleForm(ServiceForm):
    """Edit a WAF rule."""

    pattern = PatternField(label=_("Pattern"), help_text=_("Try it on an example at the end of the form."))
    targets = forms.MultipleChoiceField(
        choices=choices(Target),
        widget=forms.CheckboxSelectMultiple(attrs={"class": "pick"}),
        label=_("Targets"),
        help_text=_("The parts of a request that the rule inspects."),
    )
    transforms = TransformsField(
        required=False,
        label=_("Transforms"),
        help_text=_("Changes to each value before it is compared, in this order. Save to get more rows."),
    )
    exclusions = ExclusionsField(
        required=False,
        label=_("Exclusions"),
        help_text=_("Where the rule does not apply. Save to get more rows."),
    )
    force = forms.BooleanField(required=False)


@admin.register(WafRule)
class WafRuleAdmin(UsedRowsAdmin, PolicyAdmin):
    resource = resources.WAF_RULES
    use_kind = resource.logged_as
    hits, last_hit = use_columns(use_kind, log_filter="rule_id")
    form = WafRuleForm
    list_display = (
        *("name", "category", "severity", "score", "action", "enabled"),
        *("hits", "last_hit", "priority", "domain", "is_builtin"),
    )
    list_filter = ("enabled", "action", "category", "severity", ("builtin_key", admin.EmptyFieldListFilter))
    list_select_related = ("domain",)
    search_fields = ("name", "pattern", "description")
    readonly_fields = ("is_builtin", *_RECORD)
    fields = (
        *("name", "pattern", "force", "operator", "targets", "transforms", "category", "severity", "score", "action"),
        *("priority", "enabled", "domain", "path_prefix", "exclusions", "description"),
        *readonly_fields,
    )
    actions = ("switch_on", "switch_off", "block", "monitor")

    @admin.action(description=_("Switch the selected WAF rules on"))
    def switch_on(self, request: HttpRequest, queryset: QuerySet[WafRule]) -> None:
        self._change_rules(request, queryset, enabled=True)

    @admin.action(description=_("Switch the selected WAF rules off"))
    def switch_off(self, request: HttpRequest, queryset: QuerySet[WafRule]) -> None:
        self._change_rules(request, queryset, enabled=False)

    @admin.action(description=_("Set the selected WAF rules to block"))
    def block(self, request: HttpRequest, queryset: QuerySet[WafRule]) -> None:
        self._change_rules(request, queryset, action=Action.BLOCK)

    @admin.action(description=_("Set the selected WAF rules to monitor"))
    def monitor(self, request: HttpRequest, queryset: QuerySet[WafRule]) -> None:
        self._change_rules(request, queryset, action=Action.MONITOR)

    def _change_rules(self, request: HttpRequest, queryset: QuerySet[WafRule], **values: Any) -> None:
        """Change the selected rules in one revision."""
        changed = change_waf_rules(queryset, actor=actor(request), **values)
        self.message_user(
            request,
            gettext("%(changed)s of %(number)s rules changed") % {"changed": changed, "number": queryset.count()},
            messages.SUCCESS,
        )

    @admin.display(description=_("built-in"), boolean=True)
    def is_builtin(self, rule: WafRule) -> bool:
        return rule.builtin

    def render_change_form(self, *arguments: Any, **options: Any) -> HttpResponse:
        """Return the form; its script calls the server to find where the pattern matches an example."""
        response = super().render_change_form(*arguments, **options)
        response["Content-Security-Policy"] = content_security_policy(scripts_call_us=True)
        return response

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        fixed = ("pattern", "operator") if obj is not None and obj.builtin else ()
        return (*fixed, *self.readonly_fields)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_delete_permission(request, obj) and not (obj is not None and obj.builtin)

    def write(self, request: HttpRequest, way: Write, *row: Any, force: bool = False, **values: Any) -> Any:
        written = super().write(request, way, *row, force=force, **values)
        for warning in warnings_about(written) if written else ():
            self.message_user(request, warning, messages.WARNING)
        return written
