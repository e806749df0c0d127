"""Form fields of an access rule's conditions; all of them work without a script."""

from typing import Any

from django import forms
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from gatewall.engine.access_rules.rules import PathMatch
from policies.access_conditions import MAX_PATHS
from policies.admin.rules import WordsField

_EMPTY_ROWS = 3
_MATCHES = ((PathMatch.PREFIX, _("path and below")), (PathMatch.EXACT, _("this path")), (PathMatch.GLOB, _("glob")))


class PathRows(forms.Widget):
    """Rows of a match and a path, with empty rows to add more; a row without a path is ignored."""

    template_name = "admin/policies/path_rows.html"

    def get_context(self, name: str, value: Any, attrs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context(name, value, attrs)
        rows = value if isinstance(value, list) else []
        empty = {"match": PathMatch.PREFIX.value, "value": ""}
        context["widget"]["rows"] = [*rows, *[empty] * min(_EMPTY_ROWS, max(0, MAX_PATHS - len(rows)))]
        context["widget"]["matches"] = [(match.value, label) for match, label in _MATCHES]
        return context

    def format_value(self, value: Any) -> Any:
        return value

    def value_from_datadict(self, data: Any, files: Any, name: str) -> list[dict[str, str]]:
        rows = zip(data.getlist(f"{name}_match"), data.getlist(f"{name}_value"), strict=False)
        return [{"match": match, "value": path.strip()} for match, path in rows if path.strip()]

    def value_omitted_from_data(self, data: Any, files: Any, name: str) -> bool:
        return f"{name}_value" not in data


class PathsField(forms.Field):
    """Edit a list of paths; the model's validator checks them."""

    widget = PathRows

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(list(initial or []) != list(data or []))


class NumbersField(WordsField):
    """Edit a list of whole numbers as text."""

    def to_python(self, value: Any) -> Any:
        words = super().to_python(value)
        if not all(word.isascii() and word.isdigit() and len(word) < 12 for word in words):
            raise ValidationError(_("whole numbers, separated by commas"), code="invalid")
        return [int(word) for word in words]

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(WordsField.to_python(self, data) != [str(number) for number in initial or []])


class TimeOfDayField(forms.CharField):
    """Edit a time of day; an empty field is None."""

    def __init__(self, **options: Any) -> None:
        widget = forms.TimeInput(attrs={"type": "time"})
        super().__init__(required=False, empty_value=None, max_length=5, widget=widget, **options)


class UserNamesField(WordsField):
    """Edit users by name, if there are too many users to choose from a list."""

    def clean(self, value: Any) -> Any:
        names = super().clean(value)
        users = get_user_model()._default_manager  # noqa: SLF001 - documented API
        found = [users.filter(username__iexact=name).first() for name in names]
        if missing := [name for name, user in zip(names, found, strict=True) if user is None]:
            words = _("there is no user %(name)s")
            raise ValidationError(words, params={"name": ", ".join(missing)}, code="unknown")
        return found

    def prepare_value(self, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return ", ".join(getattr(each, "username", str(each)) for each in value)
        return value

    def has_changed(self, initial: Any, data: Any) -> bool:
        before = sorted(user.username.lower() for user in initial or [])
        return bool(sorted(name.lower() for name in self.to_python(data)) != before)
