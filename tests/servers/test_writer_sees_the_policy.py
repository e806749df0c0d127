"""After a write, every worker of the data plane answers by the new policy, also under load."""

import http.client
import time
from contextlib import ExitStack, contextmanager
from itertools import count

import psutil
import pytest

from gatewall.install.ports import free_port
from tests.servers.changes import NEW_ZEALAND, POLICY, REVOCATIONS, settings
from tests.servers.site import Site
from tests.support.children import workers
from tests.support.mmdb import write_mmdb
from tests.support.openid_provider import providing
from tests.support.processes import PATIENCE, agent, control_plane, data_plane, prepare, wait_until
from tests.support.servers import OFFICE, SESSION_VALID, Admin, Load, Verdict, about, tell

WORKERS = 2
TRIES = 10
ASKED = 5
"""Requests to each worker after each write."""


class Pinned:
    """A connection to each worker of a data plane."""

    def __init__(self, port, process):
        self._connections = {}
        wait_until(lambda: len(workers(process)) == WORKERS, what="the workers")
        deadline = time.monotonic() + PATIENCE
        while len(self._connections) < WORKERS:
            assert time.monotonic() < deadline, "a worker accepts no connection"
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
            connection.request("GET", "/wall/health/live")
            connection.getresponse().read()
            pid = worker_of(connection, process)
            if pid in self._connections:
                connection.close()
            else:
                self._connections[pid] = connection

    def ask(self, question):
        """Return the answers of all workers, one after another."""
        return [self._status(connection, question) for connection in self._connections.values()]

    @staticmethod
    def _status(connection, question):
        connection.request("GET", "/wall/auth", headers=question)
        response = connection.getresponse()
        response.read()
        return response.status

    def close(self):
        for connection in self._connections.values():
            connection.close()


def worker_of(connection, process):
    """Return the process at the other end of a connection."""
    ours = connection.sock.getsockname()[1]
    (pid,) = [
        pid
        for pid in workers(process)
        if any(each.raddr and each.raddr.port == ours for each in psutil.Process(pid).net_connections("tcp"))
    ]
    return pid


@contextmanager
def a_site(home):
    control, auth = free_port(), free_port()
    geo = str(write_mmdb(home / "countries.mmdb", {f"{NEW_ZEALAND}/32": {"country": {"iso_code": "NZ"}}}))
    prepare(home)
    with ExitStack() as stack:
        stack.enter_context(agent(home))
        stack.enter_context(control_plane(home, control, GEOIP_DATABASE=geo))
        process = stack.enter_context(data_plane(home, auth, GEOIP_DATABASE=geo, GATEWALL_WORKERS=str(WORKERS)))
        admin = Admin(control)
        admin.post("/authorized-domains", name=OFFICE)
        pinned = Pinned(auth, process)
        stack.callback(pinned.close)
        key = (home / "secrets" / "admin-recovery-key").read_text().strip()
        yield Site(admin, control, auth, key, count(1), stack.enter_context(providing())), pinned


@pytest.fixture(scope="module")
def answers(tmp_path_factory, request):
    """Make a write of each kind under load, each followed by requests to every worker; return all answers.

    By kind: whether the policy may be pending (reported, or a slow write), the right answer, and the answers.
    """
    with a_site(tmp_path_factory.mktemp("home")) as (site, pinned):
        right = [(about(Service_Authorization=site.admin.token), Verdict(*SESSION_VALID))]
        with Load(site.auth, right, connections=2) as load:
            found = {kind.__name__: in_its_turn(site, pinned, kind) for kind in [*POLICY, *REVOCATIONS]}
            load.wait_for_more()
    stale = [sum(status != after for status in given) for _, after, given in found.values()]
    pending = sum(is_pending for is_pending, *_ in found.values())
    tell(request.config, f"{len(found)} writes at load: {sum(stale)} stale answers behind them, {pending} pending")
    return found


def in_its_turn(site, pinned, kind):
    """Make a write of this kind; repeat it if SQLite's write lock was busy."""
    for _ in range(TRIES - 1):
        try:
            return written(site, pinned, kind)
        except AssertionError as error:
            if "503" not in str(error):
                raise
    return written(site, pinned, kind)


def written(site, pinned, kind):
    change = kind(site)
    wait_until(lambda: set(pinned.ask(change.question)) == {change.before}, what="the answer before the change")
    began = time.monotonic()

    said = change.write()

    given = [status for _ in range(ASKED) for status in pinned.ask(change.question)]
    is_pending = said.get("policy_pending", False) or (not said and time.monotonic() - began >= 2.0)
    if kind is settings:
        site.admin.put("/system/settings", waf_mode="block")
    return is_pending, change.after, given


@pytest.mark.parametrize("kind", [each.__name__ for each in [*POLICY, *REVOCATIONS]])
def test_every_worker_answers_by_the_new_policy_unless_the_write_was_pending(answers, kind):
    is_pending, after, given = answers[kind]

    assert is_pending or given == [after] * (ASKED * WORKERS)


def test_at_least_one_write_was_not_pending(answers):
    assert not all(is_pending for is_pending, *_ in answers.values())
