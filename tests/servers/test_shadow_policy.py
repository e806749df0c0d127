"""The shadow policy on a running installation: agent, control plane and data plane as processes."""

import pytest

from gatewall.install.ports import free_port
from tests.support.cast import OFFICE
from tests.support.processes import agent, control_plane, data_plane, prepare, request, send, token_of, wait_until
from tests.support.servers import about, ask

WANTED = f"""\
version: 1
domains:
- name: {OFFICE}
waf_rules:
- name: odd header
  pattern: odd-value
  targets: [headers]
  score: 5
"""
"""A policy that refuses the header ``x-odd``, which the log does not record."""
CHALLENGED = (401, "credential-missing")


@pytest.fixture
def ports(tmp_path):
    control, data = free_port(), free_port()
    prepare(tmp_path)
    with (
        agent(tmp_path),
        control_plane(tmp_path, control, GATEWALL_WORKERS="1"),
        data_plane(tmp_path, data, GATEWALL_WORKERS="1"),
    ):
        yield {"control": control, "data": data}


def test_a_shadow_policy_from_its_document_to_the_log_and_away(ports, tmp_path):
    control, token = ports["control"], token_of(ports["control"])

    def call(method, path, body=None):
        return send(control, token, method, path, body)

    def status():
        return call("GET", "/policy/shadow")

    def seen():
        found = call("GET", "/access-logs?shadow=differs&page_size=500")["results"]
        return {row["decision_id"]: row["shadow"]["reason"] for row in found}

    def visit(port):
        return request(port, "/wall/auth", {**about(), "X-Odd": "odd-value"})

    call("PUT", "/system/settings", {"shadow_cpu_percent": 100})
    call("POST", "/authorized-domains", {"name": OFFICE})
    call("PUT", "/policy/shadow", {"document": WANTED, "percent": 100})
    wait_until(lambda: visit(control) and status()["compiled_at"], what="the agent")

    ids = {"control": set(), "data": set()}

    def is_evaluated_on_both():
        for plane, port in ports.items():
            answer = visit(port)
            assert (answer.status, answer.header("X-Gatewall-Reason")) == CHALLENGED
            ids[plane].add(answer.header("X-Gatewall-Decision-Id"))
        found = seen()
        assert set(found.values()) <= {"waf-rule"}
        return all(each & found.keys() for each in ids.values())

    wait_until(is_evaluated_on_both, what="differences of both planes")
    wait_until(lambda: status()["differing"] >= 2, what="the figures")
    shown = status()
    assert (shown["state"], shown["problem"], shown["faults"]) == ("active", "", 0)
    assert shown["evaluated"] == shown["differing"] <= shown["answers"]

    call("DELETE", "/policy/shadow")
    wait_until(lambda: not (tmp_path / "policy" / "shadow").exists(), what="its removal")
    wait_until(lambda: not list((tmp_path / "run" / "shadow").glob("*.json")), what="the workers")
    before = seen()
    assert [ask(port, {**about(), "X-Odd": "odd-value"}) for port in ports.values()] == [CHALLENGED] * 2
    wait_until(lambda: call("GET", "/access-logs")["results"], what="the log")
    assert seen() == before
