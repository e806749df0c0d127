"""Forms of proposals by kind: the settings and a restore, besides the drafts of rows."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from django import forms
from django.db import models
from django.utils.translation import gettext_lazy as _

from gatewall.console.backtest.draft_form import DraftForm
from gatewall.console.backtest.forms import FORMS
from gatewall.engine.snapshot import PolicySettings
from gatewall.kernel.changes import Resource
from gatewall.models import SystemSettings
from gatewall.models.settings import bounds
from gatewall.policy.resources import Write

RESTORE = "restore"
_MAX_REVISION = 2**63 - 1


def _field_of(column: "models.Field[Any, Any]") -> forms.Field:
    """Return the field of a setting; an empty field does not change the setting."""
    if column.choices:
        choices = [("", "-"), *((value, value) for value, _label in column.choices)]
        return forms.ChoiceField(label=column.name, choices=choices, required=False)
    low, high = bounds(column)
    return forms.IntegerField(label=column.name, min_value=low, max_value=high, required=False)


_DECIDE = {each.name for each in fields(PolicySettings)}


class _SettingsFields(DraftForm):
    """Fields of the settings that the decision reads."""

    resource, title = Resource.SETTINGS, _("Settings")
    changes = (Write.UPDATE,)
    id = None  # type: ignore[assignment]  # removes the field: there is one row


SettingsDraft = type(
    "SettingsDraft",
    (_SettingsFields,),
    {column.name: _field_of(column) for column in SystemSettings.columns() if column.name in _DECIDE},
)


class RestoreDraft(DraftForm):
    """A restore of an earlier revision."""

    title = _("Restore")
    change = id = None  # type: ignore[assignment]  # removes these fields

    revision = forms.IntegerField(
        label=_("Number of the revision"),
        min_value=1,
        max_value=_MAX_REVISION,
        help_text=_("The policy as it was right after this revision."),
    )

    def proposal(self) -> dict[str, Any]:
        return {RESTORE: self.cleaned_data["revision"]}


PROPOSAL_FORMS: Mapping[str, type[DraftForm]] = {
    **FORMS,
    Resource.SETTINGS.value: SettingsDraft,
    RESTORE: RestoreDraft,
}
"""The forms by kind of proposal: a resource, or ``restore``; the first is the default."""
