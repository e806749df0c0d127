"""Django admin pages of access rules: their list in order, and the form."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db.models import QuerySet, Subquery
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from audit.figures.used_rows import UsedRowsAdmin, use_columns
from gatewall.api.admin_forms import MomentField, ServiceForm
from gatewall.api.translation import messages_of, translated
from gatewall.engine.access_rules.rules import PathMatch, RuleCredential
from gatewall.kernel.refusals import Refusal
from gatewall.policy.resources import Write
from policies import resources
from policies.access_choices import access_field
from policies.access_conditions import MAX_RULES, WEEKDAYS, time_zones
from policies.access_rules.summary import conditions_of
from policies.access_rules.warnings import warnings_about
from policies.admin.access_rule_fields import NumbersField, PathsField, TimeOfDayField, UserNamesField
from policies.admin.entries import CONFIRM, PolicyAdmin
from policies.admin.rules import WordsField
from policies.country_choices import country_choices
from policies.models import AccessRule

_RECORD = ("created_at", "created_by")
_METHODS = (
    *("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"),
    *("PROPFIND", "PROPPATCH", "REPORT", "SEARCH", "MKCOL", "MKCALENDAR", "COPY", "MOVE", "LOCK", "UNLOCK"),
)
_DISABLED = mark_safe(" disabled")
_MOST_TO_CHOOSE = 500
"""Maximum number of users to choose from a list; with more users, names are typed."""


def _checkboxes() -> forms.CheckboxSelectMultiple:
    return forms.CheckboxSelectMultiple(attrs={"class": "pick"})


def _checkbox_field(choices: Any, **options: Any) -> forms.MultipleChoiceField:
    return forms.MultipleChoiceField(choices=choices, required=False, widget=_checkboxes(), **options)


class AccessRuleForm(ServiceForm):
    """Edit an access rule; an empty condition does not restrict."""

    force = forms.BooleanField(required=False)
    access = access_field(_("Where every condition below holds. A domain whose access is denied stays denied."))
    position = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_RULES,
        label=_("Position"),
        help_text=_("The first rule that matches decides. Empty: a new rule comes last."),
    )
    paths = PathsField(
        required=False,
        label=_("Paths"),
        help_text=_("In a glob, * stands for one segment and ** for any number. Save to get more rows."),
    )
    methods = _checkbox_field([(method, method) for method in _METHODS], label=_("Methods"))
    networks = WordsField(
        required=False,
        label=_("Networks"),
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_("Addresses and networks, separated by spaces or commas."),
    )
    countries = _checkbox_field(country_choices, label=_("Countries"))
    asns = NumbersField(
        required=False,
        label=_("Autonomous systems"),
        help_text=_("Their numbers, separated by commas."),
    )
    weekdays = _checkbox_field(
        [
            (day, label)
            for day, label in zip(
                WEEKDAYS,
                (_("Monday"), _("Tuesday"), _("Wednesday"), _("Thursday"), _("Friday"), _("Saturday"), _("Sunday")),
                strict=True,
            )
        ],
        label=_("Weekdays"),
    )
    from_time = TimeOfDayField(label=_("From"))
    until_time = TimeOfDayField(
        label=_("Until"), help_text=_("Earlier than From: on the next day. Empty: until midnight.")
    )
    time_zone = forms.ChoiceField(
        choices=lambda: [(name, name) for name in sorted(time_zones())], initial="UTC", label=_("Time zone")
    )
    expires_at = MomentField(required=False, label=_("Expires at"))
    credential_kinds = _checkbox_field(
        [(kind.value, kind.value) for kind in RuleCredential], label=_("Kinds of credentials")
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        known = [method for method, _label in self.fields["methods"].choices]  # type: ignore[attr-defined]  # a ChoiceField
        others = [method for method in self.instance.methods or [] if method not in known]
        self.fields["methods"].choices += [(method, method) for method in others]  # type: ignore[attr-defined]  # the same


@admin.register(AccessRule)
class AccessRuleAdmin(UsedRowsAdmin, PolicyAdmin):
    resource = resources.ACCESS_RULES
    use_kind = resource.logged_as
    hits, last_hit = use_columns(use_kind, log_filter="decided_by")
    form = AccessRuleForm
    list_display = ("place", "name", "access", "enabled", "conditions", "hits", "last_hit")
    list_display_links = ("name",)
    list_filter = ("enabled", "access", "domains")
    search_fields = ("name", "remark")
    ordering = ("position",)
    sortable_by = ()
    list_per_page = 200
    readonly_fields = _RECORD
    delete_confirmation_template = CONFIRM
    fieldsets = (
        (None, {"fields": ("name", "enabled", "access", "force", "position", "remark", "expires_at")}),
        (_("Which requests"), {"fields": ("domains", "paths", "methods")}),
        (
            _("From where and when"),
            {"fields": ("networks", "countries", "asns", "weekdays", ("from_time", "until_time", "time_zone"))},
        ),
        (_("By whom"), {"fields": ("groups", "users", "credential_kinds", "app_token_header")}),
        (_("Rate and record"), {"fields": ("rate_per_minute", *_RECORD)}),
    )

    class Media:
        js = (forms.Script("policies/rule-order.js", defer=True),)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return [name for _title, options in self.fieldsets for name in options["fields"]]

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Return the initial values, with those from the query of the URL, so that links can prefill the form."""
        lists = {
            name: request.GET.getlist(name) for name in ("networks", "countries", "methods") if name in request.GET
        }
        paths = [{"match": PathMatch.PREFIX.value, "value": path} for path in request.GET.getlist("path")]
        return {**super().get_changeform_initial_data(request), **lists, "paths": paths}

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **options: Any) -> Any:
        if db_field.name == "users" and get_user_model()._default_manager.count() > _MOST_TO_CHOOSE:  # noqa: SLF001 - documented API
            return UserNamesField(required=False, label=_("Users"), help_text=_("Their names, separated by commas."))
        return super().formfield_for_manytomany(db_field, request, **{**options, "widget": _checkboxes()})

    def get_queryset(self, request: HttpRequest) -> QuerySet[AccessRule]:
        rows: QuerySet[AccessRule] = super().get_queryset(request).prefetch_related("domains", "groups", "users")
        last = AccessRule.objects.order_by("-position").values("position")[:1]
        return rows.annotate(last_position=Subquery(last))

    def get_urls(self) -> list[URLPattern]:
        move = path("<int:pk>/move/", self.admin_site.admin_view(self.move_view), name="policies_accessrule_move")
        return [move, *super().get_urls()]

    def move_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Move a rule to the position that the pressed button submits."""
        rule, text = AccessRule.objects.filter(pk=pk).first(), request.POST.get("position", "")
        if request.method != "POST" or rule is None or not (text.isascii() and text.isdigit() and len(text) < 5):
            raise Http404
        try:
            self.write(request, Write.UPDATE, rule, position=int(text))
        except (Refusal, ValidationError) as error:
            for words in messages_of(error):
                self.message_user(request, words, messages.ERROR)
        return HttpResponseRedirect(reverse("admin:policies_accessrule_changelist"))

    def write(self, request: HttpRequest, way: Write, *row: Any, **values: Any) -> Any:
        """Write the rule through its service; show its warnings."""
        written = super().write(request, way, *row, **values)
        if way is not Write.DELETE:
            for warning in warnings_about(written):
                messages.warning(request, translated(warning))
        return written

    @admin.display(description=_("order"))
    def place(self, rule: Any) -> SafeString:
        url = reverse("admin:policies_accessrule_move", args=[rule.pk])
        steps = (
            (rule.position - 1, rule.position > 1, "▲", gettext("Move %(rule)s up")),
            (rule.position + 1, rule.position < rule.last_position, "▼", gettext("Move %(rule)s down")),
        )
        buttons = format_html_join(
            "",
            '<button class="move" formaction="{}" name="position" value="{}" aria-label="{}"{}>{}</button>',
            [(url, to, words % {"rule": rule.name}, "" if can else _DISABLED, sign) for to, can, sign, words in steps],
        )
        number = format_html('<span class="rule-place" data-position="{}">{}</span>', rule.position, rule.position)
        return format_html("{} {}", number, buttons)

    @admin.display(description=_("conditions"))
    def conditions(self, rule: AccessRule) -> SafeString:
        texts = conditions_of(rule) or [gettext("everything")]
        return format_html_join("", '<span class="rule-condition">{}</span> ', [(text,) for text in texts])
