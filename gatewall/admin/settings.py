"""Django admin page of the system settings: one row that can only be changed."""

import math
import re
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import models
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from gatewall.admin.settings_words import GROUPS, WORDS
from gatewall.api.service_admin import ServiceAdmin, actor
from gatewall.api.translation import translated
from gatewall.models import SystemSettings
from gatewall.models.settings import bounds
from gatewall.policy import system_settings
from policies import cookie_reach

_ONLY_ROW = "1"
_MIB = 2**20


class WithUnit(forms.NumberInput):
    """The input of a number, followed by its unit."""

    def __init__(self, unit: Any, **attrs: Any) -> None:
        super().__init__({"class": "vIntegerField", **attrs})
        self.unit = unit

    def render(self, *arguments: Any, **options: Any) -> SafeString:
        number = super().render(*arguments, **options)
        return format_html('<span class="with-unit">{} <span aria-hidden="true">{}</span></span>', number, self.unit)


class MebibytesField(forms.FloatField):
    """Edit a number of bytes as mebibytes."""

    def __init__(self, low: int, high: int, **options: Any) -> None:
        super().__init__(**options)
        self.low, self.high = low, high

    def prepare_value(self, value: Any) -> Any:
        return f"{value / _MIB:.10g}" if isinstance(value, int) else value

    def to_python(self, value: Any) -> Any:
        number = super().to_python(value)
        return round(number * _MIB) if number is not None and math.isfinite(number) else number

    def validate(self, value: Any) -> None:
        super().validate(value)
        if not self.low <= value <= self.high:
            words = _("Enter a number from %(low)s to %(high)s.")
            raise ValidationError(words % {"low": f"{self.low // _MIB:,}", "high": f"{self.high // _MIB:,}"}, "range")

    def has_changed(self, initial: Any, data: Any) -> bool:
        return super().has_changed(self.prepare_value(initial), data)


class SystemSettingsAdmin(ServiceAdmin):
    """The current settings, by default unsaved."""

    change_form_template = "admin/system_settings.html"

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> SystemSettings | None:
        return system_settings.current() if object_id == _ONLY_ROW else None

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Return the page, which also shows where visitors sign in and the hosts of the session cookie."""
        words = {
            "title": _("System settings"),
            "subtitle": None,
            "is_single": True,
            "reach": translated(cookie_reach.in_words()),
        }
        shown: HttpResponse = super().changeform_view(request, object_id, form_url, words | (extra_context or {}))
        return shown

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **options: Any) -> Any:
        """Return the field of a setting, with its unit, its choices in words, and its help text."""
        words = WORDS.get(db_field.name)
        if words is None:
            return super().formfield_for_dbfield(db_field, request, **options)
        if words.unit == "MiB":
            unit = WithUnit(words.unit, step="any")
            field: Any = MebibytesField(*bounds(db_field), label=words.label, widget=unit)
        else:
            widget = {"widget": WithUnit(words.unit)} if words.unit else {}
            field = super().formfield_for_dbfield(db_field, request, **options, **widget)
        if words.choices:
            field.choices = [(value, words.choices[value]) for value, _label in db_field.choices]
        field.help_text = _help(db_field)
        return field

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        return [
            (group.title, {"fields": list(group.settings), "classes": (group.anchor,), "description": group.lead})
            for group in GROUPS
        ]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        return redirect("admin:gatewall_systemsettings_change", _ONLY_ROW)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def change_row(self, request: HttpRequest, row: SystemSettings, **values: Any) -> None:
        system_settings.change(actor=actor(request), **values)


def _help(column: "models.Field[Any, Any]") -> SafeString:
    """Return the help text of a setting, with its default, its bounds, and when a change takes effect."""
    parts = re.split(r"`([^`]+)`", str(column.help_text))
    marked = [(format_html("<code>{}</code>", text) if place % 2 else text,) for place, text in enumerate(parts)]
    sentence = format_html_join("", "{}", marked)
    facts = f"{_default(column)} {_range(column)}{WORDS[column.name].effect}"
    return format_html('{}<span class="setting-facts">{}</span>', sentence, facts)


def _default(column: "models.Field[Any, Any]") -> str:
    value, words = column.get_default(), WORDS[column.name]
    if words.choices:
        shown = str(words.choices[value])
    elif isinstance(value, bool):
        shown = _("on") if value else _("off")
    elif isinstance(value, int):
        shown = f"{value // _MIB if words.unit == 'MiB' else value:,} {words.unit}"
    else:
        shown = value or _("empty")
    return _("Default: %(value)s.") % {"value": shown}


def _range(column: "models.Field[Any, Any]") -> str:
    if not isinstance(column, models.IntegerField):
        return ""
    low, high = (each // _MIB if WORDS[column.name].unit == "MiB" else each for each in bounds(column))
    return _("From %(low)s to %(high)s.") % {"low": f"{low:,}", "high": f"{high:,}"} + " "
