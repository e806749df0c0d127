"""Excerpts of a proxy's sample configuration that fix a failed check, with our addresses filled in."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

DEPLOY = Path(__file__).resolve().parents[3] / "deploy"
_SAMPLE_ROOT, _SAMPLE_HOST = "/wall", "app.example.com"
_SUFFIXES = frozenset({".caddy", ".cfg", ".conf", ".example", ".lua", ".yaml", ".yml"})
KINDS = {
    "nginx": "nginx",
    "traefik": "Traefik",
    "caddy": "Caddy",
    "haproxy": "HAProxy",
    "envoy": "Envoy",
    "ingress-nginx": "ingress-nginx",
}
"""Folders below ``deploy/`` and ``docs/proxies/``, and the names of the proxies."""


@dataclass(frozen=True, slots=True)
class Part:
    """Lines of a file, from the first containing ``first`` to the next containing ``last`` (empty: to the end)."""

    file: str
    first: str
    last: str = ""


@dataclass(frozen=True, slots=True)
class Snippet:
    """Text of a file. Empty ``text``: the file is not on this machine."""

    file: str
    text: str


@dataclass(frozen=True, slots=True)
class Place:
    """Values to fill in: addresses of the gate and of the control plane, mount point, and host of the site."""

    auth: str
    control: str
    root_path: str
    host: str


_NGINX_TOLD = (
    Part("gatewall-forwarding.conf", "include gatewall/gatewall-visitors.conf", "proxy_set_header X-Forwarded-Uri"),
)
_NGINX_ANSWERS = (
    Part("gatewall-protect.conf", "# 401: sign in", "add_header Retry-After"),
    Part("gatewall-locations.conf", "# Not signed in", "return 302"),
)
_NGINX_ASKED = (
    Part("gatewall-protect.conf", "auth_request /_gatewall/auth", "satisfy all"),
    Part("gatewall-locations.conf", "# The question nginx asks", "@gatewall_closed;"),
    Part("site.conf.example", "server {"),
)
_TRAEFIK_TOLD = (
    Part("dynamic/gatewall.yml", "# What a visitor sends in", "X-Envoy-Auth-Partial-Body"),
    Part("dynamic/gatewall.yml", "# 200 lets through", "maxResponseBodySize"),
)
_CADDY_QUESTION = (Part("gatewall.caddy", "# The question.", "header_up -Transfer-Encoding"),)
_CADDY_TOLD = (*_CADDY_QUESTION, Part("gatewall.caddy", "# What a visitor sends", "-X-Url-Scheme"))
_HAPROXY_TOLD = (Part("haproxy.cfg.example", "# What a visitor sends", "X-Forwarded-Proto https"),)
_HAPROXY_ASKED = (Part("haproxy.cfg.example", "# Everything else:", "default_backend site"),)
_ENVOY_TOLD = (
    Part("envoy.yaml", "# The visitor is who opened", "- remove: x-url-scheme"),
    Part("envoy.yaml", "- name: envoy.filters.http.header_mutation", "OVERWRITE_IF_EXISTS_OR_ADD"),
)
_ENVOY_ASKED = (Part("envoy.yaml", "- name: envoy.filters.http.ext_authz", "path_prefix:"),)
_ENVOY_ANSWERS = (Part("envoy.yaml", "allowed_client_headers:", "allowed_client_headers_on_success"),)
_INGRESS = (Part("site.yaml", "# A site behind Gatewall", "---"),)
_INGRESS_TOLD = (Part("controller.yaml", "# What the controller itself"),)


def _of(
    asked: tuple[Part, ...], told: tuple[Part, ...], answers: tuple[Part, ...], **more: tuple[Part, ...]
) -> dict[str, tuple[Part, ...]]:
    same = dict.fromkeys(("client-address", "host", "method", "uri"), told)
    return {"asked": asked, **same, "sign-in": answers, "refusal": answers, **more}


_PARTS: Mapping[str, Mapping[str, tuple[Part, ...]]] = {
    "nginx": _of(
        _NGINX_ASKED,
        _NGINX_TOLD,
        _NGINX_ANSWERS,
        identity=(Part("gatewall-protect.conf", "# What a visitor", "proxy_set_header X-Gatewall-Decision"),),
        hidden=(Part("gatewall-locations.conf", "# Not for the public."),),
        **{"asked-every-time": (Part("gatewall-locations.conf", "# Answers are never kept", "proxy_store off"),)},
    ),
    "caddy": _of(
        (Part("Caddyfile.example", "# A site"), *_CADDY_QUESTION),
        _CADDY_TOLD,
        (Part("gatewall.caddy", "@gatewall_no status", 'respond "This site'),),
        identity=(Part("gatewall.caddy", "@gatewall_yes status", "header >X-Gatewall"),),
        hidden=(Part("gatewall.caddy", "# Not for the public.", "respond @gatewall_hidden"),),
        **{"asked-every-time": _CADDY_QUESTION},
    ),
    "traefik": _of(
        (Part("dynamic/site.yml", "# A site"), _TRAEFIK_TOLD[1]),
        _TRAEFIK_TOLD,
        (Part("dynamic/gatewall.yml", "# To Traefik every 2xx", "query:"), _TRAEFIK_TOLD[1]),
        identity=(Part("dynamic/gatewall.yml", "# Each of them is the gate's", "- Authorization"),),
        hidden=(Part("dynamic/gatewall.yml", "# Not for the public", "service: gatewall"),),
        **{"asked-every-time": _TRAEFIK_TOLD[1:]},
    ),
    "haproxy": _of(
        _HAPROXY_ASKED,
        _HAPROXY_TOLD,
        _HAPROXY_ASKED,
        identity=_HAPROXY_TOLD,
        hidden=(Part("haproxy.cfg.example", "# Guard page, own account", "404 if gatewall_hidden"),),
        **{"asked-every-time": _HAPROXY_ASKED},
    ),
    "envoy": _of(
        _ENVOY_ASKED,
        _ENVOY_TOLD,
        _ENVOY_ANSWERS,
        identity=(Part("envoy.yaml", "# Each 200 has them all", "- exact: authorization"),),
        hidden=(Part("envoy.yaml", "# Not for the public; and", "disabled: true"),),
        **{"asked-every-time": _ENVOY_ASKED},
    ),
    "ingress-nginx": _of(
        _INGRESS,
        _INGRESS_TOLD,
        _INGRESS,
        identity=_INGRESS,
        hidden=(Part("site.yaml", "# Not for the public"),),
        **{"asked-every-time": _INGRESS},
    ),
}
"""Parts that fix a check, by kind of proxy. For an untrusted peer the proxy's configuration has no fix."""


