"""Form of the conditions of a change: it must be confirmed in time, it is reverted if it refuses too many people."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from gatewall.whatif.plans.applying import MAX_CONFIRM_SECONDS, MAX_WATCH_MINUTES, MAX_WATCHED_PEOPLE, Conditions

_USUAL_MINUTES = 5


class ApplyForm(forms.Form):
    """Conditions under which a plan or the shadow policy is put in force."""

    confirm_minutes = forms.IntegerField(
        label=_("Minutes to confirm it"),
        min_value=0,
        max_value=MAX_CONFIRM_SECONDS // 60,
        initial=_USUAL_MINUTES,
        help_text=_("It is reverted unless somebody confirms it in time. 0: no confirmation is needed."),
    )
    undo_people = forms.IntegerField(
        label=_("Revert it if it refuses more people than"),
        min_value=0,
        max_value=MAX_WATCHED_PEOPLE,
        required=False,
        help_text=_(
            "People who were let in during the last 7 days. Leave both fields empty to never revert it automatically."
        ),
    )
    undo_minutes = forms.IntegerField(
        label=_("Minutes to watch it"), min_value=1, max_value=MAX_WATCH_MINUTES, required=False
    )
    force = forms.BooleanField(label=_("Do it anyway"), required=False)

    def clean(self) -> dict[str, Any]:
        """Refuse a number of people without minutes, and minutes without a number of people."""
        values = super().clean() or {}
        if not self.errors and (values["undo_people"] is None) != (values["undo_minutes"] is None):
            raise ValidationError(_("To revert it automatically, give both a number of people and the minutes."))
        return values

    def conditions(self) -> Conditions:
        """Return the conditions of a valid form."""
        values = self.cleaned_data
        return Conditions(
            confirm_within_seconds=60 * values["confirm_minutes"],
            undo_over_people=values["undo_people"],
            undo_minutes=values["undo_minutes"] or 0,
            force=values["force"],
        )
