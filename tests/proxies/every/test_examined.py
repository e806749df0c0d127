"""The doctor with each proxy: it finds nothing wrong in the sample, and finds each common mistake."""

import json
import shutil
from contextlib import contextmanager

import pytest

from tests.proxies.every import kinds
from tests.proxies.every.kinds import KINDS
from tests.support.processes import send, token_of

OTHERS = [name for name in KINDS if name != "nginx"]
"""The tests of the doctor with nginx are in tests/proxies/test_doctor.py."""
NOT_FROM_OUTSIDE = "identity"
FOLDERS = {"Caddy": "caddy", "Traefik": "traefik", "HAProxy": "haproxy"}
FOLDERS |= {"Envoy": "envoy", "Envoy Gateway": "envoy-gateway"}
FORGEABLE = {
    "Caddy": (
        ("gatewall.caddy", "\trequest_header -X-Forwarded-*\n", ""),
        ("gatewall.caddy", "\t\tmethod GET\n", "\t\ttrusted_proxies private_ranges\n\t\tmethod GET\n"),
    ),
    "Traefik": (
        ("traefik.yml", "    asDefault: true", "    forwardedHeaders: { insecure: true }\n    asDefault: true"),
        ("dynamic/gatewall.yml", "trustForwardHeader: false", "trustForwardHeader: true"),
    ),
    "HAProxy": (
        ("haproxy.cfg.example", "^(remote-|x-forwarded-|x-original-", "^(remote-|x-original-"),
        ("haproxy.cfg.example", "For %[src]", "For %[src] unless { req.hdr(x-forwarded-for) -m found }"),
        ("haproxy.cfg.example", "%[req.hdr(host)]", "%[req.hdr(host)] unless { req.hdr(x-forwarded-host) -m found }"),
    ),
    "Envoy": (
        ("envoy.yaml", "- remove_on_match: { key_matcher: { prefix: x-forwarded- } }", "- remove: x-nothing"),
        ("envoy.yaml", "OVERWRITE_IF_EXISTS_OR_ADD", "ADD_IF_ABSENT"),
    ),
}
"""Mistakes that make each proxy trust forged headers. One for Envoy Gateway would need its translator."""
FOUND = {
    "Caddy": {"client-address": {"client-forged-by-trusted"}, "host": {"host-forged", "scheme-forged"}},
    "Traefik": {"client-address": {"client-forged-by-trusted"}, "host": {"host-forged", "scheme-forged"}},
    "HAProxy": {"client-address": {"client-forged-by-trusted"}, "host": {"host-forged"}},
    "Envoy": {"client-address": {"client-forged-by-trusted"}},
}
"""The checks that then fail, and their findings. The doctor connects from loopback, which is trusted."""

MUTE = {
    "Caddy": (("Caddyfile.example", "import gatewall 127.0.0.1:8000", "reverse_proxy 127.0.0.1:8000"),),
    "Traefik": (("dynamic/site.yml", "      middlewares: [gatewall]\n", ""),),
    "HAProxy": (
        ("haproxy.cfg.example", "    http-request lua.gatewall unless gatewall_own\n", ""),
        ("haproxy.cfg.example", "status 503 unless gatewall_own or", "status 503 if FALSE !gatewall_own !"),
    ),
    "Envoy": (
        (
            "envoy.yaml",
            "          route: { cluster: site,",
            "          typed_per_filter_config: *unasked\n                          route: { cluster: site,",
        ),
    ),
}
"""Mistakes that make each proxy bypass the gate."""
SHOWN = {
    "Caddy": (("gatewall.caddy", "\trespond @gatewall_hidden 404\n", ""),),
    "Traefik": (("dynamic/gatewall.yml", "      priority: 10001\n", "      priority: 9\n"),),
    "HAProxy": (("haproxy.cfg.example", "    http-request return status 404 if gatewall_hidden\n", ""),),
    "Envoy": (("envoy.yaml", "/wall/(auth|metrics|admin-recover-2fa)(/.*)?", "/wall/nothing"),),
}
"""Mistakes that make each proxy expose the gate's subrequests and metrics."""


