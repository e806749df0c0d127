"""Leader election of the agent on a host, and the notification that wakes it."""

import select
import subprocess
import sys
from pathlib import Path

import pytest

from gatewall.snapshot.notification import LEASE_SECONDS, AgentLock, listening, notify
from tests.unit.clocks import Clock

ROOT = Path(__file__).parents[2]
HOLD = """
import sys
from pathlib import Path
from gatewall.snapshot.notification import AgentLock
with AgentLock(Path(sys.argv[1])).held() as ours:
    print(ours, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def agent(tmp_path):
    """Run another process that holds the lock."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, tmp_path], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout.readline() == b"True\n"
    yield process
    process.kill()
    process.communicate()


def is_free(run):
    with AgentLock(run).held() as ours:
        return ours


def test_a_free_lock_can_be_taken(tmp_path):
    assert is_free(tmp_path)


def test_only_one_process_leads(tmp_path, agent):
    assert not is_free(tmp_path)


def test_only_one_of_two_locks_in_a_process_leads(tmp_path):
    with AgentLock(tmp_path).held() as first, AgentLock(tmp_path).held() as second:
        assert (first, second) == (True, False)


def test_a_failed_attempt_does_not_take_the_lock_from_the_leader(tmp_path):
    with AgentLock(tmp_path).held():
        is_free(tmp_path)

        assert not is_free(tmp_path)


def test_the_lock_is_free_after_its_process_was_killed(tmp_path, agent):
    agent.kill()
    agent.wait()

    assert is_free(tmp_path)


def test_the_lock_is_free_after_its_holder_ends(tmp_path):
    with AgentLock(tmp_path).held():
        pass

    assert is_free(tmp_path)


@pytest.mark.parametrize("error", [RuntimeError, OSError, BlockingIOError])
def test_an_error_of_the_leader_is_not_swallowed_and_frees_the_lock(tmp_path, error):
    with pytest.raises(error), AgentLock(tmp_path).held():
        raise error

    assert is_free(tmp_path)


# The lease.


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def stopped(tmp_path, clock):
    """Yield the expired lease of an agent that has stopped renewing it."""
    with AgentLock(tmp_path, clock).lead() as lease:
        clock.now += LEASE_SECONDS + 0.1
        yield lease


def test_no_other_agent_leads_while_the_leader_renews_its_lease(tmp_path, clock):
    with AgentLock(tmp_path, clock).lead() as first:
        clock.now += LEASE_SECONDS
        assert first.renew()
        clock.now += LEASE_SECONDS
        with AgentLock(tmp_path, clock).lead() as second:
            assert second is None
        assert first.renew()
        assert AgentLock(tmp_path, clock).is_led()


def test_a_leader_that_does_not_renew_its_lease_does_not_count(tmp_path, clock, stopped):
    assert not AgentLock(tmp_path, clock).is_led()


def test_a_slow_leader_can_still_renew_its_lease(tmp_path, clock, stopped):
    assert stopped.renew()
    assert AgentLock(tmp_path, clock).is_led()


def test_another_agent_takes_over_and_the_stopped_one_cannot_renew(tmp_path, clock, stopped):
    with AgentLock(tmp_path, clock).lead() as second:
        assert second.renew()
        assert not stopped.renew()
        with AgentLock(tmp_path, clock).lead() as third:
            assert third is None

    assert [path.name for path in tmp_path.iterdir()] == ["agent.lock"]


def test_only_one_of_two_agents_takes_over(tmp_path, clock, stopped, monkeypatch):
    first, second = AgentLock(tmp_path, clock), AgentLock(tmp_path, clock)
    taken = []
    replace = Path.replace

    def meanwhile(path, to):
        with second.lead() as lease:
            taken.append(lease)
        return replace(path, to)

    monkeypatch.setattr(Path, "replace", meanwhile)
    with first.lead() as lease:
        assert (lease.renew(), taken) == (True, [None])


def test_an_agent_that_saw_the_stale_lease_does_not_take_over_a_new_one(tmp_path, clock, stopped, monkeypatch):
    lock, before = AgentLock(tmp_path, clock), iter([True])
    with AgentLock(tmp_path, clock).lead() as second:
        monkeypatch.setattr(lock, "is_stale", lambda: next(before, False))
        with lock.lead() as late:
            assert late is None
        assert second.renew()


def test_a_lock_whose_file_was_removed_is_given_up(tmp_path, clock):
    with AgentLock(tmp_path, clock).lead() as lease:
        (tmp_path / "agent.lock").unlink()

        assert not lease.renew()


def test_a_holder_without_a_lease_counts_as_leading(tmp_path):
    with AgentLock(tmp_path).held():  # a writer, or an agent of the release before
        assert AgentLock(tmp_path).is_led()


def test_an_agent_keeps_leading_if_its_lease_cannot_be_written(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise OSError("read-only file system")

    with AgentLock(tmp_path).lead() as lease:
        monkeypatch.setattr("os.utime", refuse)

        assert lease.renew()


# The notification.


def heard(listener):
    """Return whether a notification is pending, without waiting."""
    return bool(select.select([listener._descriptor], [], [], 0)[0])


def test_notifying_without_a_fifo_does_nothing(tmp_path):
    notify(tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_notifying_without_a_listener_does_nothing(tmp_path):
    with listening(tmp_path):
        pass

    notify(tmp_path)

    with listening(tmp_path) as listener:
        assert not heard(listener)


def test_a_notification_ends_the_wait(tmp_path):
    with listening(tmp_path) as listener:
        notify(tmp_path)

        listener.wait(60)


def test_repeated_notifications_wake_the_listener_once(tmp_path):
    with listening(tmp_path) as listener:
        for _ in range(3):
            notify(tmp_path)
        listener.wait(60)

        assert not heard(listener)


def test_two_listeners_of_one_notification_do_not_fail(tmp_path, monkeypatch):
    with listening(tmp_path) as listener:
        notify(tmp_path)
        ready = select.select([listener._descriptor], [], [], 0)
        with listening(tmp_path) as other:
            other.wait(60)
        monkeypatch.setattr(select, "select", lambda *_: ready)

        listener.wait(60)


def test_without_a_notification_the_wait_ends_by_timeout(tmp_path):
    with listening(tmp_path) as listener:
        listener.wait(0)


def test_more_notifications_than_the_fifo_holds_do_not_block(tmp_path):
    with listening(tmp_path) as listener:
        for _ in range(70_000):
            notify(tmp_path)

        assert heard(listener)


def test_a_failed_notification_raises_no_error(tmp_path):
    (tmp_path / "agent.wake").symlink_to("/dev/full")

    notify(tmp_path)


def test_the_fifo_is_the_owners_alone(tmp_path):
    with listening(tmp_path):
        assert (tmp_path / "agent.wake").stat().st_mode & 0o777 == 0o600
