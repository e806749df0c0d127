"""The sample for Envoy Gateway and the objects of the chart: equal, and valid by the schemas of both APIs."""

import copy

import jsonschema
import pytest
import yaml

from gatewall.proxy_config.rendering import Place, render
from tests.deploy import gateway_schemas
from tests.deploy.test_chart import EVERYTHING, rendered
from tests.proxies.every.kinds import UNTRUSTED


def of_the_sample(place=None):
    """Return the objects of the sample by kind and name."""
    objects = [each for file in render("envoy-gateway", place or Place()) for each in yaml.safe_load_all(file.text)]
    return {(each["kind"], each["metadata"]["name"]): each for each in objects}


def of_the_chart():
    return {key: each for key, each in rendered(EVERYTHING).items() if gateway_schemas.is_of_a_gateway(each)}


def everything():
    """Return all objects of the samples and the chart."""
    return [*of_the_sample(Place(guard_host="wall.example.com")).values(), *of_the_chart().values()]


def ids(thing):
    return f"{thing['kind']} {thing['metadata']['name']}"


@pytest.mark.parametrize("thing", everything(), ids=ids)
def test_the_schemas_of_gateway_api_and_envoy_gateway_accept_every_object(thing):
    gateway_schemas.validate(thing)


def without_parts(value, path=()):
    """Yield each copy of the value with one scalar replaced by another type, and the path of that scalar."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            for part, where in without_parts(value[key], (*path, key)):
                changed = copy.copy(value)
                changed[key] = part
                yield changed, where
    else:
        yield {"a": "b"}, path


@pytest.mark.parametrize("thing", everything(), ids=ids)
def test_the_schemas_refuse_a_wrong_type_anywhere_and_an_unknown_field(thing):
    for changed, where in without_parts(thing):
        if where[0] not in {"metadata", "apiVersion", "kind"}:
            with pytest.raises(jsonschema.ValidationError):
                gateway_schemas.validate(changed)
    with pytest.raises(jsonschema.ValidationError):
        gateway_schemas.validate(thing | {"spec": thing["spec"] | {"surprise": 1}})


def spec(thing):
    return copy.deepcopy(thing["spec"])


def test_the_chart_renders_our_own_pages_as_in_the_sample():
    sample, chart = of_the_sample(), of_the_chart()

    ours, theirs = spec(chart["HTTPRoute", "gatewall"]), spec(sample["HTTPRoute", "gatewall"])
    assert ours["rules"] == theirs["rules"]
    assert ours["hostnames"] == EVERYTHING["gateway"]["hosts"]
    assert ours["parentRefs"] == EVERYTHING["gateway"]["parentRefs"]
    for key in (
        ("HTTPRouteFilter", "gatewall-hidden"),
        ("BackendTrafficPolicy", "gatewall"),
        ("SecurityPolicy", "gatewall-unasked"),
    ):
        assert chart[key]["spec"] == sample[key]["spec"]


@pytest.mark.parametrize(("name", "namespace"), [("gatewall", "gatewall"), ("inner", "infra")])
def test_the_chart_gives_every_gateway_the_policies_of_the_sample(name, namespace):
    sample, chart = of_the_sample(), of_the_chart()

    target = [{"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": name}]
    for kind in ("SecurityPolicy", "ClientTrafficPolicy"):
        ours, theirs = chart[kind, f"gatewall-gateway-{name}"], spec(sample[kind, "gatewall"])
        if kind == "SecurityPolicy":
            theirs["extAuth"]["headersToExtAuth"].append("x-mine")
            theirs["extAuth"]["bodyToExtAuth"] = {"maxRequestBytes": 65_536}
        assert ours["metadata"]["namespace"] == namespace
        assert ours["spec"] == theirs | {"targetRefs": target}


def test_the_policy_of_a_gateway_in_another_namespace_may_ask_the_service_and_nothing_else():
    grants = [each for (kind, _), each in of_the_chart().items() if kind == "ReferenceGrant"]

    assert [each["spec"] for each in grants] == [
        {
            "from": [{"group": "gateway.envoyproxy.io", "kind": "SecurityPolicy", "namespace": "infra"}],
            "to": [{"group": "", "kind": "Service", "name": "gatewall-auth"}],
        }
    ]
    assert "namespace" not in grants[0]["metadata"]


def test_the_services_that_the_objects_name_are_those_of_the_chart():
    found = rendered(EVERYTHING)
    named = {("gatewall", 9999), ("gatewall-auth", 9998)}

    for thing in (*of_the_sample().values(), *of_the_chart().values()):
        for name, port in named_services(thing):
            assert (name, port) in named | {("site", 80)}
    for name, port in named:
        assert [each["port"] for each in found["Service", name]["spec"]["ports"]] == [port]


def named_services(value):
    """Yield the entries of every backendRefs, at any depth."""
    if isinstance(value, dict):
        for reference in value.get("backendRefs", []):
            yield reference["name"], reference["port"]
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from named_services(part)


def test_every_untrusted_header_is_removed_early():
    early = of_the_sample()["ClientTrafficPolicy", "gatewall"]["spec"]["headers"]["earlyRequestHeaders"]
    prefixes = tuple(each["value"] for each in early["removeOnMatch"] if each["type"] == "Prefix")

    assert {name.lower() for name in UNTRUSTED if not name.lower().startswith(prefixes)} <= set(early["remove"])


def test_a_disabled_gateway_is_not_rendered():
    assert not [each for each in rendered().values() if gateway_schemas.is_of_a_gateway(each)]
