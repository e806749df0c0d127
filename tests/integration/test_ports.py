"""Free ports chosen by `up` and the tests, and the message of `up` when a process does not become ready."""

import json
import os
import random
import socket
import subprocess
import sys

import pytest

from gatewall.install import ports
from gatewall.install.ports import free_port, non_ephemeral_ports
from gatewall.install.readiness import reported_problem
from tests.support.publisher import publishing

PICK = """
import random, sys
from gatewall.install.ports import free_port
random.seed(int(sys.argv[1]))
print(free_port())
"""


@pytest.mark.parametrize(
    ("lowest", "first", "last", "step"),
    [(32_768, 10_000, 32_767, 1), (12_001, 10_000, 12_000, 1), (1_024, 10_001, 65_535, 2), (1_025, 10_000, 65_534, 2)],
)
def test_free_port_is_outside_the_ephemeral_range(monkeypatch, lowest, first, last, step):
    allowed = non_ephemeral_ports(lowest)
    monkeypatch.setattr(ports, "_lowest_ephemeral_port", lambda: lowest)

    assert (allowed[0], allowed[-1], allowed.step) == (first, last, step)
    assert free_port() in allowed


def test_free_port_can_be_listened_on():
    with socket.socket() as server:
        server.bind(("127.0.0.1", free_port()))
        server.listen(1)


def test_free_port_is_given_to_one_caller_only():
    given = []
    for _ in range(3):
        random.seed(1)
        given.append(free_port())

    assert len(set(given)) == 3


SEED = os.getpid()  # not by another test run


@pytest.fixture
def pick_here(monkeypatch):
    """Return a function that picks a port with the seed of ``pick_elsewhere``."""
    monkeypatch.setattr(ports, "_given", set())

    def pick():
        random.seed(SEED)
        return free_port()

    return pick


def pick_elsewhere():
    run = subprocess.run([sys.executable, "-c", PICK, str(SEED)], check=True, capture_output=True, text=True)
    return int(run.stdout)


def test_free_port_is_given_to_one_process_only_while_it_lives(pick_here):
    assert pick_here() != pick_elsewhere()


def test_free_port_of_a_process_that_ended_is_given_again(pick_here):
    assert pick_elsewhere() == pick_here()


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (503, json.dumps({"checks": {"policy": "none published yet", "spool": "ok"}}), "policy: none published yet; "),
        (503, json.dumps({"checks": {"spool": "cannot be written"}}), "spool: cannot be written"),
        (200, json.dumps({"checks": {"policy": "ok"}}), ""),
        (503, json.dumps({"checks": []}), ""),
        (503, "[]", ""),
        (502, "<html>", ""),
    ],
)
def test_a_problem_on_the_health_page_comes_with_the_command_that_fixes_it(status, body, said):
    with publishing({"/health/ready": (status, {}, body.encode())}) as page:
        found = reported_problem(f"{page.url}/health/ready")

    assert found.startswith(said)
    assert ("gatewall publish-policy" in found) is ("policy" in said)
    assert bool(found) is bool(said)


def test_an_unreachable_health_page_reports_no_problem():
    assert reported_problem(f"http://127.0.0.1:{free_port()}/health/ready") == ""
