"""Excerpts of a proxy's sample configuration that fix a failed check, with our addresses filled in."""

from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import dedent

from gatewall.proxy_config.rendering import Place, render


@dataclass(frozen=True, slots=True)
class Part:
    """Lines of a file, from the first containing ``first`` to the next containing ``last`` (empty: to the end)."""

    file: str
    first: str
    last: str = ""


@dataclass(frozen=True, slots=True)
class Snippet:
    """Text of a file."""

    file: str
    text: str


_NGINX_HEADERS = (
    Part("gatewall-forwarding.conf", "include gatewall/gatewall-visitors.conf", "proxy_set_header X-Forwarded-Uri"),
)
_NGINX_ANSWERS = (
    Part("gatewall-protect.conf", "# 401: sign in", "add_header Retry-After"),
    Part("gatewall-locations.conf", "# Not signed in", "return 302"),
)
_NGINX_SUBREQUEST = (
    Part("gatewall-protect.conf", "auth_request /_gatewall/auth", "satisfy all"),
    Part("gatewall-locations.conf", "# The question nginx asks", "@gatewall_closed;"),
    Part("site.conf.example", "server {"),
)
_TRAEFIK_HEADERS = (
    Part("dynamic/gatewall.yml", "# What a visitor sends in", "X-Envoy-Auth-Partial-Body"),
    Part("dynamic/gatewall.yml", "# 200 lets through", "maxResponseBodySize"),
)
_CADDY_SUBREQUEST = (Part("gatewall.caddy", "# The question.", "header_up -Transfer-Encoding"),)
_CADDY_HEADERS = (*_CADDY_SUBREQUEST, Part("gatewall.caddy", "# What a visitor sends", "-X-Url-Scheme"))
_HAPROXY_HEADERS = (Part("haproxy.cfg.example", "# What a visitor sends", "X-Forwarded-Proto https"),)
_HAPROXY_SUBREQUEST = (Part("haproxy.cfg.example", "# Everything else:", "default_backend site"),)
_ENVOY_HEADERS = (
    Part("envoy.yaml", "# The visitor is who opened", "- remove: x-url-scheme"),
    Part("envoy.yaml", "- name: envoy.filters.http.header_mutation", "OVERWRITE_IF_EXISTS_OR_ADD"),
)
_ENVOY_SUBREQUEST = (Part("envoy.yaml", "- name: envoy.filters.http.ext_authz", "path_prefix:"),)
_ENVOY_ANSWERS = (Part("envoy.yaml", "allowed_client_headers:", "allowed_client_headers_on_success"),)
_GATEWAY_SUBREQUEST = (Part("gateway.yaml", "# Every route of the Gateway", "path:"),)
_GATEWAY_HEADERS = (Part("gateway.yaml", "kind: ClientTrafficPolicy", "- x-url-scheme"),)
_INGRESS = (Part("site.yaml", "# A site behind Gatewall", "---"),)
_INGRESS_HEADERS = (Part("controller.yaml", "# What the controller itself"),)


def _of(
    subrequest: tuple[Part, ...], headers: tuple[Part, ...], answers: tuple[Part, ...], **more: tuple[Part, ...]
) -> dict[str, tuple[Part, ...]]:
    same = dict.fromkeys(("client-address", "host", "method", "uri"), headers)
    return {"asked": subrequest, "connections": subrequest, **same, "sign-in": answers, "refusal": answers, **more}


