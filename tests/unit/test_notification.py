"""Who leads on a host, and how it is woken."""

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
    """Another process that holds the lock."""
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


def test_the_first_one_leads(tmp_path):
    assert is_free(tmp_path)


def test_while_one_leads_no_other_does(tmp_path, agent):
    assert not is_free(tmp_path)


def test_two_in_one_process_do_not_both_lead(tmp_path):
    with AgentLock(tmp_path).held() as first, AgentLock(tmp_path).held() as second:
        assert (first, second) == (True, False)


def test_who_could_not_lead_does_not_take_the_lock_from_the_leader(tmp_path):
    with AgentLock(tmp_path).held():
        is_free(tmp_path)

        assert not is_free(tmp_path)


def test_the_lock_is_free_after_its_process_was_killed(tmp_path, agent):
    agent.kill()
    agent.wait()

    assert is_free(tmp_path)


def test_the_lock_is_free_when_its_holder_is_done(tmp_path):
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
    """The lease of an agent that has not renewed it for too long."""
    with AgentLock(tmp_path, clock).lead() as lease:
        clock.now += LEASE_SECONDS + 0.1
        yield lease


def test_one_leads_and_no_other_does_while_it_renews_its_lease(tmp_path, clock):
    with AgentLock(tmp_path, clock).lead() as first:
        clock.now += LEASE_SECONDS
        assert first.renew()
        clock.now += LEASE_SECONDS
        with AgentLock(tmp_path, clock).lead() as second:
            assert second is None
        assert first.renew()
        assert AgentLock(tmp_path, clock).is_led()


def test_nobody_is_said_to_lead_while_the_leader_stands_still(tmp_path, clock, stopped):
    assert not AgentLock(tmp_path, clock).is_led()


def test_a_leader_that_only_was_slow_goes_on(tmp_path, clock, stopped):
    assert stopped.renew()
    assert AgentLock(tmp_path, clock).is_led()


def test_another_one_takes_over_and_the_one_that_stood_still_hears_of_it(tmp_path, clock, stopped):
    with AgentLock(tmp_path, clock).lead() as second:
        assert second.renew()
        assert not stopped.renew()
        with AgentLock(tmp_path, clock).lead() as third:
            assert third is None

    assert [path.name for path in tmp_path.iterdir()] == ["agent.lock"]


def test_of_two_that_would_take_over_one_does(tmp_path, clock, stopped, monkeypatch):
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


def test_who_looked_before_another_one_took_over_does_not_take_over_again(tmp_path, clock, stopped, monkeypatch):
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


def test_a_holder_that_never_renews_is_not_taken_for_stopped(tmp_path):
    with AgentLock(tmp_path).held():  # a writer, or an agent of the release before
        assert AgentLock(tmp_path).is_led()


def test_a_lease_that_cannot_be_written_is_no_reason_to_stop_leading(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise OSError("read-only file system")

    with AgentLock(tmp_path).lead() as lease:
        monkeypatch.setattr("os.utime", refuse)

        assert lease.renew()


# The bell.


def heard(listener):
    """True if there is a ring to be heard without waiting for one."""
    return bool(select.select([listener._descriptor], [], [], 0)[0])


def test_ringing_without_a_fifo_does_nothing(tmp_path):
    notify(tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_ringing_without_a_listener_does_nothing(tmp_path):
    with listening(tmp_path):
        pass

    notify(tmp_path)

    with listening(tmp_path) as listener:
        assert not heard(listener)


def test_a_ring_ends_the_wait(tmp_path):
    with listening(tmp_path) as listener:
        notify(tmp_path)

        listener.wait(60)


def test_a_ring_is_heard_once(tmp_path):
    with listening(tmp_path) as listener:
        for _ in range(3):
            notify(tmp_path)
        listener.wait(60)

        assert not heard(listener)


def test_of_two_that_hear_a_ring_neither_fails(tmp_path, monkeypatch):
    with listening(tmp_path) as listener:
        notify(tmp_path)
        ready = select.select([listener._descriptor], [], [], 0)
        with listening(tmp_path) as other:
            other.wait(60)
        monkeypatch.setattr(select, "select", lambda *_: ready)

        listener.wait(60)


def test_without_a_ring_the_wait_ends_by_itself(tmp_path):
    with listening(tmp_path) as listener:
        listener.wait(0)


def test_more_rings_than_the_fifo_holds_do_not_block(tmp_path):
    with listening(tmp_path) as listener:
        for _ in range(70_000):
            notify(tmp_path)

        assert heard(listener)


def test_a_caller_gets_no_error_of_the_bell(tmp_path):
    (tmp_path / "agent.wake").symlink_to("/dev/full")

    notify(tmp_path)


def test_the_fifo_is_the_owners_alone(tmp_path):
    with listening(tmp_path):
        assert (tmp_path / "agent.wake").stat().st_mode & 0o777 == 0o600
