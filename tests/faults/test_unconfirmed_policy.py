"""The database of a host is down or hangs: the host reports it, refuses in strict mode, and records an event."""

import json
import re
import shutil

import pytest

from gatewall.install.ports import free_port
from tests.postgres import KEEPS_COMMITS
from tests.support.prepared_postgresql import prepared_on_postgresql
from tests.support.processes import agent, control_plane, data_plane, request, wait_until
from tests.support.servers import Admin, Verdict, about, ask, furnish

BOUND = 20
VALID, CANNOT_DECIDE = Verdict(200, "session-valid"), Verdict(503, "cannot-decide")


class Scene:
    """One host with all its processes, on a PostgreSQL of its own."""

    def __init__(self, running, control, data):
        self.server, self._data = running, data
        self.admin = Admin(control)
        self.question = about(Service_Authorization=furnish(control))

    def answers(self):
        return {ask(self._data, self.question) for _ in range(8)}

    def health(self, path="/health"):
        answer = request(self._data, f"/wall{path}")
        return answer.status, json.loads(answer.body)["checks"]["policy"]

    def unconfirmed(self):
        """Return the seconds that each worker reports as unconfirmed; empty while one reports none."""
        found = [re.fullmatch(r"not confirmed for (\d+) s", self.health()[1]) for _ in range(8)]
        return [int(match[1]) for match in found] if all(found) else []

    def is_well(self):
        return {self.health() for _ in range(8)} == {(200, "ok")}

    def outages(self):
        return self.admin.get("/security-events?kind=policy.unconfirmed")["results"]


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    home, control, data = tmp_path_factory.mktemp("home"), free_port(), free_port()
    # A database that loses its last changes has an older history, which rightly is not confirmed.
    with prepared_on_postgresql(home, KEEPS_COMMITS) as running:
        at = {"DATABASE_URL": running.url}
        with control_plane(home, control, GATEWALL_WORKERS="1", **at), agent(home, **at), data_plane(home, data, **at):
            yield Scene(running, control, data)
    shutil.rmtree(home, ignore_errors=True)


def gone(scene):
    scene.server.stop()
    yield
    scene.server.start()
    yield


def hanging(scene):
    with scene.server.hanging():
        yield
    yield


@pytest.mark.parametrize(
    ("outage", "mode", "meanwhile"),
    [
        pytest.param(gone, "static", VALID, marks=pytest.mark.full),  # see test_static_stability.py
        (hanging, "strict", CANNOT_DECIDE),
        pytest.param(gone, "strict", CANNOT_DECIDE, marks=pytest.mark.full),
        pytest.param(hanging, "static", VALID, marks=pytest.mark.full),
    ],
)
def test_a_disconnected_host_raises_an_alarm_and_records_an_event_afterwards(scene, outage, mode, meanwhile):
    scene.admin.put("/system/settings", stale_policy=mode, stale_policy_seconds=BOUND)
    wait_until(scene.is_well, what="a confirmed policy")
    assert scene.answers() == {VALID}
    before = len(scene.outages())
    fault = outage(scene)
    next(fault)
    try:
        wait_until(scene.unconfirmed, what="the alarm")
        wait_until(lambda: min(scene.unconfirmed()) > BOUND, what="the bound to be over")
        assert scene.health("/health/ready")[0] == 200  # readiness stays 200: load balancers keep the host
        assert scene.answers() == {meanwhile}
    finally:
        next(fault)

    wait_until(lambda: scene.answers() == {VALID}, what="answers as before")
    wait_until(scene.is_well, what="the end of the alarm")
    wait_until(lambda: len(scene.outages()) > before, what="the event")
    detail = scene.outages()[0]["detail"]
    assert detail["seconds"] > BOUND
    assert detail["from"] < detail["to"]