_PARTS: Mapping[str, Mapping[str, tuple[Part, ...]]] = {
    "nginx": _of(
        _NGINX_SUBREQUEST,
        _NGINX_HEADERS,
        _NGINX_ANSWERS,
        identity=(Part("gatewall-protect.conf", "# What a visitor", "proxy_set_header X-Gatewall-Decision"),),
        hidden=(Part("gatewall-locations.conf", "# Not for the public."),),
        **{"asked-every-time": (Part("gatewall-locations.conf", "# Answers are never kept", "proxy_store off"),)},
    ),
    "caddy": _of(
        (Part("Caddyfile.example", "# A site"), *_CADDY_SUBREQUEST),
        _CADDY_HEADERS,
        (Part("gatewall.caddy", "@gatewall_no status", 'respond "This site'),),
        identity=(Part("gatewall.caddy", "@gatewall_yes status", "header >X-Gatewall"),),
        hidden=(Part("gatewall.caddy", "# Not for the public.", "respond @gatewall_hidden"),),
        **{"asked-every-time": _CADDY_SUBREQUEST},
    ),
    "traefik": _of(
        (Part("dynamic/site.yml", "# A site"), _TRAEFIK_HEADERS[1]),
        _TRAEFIK_HEADERS,
        (Part("dynamic/gatewall.yml", "# To Traefik every 2xx", "query:"), _TRAEFIK_HEADERS[1]),
        identity=(Part("dynamic/gatewall.yml", "# Each of them is the gate's", "- Authorization"),),
        hidden=(Part("dynamic/gatewall.yml", "# Not for the public", "service: gatewall"),),
        **{"asked-every-time": _TRAEFIK_HEADERS[1:]},
    ),
    "haproxy": _of(
        _HAPROXY_SUBREQUEST,
        _HAPROXY_HEADERS,
        _HAPROXY_SUBREQUEST,
        identity=_HAPROXY_HEADERS,
        hidden=(Part("haproxy.cfg.example", "# Guard page, own account", "404 if gatewall_hidden"),),
        **{"asked-every-time": _HAPROXY_SUBREQUEST},
    ),
    "envoy": _of(
        _ENVOY_SUBREQUEST,
        _ENVOY_HEADERS,
        _ENVOY_ANSWERS,
        identity=(Part("envoy.yaml", "# Each is the gate's", "- exact: authorization"),),
        hidden=(Part("envoy.yaml", "# Not for the public; and", "disabled: true"),),
        **{"asked-every-time": _ENVOY_SUBREQUEST},
    ),
    "envoy-gateway": _of(
        _GATEWAY_SUBREQUEST,
        _GATEWAY_HEADERS,
        _GATEWAY_SUBREQUEST,
        identity=(Part("gateway.yaml", "# Each is the gate's", "- authorization"),),
        hidden=(Part("gatewall.yaml", "# Guard page, own account"),),
        **{"asked-every-time": _GATEWAY_SUBREQUEST},
    ),
    "ingress-nginx": _of(
        _INGRESS,
        _INGRESS_HEADERS,
        _INGRESS,
        identity=_INGRESS,
        hidden=(Part("site.yaml", "# Not for the public"),),
        **{"asked-every-time": _INGRESS},
    ),
}
"""Parts that fix a check, by kind of proxy. They do not fix an untrusted peer or a way around the proxy."""


def parts_of(kind: str, check: str) -> tuple[Part, ...]:
    """Return the parts of a proxy's samples that concern a check."""
    return _PARTS[kind].get(check, ())


def snippets(kind: str, check: str, place: Place) -> list[Snippet]:
    """Return the excerpts that fix a check with this proxy."""
    texts = {file.name: file.text for file in render(kind, place)}
    return [
        Snippet(f"deploy/{kind}/{part.file}", dedent("\n".join(excerpt(texts[part.file].splitlines(), part))))
        for part in parts_of(kind, check)
    ]


def samples(kind: str, place: Place) -> list[Snippet]:
    """Return all sample files of this proxy, filled in."""
    return [Snippet(f"deploy/{kind}/{file.name}", file.text) for file in render(kind, place)]


def excerpt(lines: list[str], part: Part) -> list[str]:
    """Return the lines of a part. Raises ValueError if the file does not contain it."""
    begins = next((number for number, line in enumerate(lines) if part.first in line), None)
    if begins is None:
        raise ValueError(f"{part.first!r} is not in {part.file}")
    if not part.last:
        return lines[begins:]
    ends = next((number for number, line in enumerate(lines) if number > begins and part.last in line), None)
    if ends is None:
        raise ValueError(f"{part.last!r} is not in {part.file} behind {part.first!r}")
    return lines[begins : ends + 1]
