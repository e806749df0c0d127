"""PostgreSQL is suspended, or packets to it are lost: TCP reports no error, and yet every wait must end."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple
from urllib.parse import urlsplit

import psutil
import psycopg
import pytest

from gatewall.database.postgresql import connection as watched
from gatewall.database.postgresql.connection import connect
from gatewall.install.ports import free_port
from gatewall.kernel import env_database
from tests.nemesis.chaos import ChaosProxy, Mode
from tests.postgres import Server
from tests.support.prepared_postgresql import prepared_on_postgresql
from tests.support.processes import agent, control_plane, request, wait_until
from tests.support.servers import SESSION_VALID, Admin, about, ask, furnish

PATIENCE_SECONDS = 1
PAGES = ["/health", "/health/ready", "/", "/users", "/ip-black-list", "/access-logs"]
WITHOUT_DATABASE = {"/metrics": 200, "/health/live": 200, "/admin/login/": 200, "/static/portal/portal.css": 200}


class Scene(NamedTuple):
    """A control plane and an agent that reach their database through a proxy."""

    port: int
    token: str
    server: Server
    proxy: ChaosProxy
    control: psutil.Process
    agent: psutil.Process
    agent_log: object

    def hanging(self, how):
        return self.server.hanging() if how == "stopped" else self.proxy.failing(how)

    def statuses(self, pages, *, times=1):
        """Request pages concurrently; return their statuses. Raises if a request is never answered."""
        with ThreadPoolExecutor(len(pages) * times) as crowd:
            answers = crowd.map(lambda page: request(self.port, f"/wall{page}", self.credentials), pages * times)
            return [answer.status for answer in answers]

    @property
    def credentials(self):
        return {"Service-Authorization": self.token}


def through(proxy, url):
    return url.replace(f":{urlsplit(url).port}/", f":{proxy.port}/")


def parameters(url, **others):
    """Return the parameters that Django's backend passes to psycopg for this DATABASE_URL."""
    described = env_database.database(url)
    names = {"host": "HOST", "port": "PORT", "user": "USER", "password": "PASSWORD", "dbname": "NAME"}
    return {name: described[key] for name, key in names.items()} | described["OPTIONS"] | others


@pytest.fixture(autouse=True)
def _forgetful(monkeypatch):
    """Forget servers that were silent in an earlier test."""
    monkeypatch.setattr(watched, "_pulses", {})


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    yield (folder := tmp_path_factory.mktemp("home"))
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def postgresql(home):
    with prepared_on_postgresql(home) as running:
        yield running


@pytest.fixture(scope="module")
def scene(home, postgresql):
    port = free_port()
    with ChaosProxy(_port(postgresql)) as proxy:
        changes = {
            "DATABASE_URL": through(proxy, postgresql.url),
            "GATEWALL_DATABASE_PATIENCE_SECONDS": str(PATIENCE_SECONDS),
        }
        with control_plane(home, port, GATEWALL_WORKERS="1", **changes) as control, agent(home, **changes) as publisher:
            token = furnish(port)
            parts = psutil.Process(control.pid).children()[0], psutil.Process(publisher.pid)
            yield Scene(port, token, postgresql, proxy, *parts, home / "agent.log")


@pytest.fixture(params=["stopped", Mode.HANG])
def hung(scene, request):
    """Yield the scene while its database hangs, after every thread has had a connection."""
    wait_until(lambda: set(scene.statuses(PAGES)) == {200}, what="a control plane that is well")
    with scene.hanging(request.param):
        yield scene
    after(scene)


def after(scene):
    """Verify that the same processes work as before."""
    wait_until(lambda: set(scene.statuses(PAGES, times=2)) == {200}, what="the control plane to recover")
    address = f"203.0.113.{100 + len(Admin(scene.port).get('/ip-black-list')['results'])}"
    wait_until(lambda: "policy_pending" not in _blocked(scene, address), what="the agent to publish again")
    wait_until(lambda: _lag(scene) < 5, what="the agent to ship again")
    assert scene.control.is_running()
    assert scene.agent.is_running()


def _blocked(scene, address):
    admin = Admin(scene.port)
    return admin.post("/ip-black-list", ip=address)


def _lag(scene):
    return Admin(scene.port).get("/dashboard/stats")["log"]["lag_seconds"]


def test_while_the_database_hangs_every_request_is_answered_and_the_agent_gives_up_waiting(hung):
    assert dict(zip(PAGES * 2, hung.statuses(PAGES, times=2), strict=True)) == dict.fromkeys(PAGES, 503)
    assert hung.statuses(list(WITHOUT_DATABASE)) == list(WITHOUT_DATABASE.values())
    assert ask(hung.port, about(Service_Authorization=hung.token)) == SESSION_VALID
    wait_until(lambda: "the database cannot be used" in hung.agent_log.read_text(), what="the publisher to give up")
    wait_until(lambda: "the access log is not" in hung.agent_log.read_text(), what="the shipper to give up")


def test_a_long_query_and_a_long_lock_wait_do_not_time_out_while_the_server_lives(postgresql):
    with connect(parameters(postgresql.url), PATIENCE_SECONDS) as holder, ThreadPoolExecutor(1) as beside:
        holder.execute("SELECT pg_advisory_xact_lock(1)")
        with connect(parameters(postgresql.url), PATIENCE_SECONDS) as other:
            waiting = beside.submit(other.execute, "SELECT pg_advisory_xact_lock(1)")
            holder.execute("SELECT pg_sleep(%s)", [4 * PATIENCE_SECONDS])
            holder.commit()

            assert waiting.result(60).rowcount == 1


def test_a_send_to_a_server_that_hangs_times_out(postgresql):
    """COPY waits for room in the socket, not for an answer."""
    sender = connect(parameters(postgresql.url), PATIENCE_SECONDS)
    sender.execute("CREATE TEMPORARY TABLE lines (line text)")

    def copy_for_ever():
        with sender.cursor().copy("COPY lines FROM STDIN") as copy:
            while True:
                copy.write("x" * 65536 + "\n")

    with postgresql.hanging(), pytest.raises(psycopg.OperationalError):
        copy_for_ever()

    assert sender.closed


def test_after_one_connection_times_out_others_are_refused_at_once(postgresql):
    with ChaosProxy(_port(postgresql)) as proxy:
        through_it = parameters(through(proxy, postgresql.url), connect_timeout="2")
        with proxy.failing(Mode.HANG):
            with pytest.raises(psycopg.errors.ConnectionTimeout):
                connect(through_it, PATIENCE_SECONDS)
            with pytest.raises(psycopg.OperationalError, match="did not answer a moment ago"):
                connect(through_it, PATIENCE_SECONDS)

        wait_until(lambda: connects(through_it), what="somebody to ask again")


def connects(to):
    try:
        connect(to, PATIENCE_SECONDS).close()
    except psycopg.OperationalError:
        return False
    return True


def test_of_several_servers_the_next_one_is_taken_while_the_first_hangs(postgresql):
    with ChaosProxy(_port(postgresql)) as proxy:
        both = through(proxy, postgresql.url).replace(
            f":{proxy.port}/", f":{proxy.port},127.0.0.1:{_port(postgresql)}/"
        )
        connection = connect(parameters(both), PATIENCE_SECONDS)
        assert connection.info.port == proxy.port
        with proxy.failing(Mode.HANG):
            with pytest.raises(psycopg.OperationalError, match="does not answer"):
                connection.execute("SELECT 1")

            with connect(parameters(both), PATIENCE_SECONDS) as second:
                assert second.info.port == _port(postgresql)


def _port(running):
    return urlsplit(running.url).port
