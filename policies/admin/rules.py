"""Django admin pages of WAF rules."""

import re
from datetime import datetime
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from audit.figures.used_resources import hits_of, last_hit_of, note_uses
from gatewall.api.service_admin import ServiceForm, actor
from gatewall.engine.model import Action
from gatewall.engine.waf.rules import Target
from gatewall.models import choices
from gatewall.policy.resources import Write
from policies import resources
from policies.admin.entries import PolicyAdmin
from policies.exclusions import TEXTS
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

    pattern = PatternField()
    targets = forms.MultipleChoiceField(choices=choices(Target), widget=forms.CheckboxSelectMultiple)
    transforms = WordsField(required=False, help_text="In their order, separated by commas.")
    exclusions = forms.JSONField(
        required=False,
        help_text=(
            'Like [{"path_prefix": "/editor", "argument": "text", "expires_at": "2026-01-31T12:00:00Z"}]. '
            f"Each has at least one of {', '.join(TEXTS)}."
        ),
    )
    force = forms.BooleanField(required=False, help_text="Accept a pattern that matches everything.")

    def clean_exclusions(self) -> Any:
        value = self.cleaned_data["exclusions"]
        return [] if value is None else value


_KIND = resources.WAF_RULES.logged_as


class RulesWithHits(ChangeList):
    """A page of rules with their hits, which one query reads."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list = list(self.result_list)
        note_uses(_KIND, self.result_list)


@admin.register(WafRule)
class WafRuleAdmin(PolicyAdmin):
    resource = resources.WAF_RULES
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

    @admin.action(description="Switch the selected WAF rules on")
    def switch_on(self, request: HttpRequest, queryset: QuerySet[WafRule]) -> None:
        self._change_rules(request, queryset, enabled=True)

    @admin.action(description="Switch the selected WAF rules off")
    def switch_off(self, request: HttpRequest, queryset: QuerySet[WafRule]) -> None:
        self._change_rules(request, queryset, enabled=False)

    @admin.action(description="Have the selected WAF rules block")
    def block(self, request: HttpRequest, queryset: QuerySet[WafRule]) -> None:
        self._change_rules(request, queryset, action=Action.BLOCK)

    @admin.action(description="Have the selected WAF rules only monitor")
    def monitor(self, request: HttpRequest, queryset: QuerySet[WafRule]) -> None:
        self._change_rules(request, queryset, action=Action.MONITOR)

    def _change_rules(self, request: HttpRequest, queryset: QuerySet[WafRule], **values: Any) -> None:
        """Change the selected rules in one revision."""
        changed = change_waf_rules(queryset, actor=actor(request), **values)
        self.message_user(request, f"{changed} of {queryset.count()} rules changed", messages.SUCCESS)

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[ChangeList]:
        return RulesWithHits

    @admin.display(description=_("hits"), ordering=hits_of(_KIND))
    def hits(self, rule: Any) -> int | str:
        """Return how often the rule matched, with a link to those requests in the log."""
        number: int = rule.use.count
        return format_html('<a href="{}?rule_id={}">{}</a>', reverse("console:log"), rule.pk, number) if number else 0

    @admin.display(description=_("last hit"), ordering=last_hit_of(_KIND), empty_value="-")
    def last_hit(self, rule: Any) -> datetime | None:
        moment: datetime | None = rule.use.last_at
        return moment

    @admin.display(description="built-in", boolean=True)
    def is_builtin(self, rule: WafRule) -> bool:
        return rule.builtin

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
