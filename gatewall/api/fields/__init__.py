"""What each field of the API means, with an example: for the OpenAPI document, by name.

A key is a field's name, or ``Schema.name`` where it means something else in that schema and in those that
derive from it (``SchemaInput``, ``SchemaChange``). A field that is described at its serializer needs no row.
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
"""How drf-spectacular begins what it says of an enumeration, which repeats its values."""
_METHOD = "Return the "
"""How the docstring of a method begins whose value is the field's."""

Schema = dict[str, Any]


def describe(schemas: Mapping[str, Schema]) -> None:
    """Add description and example to every field of these components that has none, in place."""
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
    """Return the words of a field: those of its schema, of the one that it derives from, or of its name."""
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
