"""Processes are killed under load: no answer is wrong, they are restarted, and no record is lost."""

import os
import signal
import subprocess
import time
from itertools import count

import psutil
import pytest

from gatewall.install.ports import free_port
from gatewall.snapshot.worker_report import living_workers
from tests.support.children import is_alive
from tests.support.processes import (
    BASE,
    PATIENCE,
    accepts,
    agent,
    control_plane,
    data_plane,
    environment,
    is_listening,
    manager,
    no_agent_leads,
    wait_until,
)
from tests.support.servers import Admin, Load, about, ask, recorded_decisions, right_answers, tell, wrong_answers

BACK_WITHIN_SECONDS = 15
"""Seconds under load on a busy machine; on an idle one it takes less than one."""


_hosts = count(1)


def wait_for_prompt_changes(admin):
    """Make changes until one is in force when it is answered; on a busy machine the first may be later."""
    wait_until(
        lambda: "policy_pending" not in admin.post("/ip-black-list", ip=f"198.51.100.{next(_hosts)}"),
        what="a change in force when it is answered",
    )


@pytest.fixture(scope="module")
def installation(copied):
    return copied()


@pytest.fixture
def right(installation):
    return right_answers(installation.token)


@pytest.fixture
def decider(installation):
    """Return process and port of a data plane with two workers."""
    port = free_port()
    with data_plane(installation.home, port) as process:
        wait_until(lambda: len(workers(process.pid)) == 2, what="two workers")
        yield process, port


def workers(master):
    """Return the ids of a master's living children."""
    return {child.pid for child in psutil.Process(master).children() if is_alive(child)}


def seconds_until_replaced(master, victim, works=lambda _worker: True):
    """Kill a worker; return the seconds until its master has two working workers again."""
    os.kill(victim, signal.SIGKILL)
    killed_at = time.monotonic()
    wait_until(lambda: len([w for w in workers(master) - {victim} if works(w)]) == 2, what="a new worker")
    return time.monotonic() - killed_at


def has_policy(home):
    """Return a function that returns whether a worker of the data plane has reported its loaded policy."""
    return lambda worker: worker in {state.pid for state in living_workers(home / "run" / "workers")}


def owners(port):
    """Return the processes that listen on a port."""
    found = psutil.net_connections("tcp4")
    return {item.pid for item in found if item.laddr.port == port and item.status == psutil.CONN_LISTEN}


def missing_records(home, load):
    return set(load.decisions) - recorded_decisions(home)


def test_killed_worker_of_the_data_plane_comes_back_and_no_answer_is_wrong(installation, decider, right, pytestconfig):
    process, port = decider
    with Load(port, right) as load:
        works = has_policy(installation.home)
        took = [seconds_until_replaced(process.pid, victim, works) for victim in sorted(workers(process.pid))]
        load.wait_for_more()

    seen = f"{len(load.decisions)} answers, {load.broken} broken connections"
    tell(pytestconfig, f"data-plane worker back after {max(took):.2f} s, {seen}")
    assert load.wrong == []
    assert missing_records(installation.home, load) == set()
    assert max(took) < BACK_WITHIN_SECONDS


def test_both_workers_of_the_data_plane_come_back(decider, right):
    process, port = decider
    victims = workers(process.pid)
    with Load(port, right) as load:
        for victim in victims:
            os.kill(victim, signal.SIGKILL)

        wait_until(lambda: len(workers(process.pid) - victims) == 2, BACK_WITHIN_SECONDS, "two new workers")
        load.wait_for_more()

    assert load.wrong == []


def test_killed_master_leaves_no_worker_behind(installation, decider, right):
    process, port = decider
    family = psutil.Process(process.pid).children(recursive=True)
    with Load(port, right) as load:
        process.kill()
        process.wait()
        wait_until(lambda: not any(is_alive(child) for child in family), what="the orphans to die")

    assert load.wrong == []
    assert missing_records(installation.home, load) == set()
    assert not is_listening(port)


@pytest.mark.parametrize(
    "milliseconds", [0, 300, *(pytest.param(each, marks=pytest.mark.full) for each in (50, 100, 200))]
)
def test_master_killed_while_its_workers_start_leaves_none_behind(installation, tmp_path, milliseconds):
    unix = tmp_path / "auth.sock"
    with data_plane(installation.home, unix=unix) as process:  # the master listens before it has workers
        time.sleep(milliseconds / 1000)
        process.kill()
        process.wait()

        wait_until(lambda: not accepts(unix), what="the orphans to die")


