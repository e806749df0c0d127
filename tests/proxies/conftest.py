"""Fixtures of one Gatewall behind nginx per module, with either plane, and the summary of checks by proxy."""

from collections import Counter

import pytest

from gatewall.install.ports import free_port
from tests.proxies.every.table import gathered
from tests.support.processes import agent, api, control_plane, data_plane, nginx, prepare, sign_in
from tests.support.upstream import Upstream

LET_IN = "198.51.100.8"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """Record check and proxy with the outcome of a test."""
    report = yield
    values = item.callspec.params if hasattr(item, "callspec") else {}
    for name in ("front", "stub", "kind"):
        if name in values:
            report.user_properties += [("check", item.originalname), ("proxy", values[name])]
    return report


def pytest_terminal_summary(terminalreporter):
    """Print how many checks each proxy passed; `python -m tests.proxies.every.table` lists them."""
    reports = [report for key in ("passed", "failed", "error") for report in terminalreporter.stats.get(key, ())]
    outcomes = gathered([report for report in reports if isinstance(report, pytest.TestReport)])
    passed = Counter(proxy for (_, proxy), all_passed in outcomes.items() if all_passed)
    for proxy, checks in Counter(proxy for _, proxy in outcomes).items():
        terminalreporter.write_line(f"{proxy}: {passed[proxy]} of {checks} checks passed")


@pytest.fixture(scope="module")
def installation(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    prepare(home)
    return home


@pytest.fixture(scope="module")
def gate(installation):
    port = free_port()
    with agent(installation), control_plane(installation, port, GATEWALL_WORKERS="1"):
        # The first domain that a user adds: from now on unknown hosts are refused.
        api(port, "/authorized-domains", name="public.example", access="public")
        api(port, "/ip-white-list", ip=LET_IN)
        yield port


@pytest.fixture(scope="module", params=["control plane", "data plane", "data plane on a unix socket"])
def asked(request, installation, gate, tmp_path_factory):
    """Return the address of the asked plane in nginx syntax."""
    port, unix = free_port(), tmp_path_factory.mktemp("auth") / "auth.sock"
    if request.param == "control plane":
        yield f"127.0.0.1:{gate}"
    elif request.param == "data plane":
        with data_plane(installation, port, GATEWALL_WORKERS="1"):
            yield f"127.0.0.1:{port}"
    else:
        with data_plane(installation, unix=unix, GATEWALL_WORKERS="1"):
            yield f"unix:{unix}"


@pytest.fixture(scope="module")
def site():
    with Upstream() as upstream:
        yield upstream


@pytest.fixture(scope="module")
def proxy(gate, asked, site, tmp_path_factory):
    with nginx(tmp_path_factory.mktemp("nginx"), gate=gate, auth=asked, site=site.port) as port:
        yield port


@pytest.fixture(scope="module")
def cookie(proxy):
    return sign_in(proxy)