def examined(wall, kind, port):
    control = wall.behind.control
    asked = {"url": f"http://127.0.0.1:{port}/", "proxy": FOLDERS[kind], "upstream": f"127.0.0.1:{wall.site.port}"}
    return send(control, token_of(control), "POST", "/system/doctor", asked)


def findings(report, verdict):
    found = {
        check["id"]: {each["code"] for each in check["findings"] if each["verdict"] == verdict}
        for check in report["checks"]
    }
    return {check: codes for check, codes in found.items() if codes}


@pytest.mark.parametrize("kind", OTHERS)
def test_the_sample_is_found_to_be_right(wall, kind):
    report = examined(wall, kind, wall[kind].port)

    verdicts = {check["id"]: check["verdict"] for check in report["checks"] if check["id"] != NOT_FROM_OUTSIDE}
    if kind == "Envoy Gateway":  # which uses its own address for a visitor on loopback
        assert findings(report, "unknown").pop("client-address") == {"client-elsewhere"}
        assert (verdicts.pop("client-address"), report["verdict"]) == ("unknown", "unknown")
        report["verdict"] = "ok"
    assert set(verdicts.values()) == {"ok"}, json.dumps(report["checks"], indent=1)
    assert report["verdict"] == "ok"


@contextmanager
def mistaken(wall, kind, folder, monkeypatch, changes):
    """Run the proxy with its sample in which these texts are replaced; yield its port."""
    shutil.copytree(kinds.DEPLOY / FOLDERS[kind], folder / "deploy" / FOLDERS[kind])
    for name, old, new in changes:
        path = folder / "deploy" / FOLDERS[kind] / name
        text = path.read_text("utf-8")
        assert old in text, f"{old!r} is not in {name}"
        path.write_text(text.replace(old, new), "utf-8")
    monkeypatch.setattr(kinds, "DEPLOY", folder / "deploy")
    (folder / "proxy").mkdir()
    with KINDS[kind].start(folder / "proxy", wall.behind) as port:
        yield port


def shows_lines_for(report, check):
    """Return whether the report has lines of the sample that fix the check."""
    (found,) = [each for each in report["checks"] if each["id"] == check]
    snippets = found["fix"]["snippets"]
    return bool(snippets) and all(snippet["text"] for snippet in snippets)


@pytest.mark.parametrize("kind", FORGEABLE)
def test_a_forgeable_header_is_found(wall, kind, tmp_path, monkeypatch):
    with mistaken(wall, kind, tmp_path, monkeypatch, FORGEABLE[kind]) as port:
        report = examined(wall, kind, port)

    assert findings(report, "wrong") == FOUND[kind], json.dumps(report["checks"], indent=1)
    assert all(shows_lines_for(report, check) for check in FOUND[kind])


@pytest.mark.parametrize("kind", MUTE)
def test_a_proxy_that_bypasses_the_gate_is_found(wall, kind, tmp_path, monkeypatch):
    with mistaken(wall, kind, tmp_path, monkeypatch, MUTE[kind]) as port:
        report = examined(wall, kind, port)

    assert findings(report, "wrong") == {"asked": {"walked-around"}}, json.dumps(report["checks"], indent=1)
    assert len(report["probes"]) == 1
    assert shows_lines_for(report, "asked")


@pytest.mark.parametrize("kind", SHOWN)
def test_exposed_internal_paths_are_found(wall, kind, tmp_path, monkeypatch):
    with mistaken(wall, kind, tmp_path, monkeypatch, SHOWN[kind]) as port:
        report = examined(wall, kind, port)

    assert findings(report, "wrong") == {"hidden": {"not-hidden"}}, json.dumps(report["checks"], indent=1)
    assert shows_lines_for(report, "hidden")