def parts_of(kind: str, check: str) -> tuple[Part, ...]:
    """Return the parts of a proxy's samples that concern a check."""
    return _PARTS[kind].get(check, ())


def snippets(kind: str, check: str, place: Place) -> list[Snippet]:
    """Return the excerpts that fix a check with this proxy."""
    return [_snippet(kind, part, place) for part in parts_of(kind, check)]


def samples(kind: str, place: Place) -> list[Snippet]:
    """Return all sample files of this proxy, filled in."""
    folder = DEPLOY / kind
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix in _SUFFIXES)
    return [
        Snippet(path.relative_to(DEPLOY.parent).as_posix(), filled(path.read_text("utf-8"), place)) for path in files
    ]


def _snippet(kind: str, part: Part, place: Place) -> Snippet:
    path = DEPLOY / kind / part.file
    name = f"deploy/{kind}/{part.file}"
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError:
        return Snippet(name, "")
    return Snippet(name, filled(dedent("\n".join(excerpt(lines, part))), place))


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


def filled(text: str, place: Place) -> str:
    """Fill our addresses, mount point and host into a sample."""
    auth_port, control_port = (where.rpartition(":")[2] for where in (place.auth, place.control))
    changes = {
        "127.0.0.1:9998": place.auth,
        "127.0.0.1:9999": place.control,
        "port_value: 9998": f"port_value: {auth_port}" if auth_port.isdigit() else "port_value: 9998",
        "port_value: 9999": f"port_value: {control_port}",
        _SAMPLE_HOST: place.host,
        _SAMPLE_ROOT: place.root_path,
    }
    for old, new in changes.items():
        text = text.replace(old, new)
    return text
