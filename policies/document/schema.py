"""JSON Schema (2020-12) of the policy document, derived from its sections, for editors and pipelines."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from gatewall.api.serializers import MomentField, ShapedField
from policies.document.document import VERSION
from policies.document.expectations import MAX_HEADERS
from policies.document.sections import SECTIONS, SETTINGS, Section, setting_defaults, settings_input

Schema = dict[str, Any]


def schema() -> Schema:
    """Return the JSON Schema of a document."""
    defaults = setting_defaults()
    settings = {name: {**_field(each), "default": defaults[name]} for name, each in settings_input().fields.items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Gatewall policy document",
        "type": "object",
        "properties": {
            "version": {"const": VERSION},
            SETTINGS: {
                **_object(settings, []),
                "description": "The system settings; an omitted setting has its default",
            },
            **{section.name: _section(section) for section in SECTIONS},
        },
        "required": ["version"],
        "additionalProperties": False,
    }


def _section(section: Section) -> Schema:
    fields = section.input.fields
    required = [name for name in section.fields if fields[name].required]
    rows = _object({name: _field(fields[name]) for name in section.fields}, required)
    return {"type": "array", "description": section.title, "items": rows, "maxItems": section.at_most}


def _object(properties: Mapping[str, Any], required: list[str]) -> Schema:
    found: Schema = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    return {**found, "required": required} if required else found


def _field(field: Any) -> Schema:
    found = _without_null(field)
    if not field.allow_null:
        return found
    if "enum" in found:
        return {"enum": [*found["enum"], None]}
    return {"anyOf": [found, {"type": "null"}]}


def _without_null(field: Any) -> Schema:
    match field:
        case ShapedField():
            return dict(field.shape)
        case serializers.ChoiceField():
            return {"enum": [*field.choices, *([""] if field.allow_blank else [])]}
        case serializers.BooleanField():
            return {"type": "boolean"}
        case serializers.IntegerField():
            bounds = {"minimum": field.min_value, "maximum": field.max_value}
            return {"type": "integer", **{name: bound for name, bound in bounds.items() if bound is not None}}
        case MomentField():
            return {"type": "string", "format": "date-time"}
        case serializers.DictField():
            return {"type": "object", "additionalProperties": _field(field.child), "maxProperties": MAX_HEADERS}
        case serializers.ListField():
            most = {"maxItems": field.max_length} if field.max_length else {}
            return {"type": "array", "items": _field(field.child), **most}
        case serializers.Serializer():
            required = [name for name, each in field.fields.items() if each.required]
            return _object({name: _field(each) for name, each in field.fields.items()}, required)
    return {"type": "string", **({"maxLength": field.max_length} if getattr(field, "max_length", None) else {})}
