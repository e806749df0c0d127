"""Forms of a backtest, one per kind of draft; the API's serializer validates them."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from gatewall.api.translation import messages_of
from gatewall.engine.access_rules.rules import PathMatch
from gatewall.engine.hosts import Access
from gatewall.engine.model import Action
from gatewall.engine.waf.rules import Category, Operator, Target
from gatewall.kernel.changes import Resource
from gatewall.kernel.refusals import Overridable, Refusal
from gatewall.models import choices
from gatewall.policy.resources import Write
from gatewall.whatif.backtest.serializers import BacktestInput
from policies.access_conditions import MAX_RULES
from policies.admin.rules import PatternField
from policies.country_choices import choices_after

WINDOWS = {"1": _("the last hour"), "24": _("the last day"), "168": _("the last 7 days"), "720": _("the last 30 days")}
_MAX_ID = 2**63 - 1
_COMMON = frozenset({"change", "id", "window", "force"})


def _text(label: Any, length: int, **options: Any) -> forms.CharField:
    return forms.CharField(label=label, max_length=length, required=False, **options)


def _flag(label: Any) -> forms.TypedChoiceField:
    """Return a field for yes, no, or neither."""
    answers = [("", "-"), ("on", _("Yes")), ("off", _("No"))]
    return forms.TypedChoiceField(
        label=label, choices=answers, coerce=lambda text: text == "on", empty_value=None, required=False
    )


class NamesField(forms.CharField):
    """Names, separated by commas, as a tuple: empty for ``-``, None for an empty field."""

    def __init__(self, label: Any) -> None:
        super().__init__(label=label, max_length=4000, required=False, help_text=_("Separated by commas; - is none."))

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value)
        return tuple(each for part in text.split(",") if (each := part.strip()) not in {"", "-"}) if text else None


class DraftForm(forms.Form):
    """Fields of every draft: the kind of change, the row, and the window."""

    resource: Resource
    title: Any
    changes: tuple[Write, ...] = tuple(Write)
    offers_force = False
    """Whether the page shows ``force``: once the draft was refused for something that it overrides."""

    change = forms.ChoiceField(label=_("What happens"))
    id = forms.IntegerField(
        label=_("Id of the row"),
        min_value=1,
        max_value=_MAX_ID,
        required=False,
        help_text=_("Of the one that is changed or removed. Fields that are left empty stay as they are."),
    )
    window = forms.ChoiceField(label=_("Requests of"), choices=list(WINDOWS.items()), initial="24")
    force = forms.BooleanField(
        label=_("Try it all the same"),
        required=False,
        help_text=_("The draft is tried although it is refused for the reason above. Trying changes nothing."),
    )

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.offers_force = bool(self.data.get("force"))
        words = {Write.CREATE: _("a new one"), Write.UPDATE: _("one is changed"), Write.DELETE: _("one is removed")}
        if "change" in self.fields:
            self.fields["change"].choices = [(each.value, words[each]) for each in self.changes]  # type: ignore[attr-defined]  # a ChoiceField
        last = [name for name in ("change", "id", "window", "force") if name in self.fields]
        self.order_fields([*(name for name in self.fields if name not in _COMMON), *last])

    def proposal_and_window(self) -> dict[str, Any] | None:
        """Return the proposal and the window; None if the API's serializer refuses them, with errors on the form."""
        values, end = self.cleaned_data, timezone.now()
        data = {
            **self.proposal(),
            "force": values["force"],
            "start_time": (end - timedelta(hours=int(values["window"]))).isoformat(),
            "end_time": end.isoformat(),
        }
        form = BacktestInput(data=data)
        if form.is_valid():
            return dict(form.validated_data)
        self._add_errors(form.errors)
        return None

    def proposal(self) -> dict[str, Any]:
        """Return the proposal under the names of the API."""
        change = self.cleaned_data["change"]
        return {
            "resource": self.resource.value,
            "change": change,
            "id": self.cleaned_data.get("id"),
            "values": {} if change == Write.DELETE else self.values(),
        }

    def refuse(self, error: Refusal | ValidationError) -> None:
        """Show why the draft is refused, and offer ``force`` if it overrides that."""
        self.offers_force = self.offers_force or isinstance(error, Overridable)
        if isinstance(error, ValidationError) and hasattr(error, "error_dict"):
            self._add_errors(error.message_dict)
        else:
            self.add_error(None, messages_of(error))

    def values(self) -> dict[str, Any]:
        """Return the values of the draft under the names of the API, without empty ones."""
        given = {name: value for name, value in self.cleaned_data.items() if name not in _COMMON}
        return {name: value for name, value in given.items() if value not in ("", None, [])}

    def _add_errors(self, errors: Mapping[str, Any]) -> None:
        inner = errors.get("values")
        by_field = {**errors, **inner, "values": ()} if isinstance(inner, Mapping) else errors
        for name, words in by_field.items():
            place = name if name in self.fields else None
            for each in _texts(words):
                self.add_error(place, each if place or not name else f"{name}: {each}")


