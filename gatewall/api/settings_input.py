"""The serializer of system settings as sent, derived from their columns."""

from typing import Any

from django.core.validators import RegexValidator
from django.db import models
from rest_framework import serializers

from gatewall.api.serializers import FlagField, StrictInput, TextField, WholeNumberField
from gatewall.models import SystemSettings
from gatewall.models.settings import bounds


class SettingsInput(StrictInput):
    """Any subset of the settings."""

    def get_fields(self) -> "dict[str, serializers.Field[Any, Any, Any, Any]]":
        fields = {column.name: _input_of(column) for column in SystemSettings.columns()}
        for column in SystemSettings.columns():
            fields[column.name].help_text = str(column.help_text)
        return fields


def _input_of(column: "models.Field[Any, Any]") -> "serializers.Field[Any, Any, Any, Any]":
    if column.choices:
        return serializers.ChoiceField(choices=[value for value, _ in column.choices], required=False)
    if isinstance(column, models.BooleanField):
        return FlagField(required=False)
    if isinstance(column, models.IntegerField):
        low, high = bounds(column)
        return WholeNumberField(min_value=low, max_value=high, required=False)
    patterns = [each for each in column.validators if isinstance(each, RegexValidator)]
    return TextField(max_length=column.max_length, allow_blank=True, required=False, validators=patterns)
