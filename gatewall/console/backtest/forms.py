"""Forms of a backtest, one per kind of draft; the API's serializer validates them."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from gatewall.console.backtest.draft_form import DraftForm, NamesField, flag_field, text_field
from gatewall.engine.access_rules.rules import PathMatch
from gatewall.engine.hosts import Access
from gatewall.engine.model import Action
from gatewall.engine.waf.rules import Category, Operator, Target
from gatewall.kernel.changes import Resource
from gatewall.models import choices
from gatewall.policy.resources import Write
from policies.access_conditions import MAX_RULES
from policies.admin.rules import PatternField
from policies.country_choices import choices_after


class WafRuleDraft(DraftForm):
    """A WAF rule; replayed as if it blocked."""

    resource, title = Resource.WAF_RULES, _("WAF rule")

    name = text_field(_("Name"), 100)
    pattern = PatternField(label=_("Pattern"), required=False, widget=forms.Textarea(attrs={"rows": 3}))
    operator = forms.ChoiceField(label=_("Operator"), choices=[("", "-"), *choices(Operator)], required=False)
    targets = forms.MultipleChoiceField(
        label=_("Inspects"), choices=choices(Target), required=False, widget=forms.CheckboxSelectMultiple
    )
    category = forms.ChoiceField(label=_("Category"), choices=[("", "-"), *choices(Category)], required=False)
    score = forms.IntegerField(label=_("Score"), min_value=1, max_value=10, required=False)
    domain = text_field(_("Only for the domain"), 255)
    path_prefix = text_field(_("Only below the path"), 500)

    def values(self) -> dict[str, Any]:
        return {**super().values(), "action": Action.BLOCK.value}


class BlockDraft(DraftForm):
    """A blocklist entry."""

    resource, title = Resource.BLOCKLIST, _("Blocklist entry")

    ip = text_field(_("Address or network"), 64)


class AllowDraft(DraftForm):
    """An allowlist entry."""

    resource, title = Resource.ALLOWLIST, _("Allowlist entry")

    ip = text_field(_("Address or network"), 64)
    domain = text_field(_("Only for the domain"), 255)
    inspect = flag_field(_("Country and WAF rules still apply"))


class CountryDraft(DraftForm):
    """A blocked country."""

    resource, title = Resource.COUNTRIES, _("Blocked country")
    changes = (Write.CREATE, Write.DELETE)

    country_code = forms.ChoiceField(label=_("Country"), choices=choices_after("-"), required=False)


class DomainDraft(DraftForm):
    """A domain."""

    resource, title = Resource.DOMAINS, _("Domain")

    name = text_field(_("Name"), 255)
    access = forms.ChoiceField(label=_("Access"), choices=[("", "-"), *choices(Access)], required=False)


class AccessRuleDraft(DraftForm):
    """An access rule, or its place in the order."""

    resource, title = Resource.ACCESS_RULES, _("Access rule")

    name = text_field(_("Name"), 100)
    access = forms.ChoiceField(label=_("Access"), choices=[("", "-"), *choices(Access)], required=False)
    position = forms.IntegerField(
        label=_("Position"),
        min_value=1,
        max_value=MAX_RULES,
        required=False,
        help_text=_("The first rule that matches decides. Empty: a new rule comes last."),
    )
    domains = NamesField(_("Domains"))
    paths = forms.CharField(
        label=_("Paths"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_("One in a line, like /api for it and what is below, or exact /login, or glob /*/raw."),
    )
    methods = NamesField(_("Methods"))
    networks = NamesField(_("Networks"))
    countries = NamesField(_("Country codes"))
    groups = NamesField(_("Groups"))
    users = NamesField(_("Users"))

    def values(self) -> dict[str, Any]:
        given = super().values()
        paths = [_path(line) for line in given.pop("paths", "").splitlines() if line.strip()]
        return {**given, **({"paths": paths} if paths else {})}


def _path(line: str) -> dict[str, str]:
    """Return a path of a rule from its line: a match and a path, or the path of a prefix."""
    match, _space, path = line.strip().partition(" ")
    if match in [*PathMatch] and path.strip():
        return {"match": match, "value": path.strip()}
    return {"match": PathMatch.PREFIX.value, "value": line.strip()}


class ShareLinkDraft(DraftForm):
    """A share link; a draft cannot create one, because it has a token."""

    resource, title = Resource.SHARE_LINKS, _("Share link")
    changes: tuple[Write, ...] = (Write.UPDATE, Write.DELETE)

    domain = text_field(_("Domain"), 255)
    path_prefix = text_field(_("Only below the path"), 500)
    methods = NamesField(_("Methods"))
    days = forms.IntegerField(label=_("Number of days"), min_value=1, max_value=30, required=False)

    def values(self) -> dict[str, Any]:
        given = super().values()
        days = given.pop("days", None)
        end = {"expires_at": (timezone.now() + timedelta(days=days, minutes=-1)).isoformat()} if days else {}
        return {**given, **end}


class GrantDraft(ShareLinkDraft):
    """A grant."""

    resource, title = Resource.GRANTS, _("Grant")
    changes = tuple(Write)

    user = text_field(_("User"), 64)
    group = text_field(_("Group"), 64)


class DevicePassDraft(DraftForm):
    """A device pass; a draft cannot create one, because its user does."""

    resource, title = Resource.DEVICE_PASSES, _("Device pass")
    changes = (Write.DELETE,)


class GroupDraft(DraftForm):
    """A group and its scope."""

    resource, title = Resource.GROUPS, _("Group")

    name = text_field(_("Name"), 64)
    all_domains = flag_field(_("All domains"))
    authorized_domains = NamesField(_("Domains"))


class LicenseScopeDraft(DraftForm):
    """The scope of a license."""

    resource, title = Resource.LICENSES, _("Scope of a license")
    changes = (Write.UPDATE,)

    all_domains = forms.BooleanField(label=_("All domains"), required=False)
    authorized_domains = text_field(_("Only these domains, separated by commas"), 4000)

    def values(self) -> dict[str, Any]:
        names = [each.strip() for each in self.cleaned_data["authorized_domains"].split(",")]
        scope = {
            "all_domains": self.cleaned_data["all_domains"],
            "authorized_domains": [each for each in names if each],
        }
        return {**super().values(), **scope}


class ScopeDraft(LicenseScopeDraft):
    """The scope and the groups of a user."""

    resource, title = Resource.USERS, _("Scope and groups of a user")

    groups = NamesField(_("Groups"))


FORMS: Mapping[str, type[DraftForm]] = {
    each.resource.value: each
    for each in (
        *(BlockDraft, WafRuleDraft, CountryDraft, DomainDraft, AllowDraft, AccessRuleDraft),
        *(GrantDraft, ShareLinkDraft, DevicePassDraft, ScopeDraft, GroupDraft, LicenseScopeDraft),
    )
}
"""The forms by resource; the first is the default."""