def test_port_has_one_owner_after_the_master_was_killed_and_started_again(installation, decider, right):
    process, port = decider
    with Load(port, right) as load:
        process.kill()
        process.wait()
        wait_until(lambda: not is_listening(port), what="the orphans to die")
        with data_plane(installation.home, port) as second:
            load.wait_for_more()
            family = {second.pid, *workers(second.pid)}
            listening = owners(port)

    assert load.wrong == []
    assert listening
    assert listening <= family


def test_socket_of_a_killed_master_is_taken_over(installation, tmp_path):
    unix = tmp_path / "auth.sock"
    with data_plane(installation.home, unix=unix) as first:
        first.kill()
        first.wait()
        wait_until(lambda: not accepts(unix), what="the orphans to die")

        with data_plane(installation.home, unix=unix):
            assert accepts(unix)


@pytest.mark.parametrize("kind", ["port", "socket"])
def test_second_data_plane_does_not_share_the_address_of_the_first(installation, tmp_path, kind):
    port, unix = free_port(), tmp_path / "auth.sock"
    where = {"GATEWALL_AUTH_SOCKET": str(unix)} if kind == "socket" else {"GATEWALL_AUTH_PORT": str(port)}
    with data_plane(installation.home, port, unix=unix if kind == "socket" else None):
        run = subprocess.run(
            manager("data_plane"),
            cwd=BASE,
            env=environment(installation.home, **where),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

        assert (run.returncode, len(run.stderr.splitlines())) == (2, 1)
        assert f"GATEWALL_AUTH_{kind.upper()}" in run.stderr
        assert accepts(unix) if kind == "socket" else is_listening(port)


def test_worker_is_replaced_behind_a_unix_socket(installation, tmp_path):
    unix = tmp_path / "auth.sock"
    with data_plane(installation.home, unix=unix) as process:
        wait_until(lambda: len(workers(process.pid)) == 2, what="two workers")

        took = [seconds_until_replaced(process.pid, victim) for victim in sorted(workers(process.pid))]

        assert max(took) < BACK_WITHIN_SECONDS
        wait_until(lambda: accepts(unix), what="the new workers to listen")


def test_killed_agent_changes_no_answer_and_the_next_one_publishes(installation, decider, right):
    _, port = decider
    control_port, question = free_port(), about(client="203.0.113.98", Service_Authorization=installation.token)
    with control_plane(installation.home, control_port, GATEWALL_WORKERS="1"), Load(port, right) as load:
        admin = Admin(control_port)
        with agent(installation.home) as first:
            first.kill()
            first.wait()
            load.wait_for_more()
        with agent(installation.home):
            admin.post("/ip-black-list", ip="203.0.113.98")
            wait_until(lambda: {ask(port, question) for _ in range(8)} == {(403, "client-blocked")}, what="the change")
            wait_for_prompt_changes(admin)

    assert load.wrong == []
    assert missing_records(installation.home, load) == set()


def test_second_agent_waits_and_takes_over_when_the_first_is_killed(installation, decider):
    _, port = decider
    control_port, question = free_port(), about(client="203.0.113.97", Service_Authorization=installation.token)
    home = installation.home
    one = control_plane(home, control_port, GATEWALL_WORKERS="1")
    with one, agent(home) as first, agent(home, second=True):
        first.kill()
        first.wait()
        wait_until(lambda: not no_agent_leads(home), what="the second agent to lead")

        admin = Admin(control_port)
        admin.post("/ip-black-list", ip="203.0.113.97")
        wait_until(lambda: {ask(port, question) for _ in range(8)} == {(403, "client-blocked")}, what="the change")
        wait_for_prompt_changes(admin)


def test_killed_worker_of_the_control_plane_comes_back_and_no_answer_is_wrong(installation, right, pytestconfig):
    port = free_port()
    with control_plane(installation.home, port) as process:
        wait_until(lambda: len(workers(process.pid)) == 2, what="two workers")
        with Load(port, right) as load:
            took = [seconds_until_replaced(process.pid, victim) for victim in sorted(workers(process.pid))]
            load.wait_for_more()

    tell(pytestconfig, f"control-plane worker back after {max(took):.2f} s, {len(load.decisions)} answers")
    assert load.wrong == []
    assert missing_records(installation.home, load) == set()
    assert max(took) < BACK_WITHIN_SECONDS


def test_answers_after_all_of_it_was_killed_are_right(installation, decider):
    _, port = decider

    assert wrong_answers(port, installation.token) == []
