"""Descriptions and examples of the API's fields for the OpenAPI document, by name.

A key is a field's name, or ``Schema.name`` if the field has another meaning in that schema and in those derived from it
(``SchemaInput``, ``SchemaChange``). A field with a description at its serializer needs no row.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from gatewall.api.fields.accounts import ACCOUNTS
from gatewall.api.fields.common import COMMON, Words
from gatewall.api.fields.decisions import DECISIONS
from gatewall.api.fields.figures import FIGURES
from gatewall.api.fields.policy import POLICY
from gatewall.api.fields.system import SYSTEM
from gatewall.api.fields.whatif import WHATIF

FIELDS: Mapping[str, Words] = {**COMMON, **ACCOUNTS, **DECISIONS, **FIGURES, **POLICY, **SYSTEM, **WHATIF}
_DERIVED = ("Input", "Change", "WithChanges", "WithResult", "WithReplay", "WithData", "Page", "Stats")

_GENERATED = "* `"
"""Prefix of drf-spectacular's description of an enumeration, which repeats its values."""
_METHOD = "Return the "
"""Prefix of the docstring of a serializer method, which is no description of its field."""

Schema = dict[str, Any]


def describe(schemas: Mapping[str, Schema]) -> None:
    """Add description and example to the fields of these components that have none, in place."""
    for name, properties in _objects(schemas):
        for field, schema in properties.items():
            words = words_of(name, field)
            said = schema.get("description", "").partition(_GENERATED)[0].strip()
            if said:
                schema["description"] = said
            if words is None:
                continue
            if not said or said.startswith(_METHOD):
                schema["description"] = words.text
            if words.example is not None and not schema.keys() & {"$ref", "examples", "default"}:
                schema["examples"] = [words.example]


def words_of(schema: str, field: str) -> Words | None:
    """Return description and example of a field: by its schema, by the original schema, or by its name alone."""
    origin = schema
    for ending in _DERIVED:
        origin = origin.removesuffix(ending)
    for key in (f"{schema}.{field}", f"{origin}.{field}", field):
        if key in FIELDS:
            return FIELDS[key]
    return None


def _objects(schemas: Mapping[str, Schema]) -> Iterator[tuple[str, dict[str, Schema]]]:
    for name, schema in schemas.items():
        yield name, schema.get("properties", {})
