"""The data plane needs only files: its answers stay right without control plane, agent and database."""

import json
import os
import signal

import pytest

from gatewall.install.ports import free_port
from gatewall.snapshot.worker_report import living_workers
from tests.support.processes import agent, control_plane, data_plane, make_keys, request, wait_until
from tests.support.servers import Admin, Verdict, about, ask, right_answers, wrong_answers

CASES = ["allowed", "blocked", "bad token", "no token", "wrong host", "attack"]


def kill_session(process):
    """Kill a process and its children with SIGKILL, as the kernel does when memory is short."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def take_away(database):
    """Move the database and its write-ahead log away."""
    away = database.parent / "away"
    away.mkdir()
    for path in database.parent.glob(f"{database.name}*"):
        path.rename(away / path.name)


def bring_back(database):
    for path in database.parent.glob(f"{database.name}*"):
        path.unlink()
    for path in (database.parent / "away").iterdir():
        path.rename(database.parent / path.name)


@pytest.fixture(scope="module")
def bereft(copied):
    """Return a data plane whose control plane, agent and database are gone."""
    installation, port = copied(), free_port()
    with data_plane(installation.home, port):
        with (
            control_plane(installation.home, free_port(), GATEWALL_WORKERS="1") as control,
            agent(installation.home) as publisher,
        ):
            assert wrong_answers(port, installation.token) == []
            kill_session(control)
            kill_session(publisher)
        take_away(installation.database)
        yield installation, port


@pytest.fixture(scope="module")
def cold(copied):
    """Return a data plane that was started with published files alone."""
    installation, port = copied(), free_port()
    take_away(installation.database)
    with data_plane(installation.home, port):
        yield installation, port


@pytest.fixture(scope="module")
def blank(tmp_path_factory):
    """Return the port of a data plane that never had a policy."""
    home, port = tmp_path_factory.mktemp("blank"), free_port()
    make_keys(home)
    with data_plane(home, port, path="/health/live"):
        yield port


@pytest.fixture(scope="module")
def without_database(copied):
    """Return a control plane that found a broken database when it started."""
    installation, port = copied(), free_port()
    installation.database.write_bytes(b"no database" * 1000)
    with control_plane(installation.home, port, path="/health/live", GATEWALL_WORKERS="1"):
        yield installation, port


@pytest.mark.parametrize("case", range(len(CASES)), ids=CASES)
@pytest.mark.parametrize("plane", ["bereft", "cold", "without_database"])
def test_answer_is_right_when_only_the_published_files_are_left(request, plane, case):
    installation, port = request.getfixturevalue(plane)
    question, right = right_answers(installation.token)[case]

    assert [ask(port, question) for _ in range(8)] == [right] * 8


@pytest.mark.parametrize("plane", ["bereft", "cold"])
def test_data_plane_is_ready_without_a_database(request, plane):
    _, port = request.getfixturevalue(plane)

    assert {health(port, "/health/ready")[0] for _ in range(8)} == {200}


def test_change_arrives_when_everything_is_back(bereft):
    installation, port = bereft
    control_port, question = free_port(), about(client="203.0.113.99", Service_Authorization=installation.token)
    bring_back(installation.database)
    with control_plane(installation.home, control_port, GATEWALL_WORKERS="1"), agent(installation.home):
        before = ask(port, question)

        answer = Admin(control_port).post("/ip-black-list", ip="203.0.113.99")

        assert (before.status, "policy_pending" in answer) == (200, False)
        wait_until(lambda: {ask(port, question) for _ in range(8)} == {(403, "client-blocked")}, what="the change")


def test_data_plane_without_a_policy_cannot_decide_about_anybody(blank):
    questions = [question for question, _ in right_answers("e30.e30.x")]

    assert {ask(blank, question) for question in questions * 4} == {Verdict(503, "cannot-decide")}


def test_data_plane_without_a_policy_lives_and_is_not_ready(blank):
    found = {path: health(blank, path) for path in ("/health/live", "/health/ready", "/health")}

    assert {path: status for path, (status, _) in found.items()} == {
        "/health/live": 200,
        "/health/ready": 503,
        "/health": 503,
    }
    assert found["/health/ready"][1]["checks"] == {"policy": "none published yet", "spool": "ok"}


def test_damaged_publication_is_refused_and_the_last_good_policy_stays(copied):
    installation, port = copied(), free_port()
    current = installation.home / "policy" / "current"
    with data_plane(installation.home, port):
        workers = installation.home / "run" / "workers"
        wait_until(lambda: len(living_workers(workers)) == 2, what="both workers to have the good policy")
        damaged = current.with_name("damaged")
        damaged.write_bytes(current.read_bytes().replace(b'"revision":', b'"Revision":'))
        damaged.replace(current)
        log = installation.home / "auth.log"
        wait_until(lambda: log.read_text().count("policy.rejected") == 2, what="both workers to refuse it")

        assert wrong_answers(port, installation.token) == []


def health(port, path):
    """Return status and JSON object of a health check."""
    answer = request(port, f"/wall{path}")
    return answer.status, json.loads(answer.body)