def _texts(errors: Any) -> Iterator[str]:
    """Yield the text of every error; those of a list are nested, by the index of the wrong item."""
    if isinstance(errors, Mapping):
        errors = list(errors.values())
    if not isinstance(errors, list | tuple):
        yield str(errors)
        return
    for each in errors:
        yield from _texts(each)


class WafRuleDraft(DraftForm):
    """A WAF rule; replayed as if it blocked."""

    resource, title = Resource.WAF_RULES, _("WAF rule")

    name = _text(_("Name"), 100)
    pattern = PatternField(label=_("Pattern"), required=False, widget=forms.Textarea(attrs={"rows": 3}))
    operator = forms.ChoiceField(label=_("Operator"), choices=[("", "-"), *choices(Operator)], required=False)
    targets = forms.MultipleChoiceField(
        label=_("Looks at"), choices=choices(Target), required=False, widget=forms.CheckboxSelectMultiple
    )
    category = forms.ChoiceField(label=_("Category"), choices=[("", "-"), *choices(Category)], required=False)
    score = forms.IntegerField(label=_("Score"), min_value=1, max_value=10, required=False)
    domain = _text(_("Only for the domain"), 255)
    path_prefix = _text(_("Only below the path"), 500)

    def values(self) -> dict[str, Any]:
        return {**super().values(), "action": Action.BLOCK.value}


class BlockDraft(DraftForm):
    """A blocklist entry."""

    resource, title = Resource.BLOCKLIST, _("Blocklist entry")

    ip = _text(_("Address or network"), 64)


class AllowDraft(DraftForm):
    """An allowlist entry."""

    resource, title = Resource.ALLOWLIST, _("Allowlist entry")

    ip = _text(_("Address or network"), 64)
    domain = _text(_("Only for the domain"), 255)
    inspect = _flag(_("Country and WAF rules are still looked at"))


class CountryDraft(DraftForm):
    """A blocked country."""

    resource, title = Resource.COUNTRIES, _("Blocked country")
    changes = (Write.CREATE, Write.DELETE)

    country_code = forms.ChoiceField(label=_("Country"), choices=choices_after("-"), required=False)


class DomainDraft(DraftForm):
    """A domain."""

    resource, title = Resource.DOMAINS, _("Domain")

    name = _text(_("Name"), 255)
    access = forms.ChoiceField(label=_("Access"), choices=[("", "-"), *choices(Access)], required=False)


class AccessRuleDraft(DraftForm):
    """An access rule, or its place in the order."""

    resource, title = Resource.ACCESS_RULES, _("Access rule")

    name = _text(_("Name"), 100)
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
    countries = NamesField(_("Codes of countries"))
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
    """A share link, which has a token: a draft cannot make one."""

    resource, title = Resource.SHARE_LINKS, _("Share link")
    changes = (Write.UPDATE, Write.DELETE)

    domain = _text(_("Domain"), 255)
    path_prefix = _text(_("Only below the path"), 500)
    methods = NamesField(_("Methods"))
    days = forms.IntegerField(label=_("For how many days"), min_value=1, max_value=30, required=False)

    def values(self) -> dict[str, Any]:
        given = super().values()
        days = given.pop("days", None)
        end = {"expires_at": (timezone.now() + timedelta(days=days, minutes=-1)).isoformat()} if days else {}
        return {**given, **end}


class GrantDraft(ShareLinkDraft):
    """A grant."""

    resource, title = Resource.GRANTS, _("Grant")
    changes = tuple(Write)

    user = _text(_("User"), 64)
    group = _text(_("Group"), 64)


class DevicePassDraft(DraftForm):
    """A device pass, which its user makes."""

    resource, title = Resource.DEVICE_PASSES, _("Device pass")
    changes = (Write.DELETE,)


class GroupDraft(DraftForm):
    """A group and its scope."""

    resource, title = Resource.GROUPS, _("Group")

    name = _text(_("Name"), 64)
    all_domains = _flag(_("All domains"))
    authorized_domains = NamesField(_("Domains"))


class LicenseScopeDraft(DraftForm):
    """The scope of a license."""

    resource, title = Resource.LICENSES, _("Scope of a license")
    changes = (Write.UPDATE,)

    all_domains = forms.BooleanField(label=_("All domains"), required=False)
    authorized_domains = _text(_("Only these domains, separated by commas"), 4000)

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
