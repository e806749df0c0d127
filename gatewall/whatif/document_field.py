"""Serializer field of a policy document as sent."""

from typing import Any

from django.utils.translation import gettext_lazy as _

from gatewall.api.serializers import ShapedField
from policies.document.writing import json_of

_DOCUMENT = {"type": ["string", "object"], "description": "YAML 1.2 or JSON as a text, or a JSON object"}


class DocumentField(ShapedField):
    """A policy document, as a text: YAML, of which JSON is a part."""

    default_error_messages = {"kind": _("must be a text or an object")}

    def __init__(self, **options: Any) -> None:
        super().__init__(_DOCUMENT, **options)

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, str):
            return data
        if isinstance(data, dict):
            return json_of(data)
        return self.fail("kind")
