"""Envoy Gateway: the sample as translated by Envoy Gateway itself, and Envoy with that translation.

`python -m tests.proxies.every.envoy_gateway PATH/TO/egctl` translates the sample again, after every change of it.
egctl needs Go: `go install github.com/envoyproxy/gateway/cmd/egctl@v1.9.1`.
"""

import hashlib
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from gatewall.proxy_config.rendering import Place, render

VERSION = "v1.9.1"
FOLDER = Path(__file__).resolve().parent / "envoy_gateway"
"""The translations, by the place that the sample was rendered for."""
PLACES = {
    "default": Place(),
    "prefix": Place(root_path="/gate"),
    "prefix-and-guard-host": Place(root_path="/gate", guard_host="wall.example.com"),
}
COMMAND = ("experimental", "translate", "--from", "gateway-api", "--to", "xds", "--output", "yaml", "--file", "-")
SERVICES = {("gatewall", "gatewall-auth"): 9998, ("gatewall", "gatewall"): 9999, ("default", "site"): 80}
"""The Services that the sample names, and their ports."""
_CLUSTER = """
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: { name: eg }
spec: { controllerName: gateway.envoyproxy.io/gatewayclass-controller }
---
apiVersion: v1
kind: Namespace
metadata: { name: gatewall }
---
apiVersion: v1
kind: Namespace
metadata: { name: default }
"""
_SERVICE = """---
apiVersion: v1
kind: Service
metadata: {{ name: {name}, namespace: {namespace} }}
spec: {{ type: ClusterIP, clusterIP: 10.96.0.1, ports: [{{ name: http, port: {port}, targetPort: {port} }}] }}
"""


def resources(place: Place) -> str:
    """Return the objects of the sample, and the cluster objects that it refers to."""
    services = [_SERVICE.format(namespace=space, name=name, port=port) for (space, name), port in SERVICES.items()]
    files = [f"---\n{file.text}" for file in render("envoy-gateway", place)]
    return "".join([_CLUSTER, *services, *files])


def head(name: str) -> str:
    """Return the first lines of a kept translation: the command, and the digest of its input."""
    digest = hashlib.sha256(resources(PLACES[name]).encode()).hexdigest()
    return f"# egctl {VERSION}: egctl {' '.join(COMMAND)}\n# sha256 of its input: {digest}\n"


def write_translation(egctl: str, name: str) -> Path:
    """Translate the sample for a place and save the result."""
    run = subprocess.run([egctl, *COMMAND], input=resources(PLACES[name]), capture_output=True, text=True, check=True)
    path = FOLDER / f"{name}.yaml"
    path.write_text(head(name) + run.stdout, encoding="utf-8")
    return path


def translation(name: str) -> Mapping[str, Any]:
    """Return the parts of the kept translation by type."""
    dumps = yaml.safe_load((FOLDER / f"{name}.yaml").read_text("utf-8"))["xds"]
    (dump,) = dumps.values()
    return {part["@type"].rpartition(".")[2]: part for part in dump["configs"]}


def static_configuration(name: str, port: int, ports: Mapping[int, int]) -> dict[str, Any]:
    """Return a translation as Envoy reads it from a file: its listener on this port of loopback, the site for every
    host, and for the ports of the Services these on loopback.
    """
    parts = translation(name)
    (listener,) = [
        _plain(each["activeState"]["listener"])
        for each in parts["ListenersConfigDump"]["dynamicListeners"]
        if "defaultFilterChain" in each["activeState"]["listener"]
    ]
    listener["address"] = _loopback(port)
    (manager,) = listener["defaultFilterChain"]["filters"]
    del manager["typedConfig"]["rds"]
    (routes,) = [_plain(each["routeConfig"]) for each in parts["RoutesConfigDump"]["dynamicRouteConfigs"]]
    for host in routes["virtualHosts"]:
        host["domains"] = ["*" if domain == Place().host else domain for domain in host["domains"]]
    manager["typedConfig"]["routeConfig"] = routes
    dumps = parts["EndpointsConfigDump"]["dynamicEndpointConfigs"]
    assignments = {each["endpointConfig"]["clusterName"]: _plain(each["endpointConfig"]) for each in dumps}
    clusters = [
        _static_cluster(_plain(each["cluster"]), assignments, ports)
        for each in parts["ClustersConfigDump"]["dynamicActiveClusters"]
    ]
    return {
        "static_resources": {"listeners": [listener], "clusters": clusters},
        "layered_runtime": parts["BootstrapConfigDump"]["bootstrap"]["layeredRuntime"],
    }


def _static_cluster(
    cluster: dict[str, Any], assignments: Mapping[str, dict[str, Any]], ports: Mapping[int, int]
) -> dict[str, Any]:
    """Return a cluster with static endpoints instead of endpoint discovery."""
    assignment = assignments[cluster.pop("edsClusterConfig")["serviceName"]]
    for locality in assignment["endpoints"]:
        for each in locality["lbEndpoints"]:
            port = each["endpoint"]["address"]["socketAddress"]["portValue"]
            each["endpoint"]["address"] = _loopback(ports[port])
    return cluster | {"type": "STATIC", "loadAssignment": assignment}


def _plain(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message without its type, which the enclosing field implies."""
    return {key: value for key, value in message.items() if key != "@type"}


def _loopback(port: int) -> dict[str, Any]:
    return {"socketAddress": {"address": "127.0.0.1", "portValue": port}}


if __name__ == "__main__":
    for each in PLACES:
        print(write_translation(sys.argv[1], each))  # noqa: T201 - a command
