"""Configuration files of a reverse proxy, rendered for a site, a prefix and addresses.

In a template ``{{ name }}`` is a value; lines between ``{{ if name }}`` and ``{{ end }}`` are left out if it is empty.
"""

import re
from dataclasses import dataclass, replace
from pathlib import Path

_TEMPLATES = Path(__file__).resolve().parent / "templates"
_BLOCK = re.compile(r"^\{\{ if (\w+) \}\}\n(.*?)^\{\{ end \}\}\n", re.DOTALL | re.MULTILINE)
_VALUE = re.compile(r"\{\{ (\w+) \}\}")
KINDS = {
    "nginx": "nginx",
    "traefik": "Traefik",
    "caddy": "Caddy",
    "haproxy": "HAProxy",
    "envoy": "Envoy",
    "envoy-gateway": "Envoy Gateway",
    "ingress-nginx": "ingress-nginx",
}
"""Proxies: folders of templates, below ``deploy/`` and ``docs/proxies/``, and their names."""
PRODUCTS = {"nginx-proxy-manager": "Nginx Proxy Manager"}
"""Products that run nginx themselves: folders of templates to paste, which need the files of ``nginx`` beside them."""
LIMITS_CONNECTIONS = frozenset({"caddy", "envoy"})
"""Proxies that can end a connection after a time, even if it is busy."""
UNIX = "unix:"
_USUAL_PORT = 80
_CONTAINER = "gatewall"
_SUPPORTS_UNIX_SOCKETS = frozenset({"nginx", "caddy"})


@dataclass(frozen=True, slots=True)
class Place:
    """Values to fill in: addresses of data plane, control plane and site, prefix, and hosts.

    An address is ``HOST:PORT``; that of the data plane may be ``unix:/path``. ``guard_host`` is the host of the guard
    page, empty if it is on the host of the site; ``port`` is where visitors reach the proxy, None for the usual one.
    ``resolver`` is the DNS server that nginx asks again for names. ``max_connection_seconds``: when to end an open
    connection, 0 for never.
    """

    auth: str = "127.0.0.1:9998"
    control: str = "127.0.0.1:9999"
    root_path: str = "/wall"
    host: str = "app.example.com"
    upstream: str = "127.0.0.1:8000"
    guard_host: str = ""
    resolver: str = ""
    port: int | None = None
    max_connection_seconds: int = 0


DEFAULT = Place()


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A file of a proxy's configuration: its path below the folder of the proxy, and its text."""

    name: str
    text: str


def render(kind: str, place: Place) -> list[ConfigFile]:
    """Return all configuration files of a proxy; without support for Unix sockets, with the default address instead."""
    values = _values(kind, place)
    folder = _TEMPLATES / kind
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [ConfigFile(path.relative_to(folder).as_posix(), _filled(path.read_text("utf-8"), values)) for path in files]


def to_paste(product: str, place: Place) -> list[ConfigFile]:
    """Return the files to paste into a product's own configuration, which reaches Gatewall's container by name."""
    auth, control = (f"{_CONTAINER}:{address.rpartition(':')[2]}" for address in (place.auth, place.control))
    inside = replace(place, auth=auth, control=control)
    return [file for file in render(product, inside) if file.text]


def can_ask(kind: str, auth: str) -> bool:
    """Return whether this proxy can reach a data plane at that address."""
    return kind in _SUPPORTS_UNIX_SOCKETS or not auth.startswith(UNIX)


def _filled(text: str, values: dict[str, str]) -> str:
    text = _BLOCK.sub(lambda found: found[2] if values[found[1]] else "", text)
    return _VALUE.sub(lambda found: values[found[1]], text)


def _values(kind: str, place: Place) -> dict[str, str]:
    auth = place.auth if can_ask(kind, place.auth) else DEFAULT.auth
    port_suffix = f":{place.port}" if place.port else ""
    guard = f"{place.guard_host}{port_suffix}" if place.guard_host else "$http_host"
    return {
        "auth": auth.replace(UNIX, "unix/") if kind == "caddy" else auth,
        "control": place.control,
        "upstream": place.upstream,
        "site_upstream": "gatewall_site" if place.resolver else place.upstream,
        "resolver": place.resolver,
        "resolve": " resolve" if place.resolver else "",
        "auth_resolve": " resolve" if place.resolver and not auth.startswith(UNIX) else "",
        "site": place.host,
        "guard_host": place.guard_host,
        "guard_host_regex": _literal(place.guard_host),
        "root_path": place.root_path,
        "root_path_regex": _literal(place.root_path),
        "sign_in": f"$scheme://{guard}{place.root_path}/",
        "port_suffix": port_suffix,
        "max_connection_seconds": str(place.max_connection_seconds or ""),
        "no_connection_limit": "" if place.max_connection_seconds else "yes",
        "listen_port": str(place.port or _USUAL_PORT),
        **_split("auth", auth),
        **_split("control", place.control),
        **_split("upstream", place.upstream),
    }


def _split(name: str, authority: str) -> dict[str, str]:
    """Return address and port as separate values, the address quoted for YAML if necessary."""
    address, _, port = authority.rpartition(":")
    return {f"{name}_address": f'"{address.strip("[]")}"' if ":" in address else address, f"{name}_port": port}


def _literal(text: str) -> str:
    """Return a regular expression for a path or host name, which needs no escape inside quotes of any kind."""
    return text.replace(".", "[.]")
