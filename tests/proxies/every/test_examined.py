"""The doctor before each proxy: with its sample everything is right, with a usual mistake in it the mistake is found."""

import json
import shutil

import pytest

from tests.processes import send, token_of
from tests.proxies.every import kinds
from tests.proxies.every.kinds import KINDS

OTHERS = [name for name in KINDS if name != "nginx"]
"""What nginx is examined for stands in tests/proxies/test_doctor.py."""
NOT_FROM_OUTSIDE = "identity"
FOLDERS = {"Caddy": "caddy", "Traefik": "traefik", "HAProxy": "haproxy", "Envoy": "envoy"}
FORGEABLE = {
    "Caddy": (
        ("gatewall.caddy", "\t\trequest_header -X-Forwarded-*\n", ""),
        ("gatewall.caddy", "\t\t\tmethod GET\n", "\t\t\ttrusted_proxies private_ranges\n\t\t\tmethod GET\n"),
    ),
    "Traefik": (
        ("traefik.yml", "    asDefault: true", "    forwardedHeaders: { insecure: true }\n    asDefault: true"),
        ("dynamic/gatewall.yml", "trustForwardHeader: false", "trustForwardHeader: true"),
    ),
    "HAProxy": (
        ("haproxy.cfg.example", "^x-(forwarded|original", "^x-(original"),
        ("haproxy.cfg.example", "For %[src]", "For %[src] unless { req.hdr(x-forwarded-for) -m found }"),
        ("haproxy.cfg.example", "%[req.hdr(host)]", "%[req.hdr(host)] unless { req.hdr(x-forwarded-host) -m found }"),
    ),
    "Envoy": (
        ("envoy.yaml", "- remove_on_match: { key_matcher: { prefix: x-forwarded- } }", "- remove: x-nothing"),
        ("envoy.yaml", "OVERWRITE_IF_EXISTS_OR_ADD", "ADD_IF_ABSENT"),
    ),
}
"""Each believes what a visitor sends in the place of a proxy."""
FOUND = {
    "Caddy": {"client-address": {"client-forged-by-trusted"}, "host": {"host-forged", "scheme-forged"}},
    "Traefik": {"client-address": {"client-forged-by-trusted"}, "host": {"host-forged", "scheme-forged"}},
    "HAProxy": {"client-address": {"client-forged-by-trusted"}, "host": {"host-forged"}},
    "Envoy": {"client-address": {"client-forged-by-trusted"}},
}
"""What is wrong then: the checks and their findings. The doctor asks from loopback, which is trusted."""


def examined(wall, kind, port):
    control = wall.behind.control
    asked = {"url": f"http://127.0.0.1:{port}/", "proxy": FOLDERS[kind]}
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
    assert set(verdicts.values()) == {"ok"}, json.dumps(report["checks"], indent=1)
    assert report["verdict"] == "ok"


@pytest.mark.parametrize("kind", OTHERS)
def test_what_a_visitor_can_forge_is_found(wall, kind, tmp_path, monkeypatch):
    shutil.copytree(kinds.DEPLOY / FOLDERS[kind], tmp_path / "deploy" / FOLDERS[kind])
    for name, old, new in FORGEABLE[kind]:
        path = tmp_path / "deploy" / FOLDERS[kind] / name
        text = path.read_text("utf-8")
        assert old in text, f"{old!r} is not in {name}"
        path.write_text(text.replace(old, new), "utf-8")
    monkeypatch.setattr(kinds, "DEPLOY", tmp_path / "deploy")
    (tmp_path / "proxy").mkdir()

    with KINDS[kind].start(tmp_path / "proxy", wall.behind) as port:
        report = examined(wall, kind, port)

    assert findings(report, "wrong") == FOUND[kind], json.dumps(report["checks"], indent=1)
    (check,) = [each for each in report["checks"] if each["id"] == "client-address"]
    assert all(snippet["text"] for snippet in check["fix"]["snippets"])
    assert check["fix"]["snippets"]
