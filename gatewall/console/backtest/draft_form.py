"""Base form of all drafts: common fields and errors, and helpers for the fields."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from gatewall.api.translation import messages_of
from gatewall.kernel.changes import Resource
from gatewall.kernel.refusals import Overridable, Refusal
from gatewall.policy.resources import Write
from gatewall.whatif.backtest.serializers import BacktestInput

WINDOWS = {"1": _("the last hour"), "24": _("the last day"), "168": _("the last 7 days"), "720": _("the last 30 days")}
_MAX_ID = 2**63 - 1
_COMMON = frozenset({"change", "id", "window", "force"})


def text_field(label: Any, length: int, **options: Any) -> forms.CharField:
    """Return a field for a text that may be left empty."""
    return forms.CharField(label=label, max_length=length, required=False, **options)


def flag_field(label: Any) -> forms.TypedChoiceField:
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
    """Whether the page shows ``force``: after a refusal that ``force`` overrides."""

    change = forms.ChoiceField(label=_("Change"))
    id = forms.IntegerField(
        label=_("ID of the row"),
        min_value=1,
        max_value=_MAX_ID,
        required=False,
        help_text=_("Of the row to change or delete. Empty fields keep their values."),
    )
    window = forms.ChoiceField(label=_("Requests from"), choices=list(WINDOWS.items()), initial="24")
    force = forms.BooleanField(
        label=_("Try it anyway"),
        required=False,
        help_text=_("The draft is tried although it is refused for the reason above. Trying changes nothing."),
    )

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.offers_force = bool(self.data.get("force"))
        words = {Write.CREATE: _("create a row"), Write.UPDATE: _("change a row"), Write.DELETE: _("delete a row")}
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
        """Show why the draft is refused, and offer ``force`` if it overrides the refusal."""
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
    """Yield the text of every error; the errors of a list are nested, by the index of the wrong item."""
    if isinstance(errors, Mapping):
        errors = list(errors.values())
    if not isinstance(errors, list | tuple):
        yield str(errors)
        return
    for each in errors:
        yield from _texts(each)
