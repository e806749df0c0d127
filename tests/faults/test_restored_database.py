"""A database restored from a backup does not revert the published policy until an admin confirms it."""

import shutil
import subprocess
from typing import NamedTuple

import pytest

from gatewall.install.ports import free_port
from tests.support.processes import (
    BASE,
    PATIENCE,
    agent,
    control_plane,
    data_plane,
    environment,
    manage,
    manager,
    wait_until,
)
from tests.support.servers import Admin, Verdict, about, ask

REVOKED = Verdict(401, "credential-invalid")
VALID = Verdict(200, "session-valid")
BLOCKED = Verdict(403, "client-blocked")
BEFORE, AFTER = "203.0.113.10", "203.0.113.11"
ONLY_THE_LOGOUT, AND_A_CHANGE = "only the logout", "the logout and a change"
after_a_change = pytest.mark.parametrize("worn", [AND_A_CHANGE], indirect=True)
"""For tests in which the kind of loss makes no difference: every publication calls ``refuse_going_back``."""


class Restored(NamedTuple):
    """An installation whose database is a backup from before a logout that its data plane has published."""

    installation: object
    auth: int
    guest: str

    def verdict_on_guest(self):
        return {ask(self.auth, about(Service_Authorization=self.guest)) for _ in range(8)}

    def verdict_on(self, client):
        question = about(client=client, Service_Authorization=self.installation.token)
        return {ask(self.auth, question) for _ in range(8)}

    @property
    def agent_log(self):
        return (self.installation.home / "agent.log").read_text()


def sqlite_files(folder):
    return list(folder.glob("gatewall.sqlite3*"))


def copy_database(source, target):
    """Replace a database by that of an installation that does not run."""
    target.mkdir(exist_ok=True)
    for path in sqlite_files(target):
        path.unlink()
    for path in sqlite_files(source):
        shutil.copy(path, target)


@pytest.fixture(scope="module", params=[ONLY_THE_LOGOUT, AND_A_CHANGE])
def worn(request, copied, tmp_path_factory):
    """Return an installation, a backup, and a session that was ended after the backup.

    A logout makes no revision, so it is lost alone or together with a change, which makes one.
    """
    installation, backup, port = copied(), tmp_path_factory.mktemp("backup"), free_port()
    with control_plane(installation.home, port, GATEWALL_WORKERS="1"):
        guest = Admin(port)
    copy_database(installation.home, backup)
    with control_plane(installation.home, port, GATEWALL_WORKERS="1"):
        guest.post("/logout")
        if request.param != ONLY_THE_LOGOUT:
            Admin(port).post("/ip-black-list", ip=BEFORE)
    return installation, backup, guest.token


@pytest.fixture
def restored(worn, tmp_path):
    """Return a copy of the worn installation with its data plane, and the backup restored."""
    (installation, backup, guest), auth = worn, free_port()
    home = tmp_path / "home"
    shutil.copytree(installation.home, home)
    with data_plane(home, auth):
        given = Restored(installation._replace(home=home), auth, guest)
        assert given.verdict_on_guest() == {REVOKED}
        copy_database(backup, home)
        yield given


def change(installation, *, logouts=0, changes=1):
    """Write to the restored database until its numbers exceed the old ones; return the answers."""
    control = free_port()
    with control_plane(installation.home, control, GATEWALL_WORKERS="1"):
        for _ in range(logouts):
            Admin(control).post("/logout")
        admin = Admin(control)
        return [admin.post("/ip-black-list", ip=f"203.0.113.{11 + number}") for number in range(changes)]


def publish(home, *arguments):
    return subprocess.run(
        manager("publish_policy", *arguments),
        cwd=BASE,
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.mark.parametrize("worn", [AND_A_CHANGE, pytest.param(ONLY_THE_LOGOUT, marks=pytest.mark.full)], indirect=True)
def test_agent_refuses_to_publish_the_older_policy_and_logs_the_reason(restored):
    with agent(restored.installation.home):
        wait_until(lambda: "policy.rejected" in restored.agent_log, what="the refusal")

    assert "--confirm-restored-database" in restored.agent_log
    assert restored.verdict_on_guest() == {REVOKED}


@after_a_change
def test_command_refuses_to_publish_the_older_policy_and_prints_the_reason(restored):
    run = publish(restored.installation.home)

    assert run.returncode == 1
    assert "--confirm-restored-database" in run.stderr
    assert restored.verdict_on_guest() == {REVOKED}


@pytest.mark.parametrize("worn", [AND_A_CHANGE, pytest.param(ONLY_THE_LOGOUT, marks=pytest.mark.full)], indirect=True)
@pytest.mark.parametrize(
    "logouts",
    [pytest.param(0, id="changes"), pytest.param(3, id="changes and logouts", marks=pytest.mark.full)],
)
def test_new_changes_above_the_old_revision_do_not_bring_back_the_older_policy(restored, logouts):
    with agent(restored.installation.home):
        answers = change(restored.installation, logouts=logouts, changes=2)

    assert [answer.get("policy_pending") for answer in answers] == [True, True]
    assert "policy.rejected" in restored.agent_log
    assert restored.verdict_on_guest() == {REVOKED}
    assert restored.verdict_on(AFTER) == {VALID}


@pytest.mark.full  # the test above covers it with an agent
@after_a_change
def test_new_changes_are_refused_to_a_writer_without_an_agent_too(restored):
    answers = change(restored.installation, logouts=1, changes=2)

    assert [answer.get("policy_pending") for answer in answers] == [True, True]
    assert restored.verdict_on_guest() == {REVOKED}


@after_a_change
def test_confirmed_database_takes_effect(restored):
    change(restored.installation)

    said = manage(restored.installation.home, "publish_policy", "--confirm-restored-database")

    assert "is in force" in said
    wait_until(lambda: restored.verdict_on(AFTER) == {BLOCKED}, what="the restored policy")
    assert restored.verdict_on_guest() == {VALID}
    assert restored.verdict_on(BEFORE) == {VALID}


@after_a_change
def test_changes_after_the_confirmation_are_published_again(restored):
    manage(restored.installation.home, "publish_policy", "--confirm-restored-database")
    with agent(restored.installation.home):
        answers = change(restored.installation)

    assert "policy_pending" not in answers[0]
    wait_until(lambda: restored.verdict_on(AFTER) == {BLOCKED}, what="the change")


def test_confirming_a_database_that_was_not_restored_blocks_no_later_change(copied):
    installation, auth = copied(), free_port()
    with data_plane(installation.home, auth):
        manage(installation.home, "publish_policy", "--confirm-restored-database")
        change(installation)

        question = about(client=AFTER, Service_Authorization=installation.token)
        wait_until(lambda: {ask(auth, question) for _ in range(8)} == {BLOCKED}, what="the change")
