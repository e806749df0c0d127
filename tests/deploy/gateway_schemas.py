"""Schemas of the objects of Gateway API and Envoy Gateway, as far as the samples and the chart use their fields.

`python -m tests.deploy.gateway_schemas CRDS` extracts them again, after a field was added, from the folder of CRDs in
the chart of Envoy Gateway: `charts/gateway-helm/charts/crds/crds` in the Go module github.com/envoyproxy/gateway.
"""

import importlib
import json
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import django
import jsonschema
import yaml

KEPT = Path(__file__).with_suffix(".json")
SOURCE = {
    "source": "CRDs of github.com/envoyproxy/gateway v1.9.1 and sigs.k8s.io/gateway-api v1.6.1, without the fields that"
    " Gatewall does not use and without descriptions",
    "license": "Apache-2.0, Copyright Envoy Gateway Authors and The Kubernetes Authors",
}
GROUPS = ("gateway.networking.k8s.io", "gateway.envoyproxy.io")
_KEYWORDS = frozenset(
    {"type", "enum", "pattern", "minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum", "required"}
)


def is_of_a_gateway(thing: Mapping[str, Any]) -> bool:
    """Return whether an object belongs to one of these APIs."""
    return str(thing["apiVersion"]).partition("/")[0] in GROUPS


def validate(thing: Mapping[str, Any]) -> None:
    """Validate an object by the schema of its kind. Raises jsonschema.ValidationError, also for unknown fields."""
    _validator(_key(thing)).validate(thing)


@cache
def _validator(key: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads(KEPT.read_text("utf-8"))["schemas"][key])


def extracted(crds: Iterable[Mapping[str, Any]], things: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the schemas of the kinds of these objects, with the fields that they have."""
    whole = {
        f"{crd['spec']['group']}/{version['name']} {crd['spec']['names']['kind']}": version["schema"]["openAPIV3Schema"]
        for crd in crds
        for version in crd["spec"]["versions"]
    }
    kinds: dict[str, list[Mapping[str, Any]]] = {}
    for thing in things:
        kinds.setdefault(_key(thing), []).append(thing)
    return {key: _pruned(whole[key], kinds[key]) for key in sorted(kinds)}


def _key(thing: Mapping[str, Any]) -> str:
    return f"{thing['apiVersion']} {thing['kind']}"


def _pruned(schema: Mapping[str, Any], values: list[Any]) -> dict[str, Any]:
    """Return the schema reduced to the properties of a value."""
    kept: dict[str, Any] = {keyword: schema[keyword] for keyword in schema if keyword in _KEYWORDS}
    if "properties" in schema:
        names = sorted({name for each in values for name in each} & set(schema["properties"]))
        kept["properties"] = {
            name: _pruned(schema["properties"][name], [each[name] for each in values if name in each]) for name in names
        }
        kept["additionalProperties"] = False
    if "items" in schema:
        kept["items"] = _pruned(schema["items"], [item for each in values for item in each])
    return kept


def main(folder: Path) -> None:
    """Write the schemas of all objects of the samples and the chart."""
    django.setup()
    things = importlib.import_module("tests.deploy.test_gateway").everything()
    crds = [
        crd for path in folder.rglob("*.yaml") for crd in yaml.safe_load_all(path.read_text("utf-8")) if crd is not None
    ]
    crds = [crd for crd in crds if crd["kind"] == "CustomResourceDefinition"]
    KEPT.write_text(json.dumps(SOURCE | {"schemas": extracted(crds, things)}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
