"""The kept translation of the sample for Envoy Gateway is current, and guards every route that it should."""

import pytest

from tests.proxies.every import envoy_gateway
from tests.support.processes import request


@pytest.mark.parametrize("name", envoy_gateway.PLACES)
def test_the_kept_translation_is_of_this_sample(name):
    head = (envoy_gateway.FOLDER / f"{name}.yaml").read_text("utf-8").splitlines()[:2]

    told = "translate again: python -m tests.proxies.every.envoy_gateway PATH/TO/egctl"
    assert head == envoy_gateway.head(name).splitlines(), told


@pytest.mark.parametrize("name", envoy_gateway.PLACES)
def test_every_route_is_guarded_except_those_of_gatewall(name):
    (dump,) = envoy_gateway.translation(name)["RoutesConfigDump"]["dynamicRouteConfigs"]
    routes = [route for host in dump["routeConfig"]["virtualHosts"] for route in host["routes"]]

    asked = {route["name"].split("/")[1:3] == ["default", "site"] for route in routes if is_asked_about(route)}
    unasked = {route["name"].split("/")[1] for route in routes if not is_asked_about(route)}
    assert (asked, unasked) == ({True}, {"gatewall"})


def is_asked_about(route):
    return any(name.startswith("envoy.filters.http.ext_authz") for name in route.get("typedPerFilterConfig", {}))


def test_the_gate_sees_the_headers_of_the_policy_and_the_site_all(stubs):
    front = stubs["Envoy Gateway"]

    request(front.port, "/", {"X-Api-Key": "seen", "X-Mine": "unseen"})

    assert (front.gate.last["X-Api-Key"], front.gate.last["X-Mine"]) == ("seen", None)
    assert (front.site.last["X-Api-Key"], front.site.last["X-Mine"]) == ("seen", "unseen")
