"""Forms of Django admin pages that write through services: labels, refusals, re-authentication, dates and times."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from gatewall.api.field_labels import label_of
from gatewall.api.serializers import FIRST_YEAR
from gatewall.api.translation import messages_of
from gatewall.kernel.refusals import Overridable, Refusal

CREDENTIALS = ("current_password", "current_code")
LONGEST_CODE = 64


class ServiceForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """Form that leaves uniqueness to the service and shows its refusal."""

    refusal: Refusal | ValidationError | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for name, field in self.fields.items():
            if not field.label:
                field.label = capfirst(gettext(label_of(name)))
            if isinstance(field.help_text, str) and field.help_text:
                field.help_text = gettext(field.help_text)
        if "force" in self.fields:
            self.fields["force"].label = _("Do it anyway")
            self.fields["force"].help_text = str(what_force_does(self.refusal))

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        if isinstance(self.refusal, ValidationError) and hasattr(self.refusal, "error_dict"):
            for field, words in self.refusal.message_dict.items():
                self.add_error(field if field in self.fields else None, words)
        elif self.refusal is not None:
            self.add_error(None, messages_of(self.refusal))
        return cleaned

    def validate_unique(self) -> None:
        """Skip the check: a service may replace an expired duplicate."""

    def _post_clean(self) -> None:
        self.instance.validate_constraints = lambda **_options: None  # for the same reason
        super()._post_clean()  # type: ignore[misc]  # Django's own, which its stubs leave out


def password_field(help_text: str, *, autocomplete: str = "current-password") -> forms.CharField:
    """Return a form field for a password."""
    widget = forms.PasswordInput(attrs={"autocomplete": autocomplete})
    return forms.CharField(required=False, strip=False, max_length=1024, widget=widget, help_text=help_text)


def code_field(help_text: str) -> forms.CharField:
    """Return a form field for a code of the second factor."""
    widget = forms.TextInput(attrs={"autocomplete": "one-time-code"})
    return forms.CharField(required=False, max_length=LONGEST_CODE, widget=widget, help_text=help_text)


_FORCE_EFFECTS = {
    "backtest-stale": _("The draft is saved over the newer change."),
    "would-lock-you-out": _("The change is made. It is reverted automatically unless somebody confirms it in time."),
    "network-too-large": _("The network is blocked, however large it is."),
    "matches-everything": _("The rule is saved, although it may refuse ordinary requests."),
}


def what_force_does(refusal: object) -> str | Promise:
    """Return what ``force`` does after this refusal; empty if it overrides nothing."""
    return _FORCE_EFFECTS.get(refusal.code, "") if isinstance(refusal, Overridable) else ""


class ProofFields(forms.Form):
    """Fields of re-authentication (password or code), unless the caller's sign-in is fresh."""

    current_password = password_field("Your own: you signed in more than ten minutes ago.")
    current_code = code_field("If you use a second factor: a code of it, in place of the password.")


class FreshForm(ProofFields, ServiceForm):
    """Form that creates a credential: asks for password or code unless the sign-in is fresh."""


class RowsField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]  # not generic at run time
    """Multiple choice of rows; rejects impossible ids without a query."""

    def clean(self, value: Any) -> Any:
        for text in map(str, value or ()):
            if not is_id(text):
                raise ValidationError(self.error_messages["invalid_pk_value"], "invalid_pk_value", {"pk": text[:19]})
        return super().clean(value)


class MomentField(forms.SplitDateTimeField):
    """A date and time in UTC, in the years that the API accepts; browsers show their own pickers."""

    def __init__(self, **options: Any) -> None:
        day: dict[str, Any] = {"type": "date", "aria-label": _("Day")}
        time: dict[str, Any] = {"type": "time", "step": "1", "aria-label": _("Time")}
        options["widget"] = forms.SplitDateTimeWidget(
            date_attrs=day,
            time_attrs=time,
            date_format="%Y-%m-%d",
            time_format="%H:%M:%S",
        )
        super().__init__(**options)
        self.help_text = self.help_text or _("In UTC.")

    def compress(self, data_list: Any) -> Any:
        moment = super().compress(data_list)
        if moment is not None and moment.year < FIRST_YEAR:
            raise ValidationError(f"the year is at least {FIRST_YEAR}", "invalid")
        return moment


def is_id(text: str) -> bool:
    """True for the id of a row that a database may have."""
    return text.isascii() and text.isdigit() and len(text) < 19
