"""The fair lock before SQLite's own: first come, first served, among threads and processes."""

import os
import signal
import threading
import time

import pytest

from gatewall.database.sqlite import write_queue
from gatewall.database.sqlite.write_queue import WriteQueue

PATIENCE = 120.0
"""Seconds. No test waits this long unless it fails."""


@pytest.fixture
def patient(monkeypatch):
    """Prevent slow waiters on a busy machine from being overtaken."""
    monkeypatch.setattr(write_queue, "_STALLED_SECONDS", PATIENCE)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "database-queue"


@pytest.fixture
def queue(path):
    queue = WriteQueue(path)
    yield queue
    queue.close()


class Waiting:
    """A thread that enters its own queue, records this, and leaves on request."""

    def __init__(self, path, entered):
        self._queue = WriteQueue(path)
        self._entered = entered
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        watcher = WriteQueue(self._queue._path)
        places = waiting_places(watcher)
        self._thread.start()
        while waiting_places(watcher) == places:
            time.sleep(0.001)
        watcher.close()
        return self

    def __exit__(self, *_):
        self._done.set()
        self._thread.join()

    def _run(self):
        if self._queue.enter(PATIENCE):
            self._entered.append(self)
            self._queue.leave()
        self._queue.close()


def waiting_places(queue):
    """Return the places of the waiters, as another process sees them."""
    queue._open()
    places = []
    while (place := queue._first_waiting(since=places[-1] + 1 if places else 0)) is not None:
        places.append(place)
    return places


def in_child(work):
    """Run this in a forked process, which ends after it; return the process id."""
    pid = os.fork()
    if not pid:
        try:
            work()
        finally:
            os._exit(0)
    return pid


def test_only_one_queue_holds_the_lock_at_a_time(path, queue):
    other = WriteQueue(path)

    assert queue.enter(0)
    assert not other.enter(0)
    queue.leave()
    assert other.enter(0)
    other.close()


def test_entering_and_leaving_are_idempotent(queue):
    queue.leave()
    assert queue.enter(0)
    assert queue.enter(0)
    queue.leave()
    queue.leave()
    assert queue.enter(0)


def test_waiters_enter_in_order_of_arrival(path, queue, patient):
    assert queue.enter(0)
    entered = []
    with Waiting(path, entered) as first, Waiting(path, entered) as second, Waiting(path, entered) as third:
        queue.leave()

    assert entered == [first, second, third]


def test_an_owner_that_enters_again_waits_behind_earlier_waiters(path, queue, patient):
    assert queue.enter(0)
    entered = []
    with Waiting(path, entered) as first, Waiting(path, entered) as second:
        queue.leave()
        assert queue.enter(PATIENCE)
        assert entered == [first, second]


def test_waiters_that_gave_up_are_skipped(path, queue):
    entered, late = [], WriteQueue(path)
    assert queue.enter(0)
    assert not late.enter(0.01)
    with Waiting(path, entered) as after:
        assert waiting_places(queue) == [0]
        queue.leave()

    assert entered == [after]
    assert late.enter(0)
    late.close()


def test_a_killed_process_releases_the_lock(path, queue):
    inside = path.with_name("inside")

    def hold():
        own = WriteQueue(path)
        assert own.enter(0)
        inside.touch()
        signal.pause()

    pid = in_child(hold)
    while not inside.exists():
        time.sleep(0.001)
    assert not queue.enter(0)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)

    assert queue.enter(0)


def test_a_killed_waiter_is_skipped(path, queue):
    assert queue.enter(0)
    pid = in_child(lambda: WriteQueue(path).enter(PATIENCE))
    watcher = WriteQueue(path)
    while not waiting_places(watcher):
        time.sleep(0.001)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    queue.leave()

    assert watcher.enter(0)
    watcher.close()


def test_a_stopped_waiter_is_overtaken(path, queue):
    assert queue.enter(0)
    pid = in_child(lambda: WriteQueue(path).enter(PATIENCE))
    watcher = WriteQueue(path)
    while not waiting_places(watcher):
        time.sleep(0.001)
    os.kill(pid, signal.SIGSTOP)
    os.waitpid(pid, os.WUNTRACED)
    queue.leave()

    try:
        assert watcher.enter(PATIENCE)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        watcher.close()


def test_a_forked_child_does_not_hold_the_lock_of_its_parent(path, queue):
    assert queue.enter(0)
    found = path.with_name("found")

    def child():
        found.write_text(f"{queue.enter(0)}")
        queue.close()

    os.waitpid(in_child(child), 0)

    assert found.read_text() == "False"
    other = WriteQueue(path)
    assert not other.enter(0)
    queue.leave()
    assert other.enter(0)
    other.close()


def test_a_forked_child_that_closes_the_queue_does_not_release_the_lock(path, queue, monkeypatch):
    assert queue.enter(0)
    of_the_parent = os.dup(queue._descriptor)
    monkeypatch.setattr(write_queue.os, "getpid", lambda: 0)
    queue.close()
    other = WriteQueue(path)

    assert not other.enter(0)
    os.close(of_the_parent)
    assert other.enter(0)
    other.close()


def test_a_waiter_takes_the_next_place_if_another_took_the_first(path, queue, monkeypatch):
    first = WriteQueue(path)
    waiting_places(first)
    assert first._take_place() == 0
    waiting_places(queue)
    too_early, look = [None], queue._first_waiting
    monkeypatch.setattr(queue, "_first_waiting", lambda **at: too_early.pop() if too_early else look(**at))

    assert queue._take_place() == 1
    first.close()


def test_concurrent_threads_and_processes_enter_one_at_a_time(path):
    turns, count = 15, path.with_name("count")
    count.write_bytes(b"0")

    def take_turns(number):
        own = WriteQueue(path)
        for _ in range(turns):
            assert own.enter(PATIENCE)
            before = int(count.read_bytes())
            time.sleep(0.001 * (number % 3))
            count.write_bytes(b"%d" % (before + 1))
            own.leave()
        own.close()

    children = [in_child(lambda number=number: take_turns(number)) for number in range(3)]
    threads = [threading.Thread(target=take_turns, args=[number]) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for pid in children:
        os.waitpid(pid, 0)

    assert int(count.read_bytes()) == 8 * turns


def test_the_file_is_for_its_owner_alone_and_a_folder_that_is_not_there_is_an_error(path, queue):
    assert queue.enter(0)
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileNotFoundError):
        WriteQueue(path.parent / "nowhere" / "queue").enter(0)
