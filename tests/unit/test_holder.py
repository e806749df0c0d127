"""The policy of one process: the newest available version, never an older one, never lost."""

import logging
from threading import Barrier, Thread

import pytest

from gatewall.engine.snapshot import Version
from gatewall.snapshot.holder import PolicyHolder, PolicyRefused, PolicyUnavailable
from tests.support.cast import a_policy


class Store:
    """A store in memory that can be made to fail, and counts its calls."""

    def __init__(self, version=1):
        self.force = Version(version)
        self.version_error = self.load_error = None
        self.loads = 0

    def version(self):
        if self.version_error:
            raise self.version_error
        return self.force

    def load(self, version):
        self.loads += 1
        if self.load_error:
            raise self.load_error
        return a_policy(version=version)


def revision(policy):
    return policy.version.revision


def test_first_policy_is_loaded_on_demand():
    store = Store()

    assert revision(PolicyHolder(store).current()) == 1
    assert store.loads == 1


def test_policy_in_force_is_loaded_once():
    store = Store()
    holder = PolicyHolder(store)

    assert holder.current() is holder.current()
    assert store.loads == 1


@pytest.mark.parametrize("later", [Version(2), Version(1, 1), Version(7, 3)])
def test_later_version_is_seen_at_the_next_question(later):
    store = Store()
    holder = PolicyHolder(store)
    holder.current()

    store.force = later

    assert holder.current().version == later


@pytest.mark.parametrize("earlier", [Version(1), Version(4, 9), Version(5, 0)])
def test_earlier_version_changes_nothing(earlier):
    store = Store()
    store.force = Version(5, 1)
    holder = PolicyHolder(store)
    holder.current()

    store.force = earlier

    assert holder.current().version == Version(5, 1)
    assert store.loads == 1


@pytest.mark.parametrize("failing", ["version_error", "load_error"])
@pytest.mark.parametrize("error", [PolicyUnavailable("gone"), PolicyRefused("bad")])
def test_store_that_fails_leaves_the_policy_in_force(failing, error):
    store = Store()
    holder = PolicyHolder(store)
    before = holder.current()
    store.force = Version(2)

    setattr(store, failing, error)

    assert holder.current() is before


@pytest.mark.parametrize("failing", ["version_error", "load_error"])
def test_store_that_never_worked_gives_no_policy(failing):
    store = Store()
    setattr(store, failing, PolicyUnavailable("gone"))

    assert PolicyHolder(store).current() is None


def test_store_that_works_again_is_used_again():
    store = Store()
    holder = PolicyHolder(store)
    store.load_error = PolicyUnavailable("gone")
    assert holder.current() is None

    store.load_error = None

    assert revision(holder.current()) == 1


def test_a_store_is_reloaded_after_an_outage():
    store = Store()
    holder = PolicyHolder(store)
    before = holder.current()
    store.version_error = PolicyUnavailable("gone")
    holder.current()
    store.version_error = None

    policies = [holder.current() for _ in range(3)]

    assert store.loads == 2
    assert policies[0] is not before  # the same version number, but another object
    assert policies[0] is policies[2]


def published_as(*versions):
    """Return a fallback that gives these published policies one after the other."""
    policies = [a_policy(version=version) for version in versions]
    return lambda _version: policies.pop(0)


@pytest.mark.parametrize("failing", ["version_error", "load_error"])
def test_a_later_publication_of_the_host_is_used_while_the_store_fails(failing):
    store = Store()
    holder = PolicyHolder(store, fallback=published_as(Version(2)))
    holder.current()
    store.force = Version(2)

    setattr(store, failing, PolicyUnavailable("gone"))

    assert revision(holder.current()) == 2


def test_an_earlier_publication_of_the_host_is_not_used():
    store = Store(version=3)
    holder = PolicyHolder(store, fallback=published_as(Version(2)))
    before = holder.current()

    store.version_error = PolicyUnavailable("gone")

    assert holder.current() is before


def test_reload_that_was_published_is_done_while_the_store_fails():
    store, reloads = Store(), []
    holder = PolicyHolder(store, fallback=published_as(Version(1, 0, 1)), on_reload=lambda: reloads.append(1))
    holder.current()

    store.version_error = PolicyUnavailable("gone")
    holder.current()

    assert reloads == [1]


def test_failure_is_logged_without_a_traceback(caplog):
    store = Store()
    store.load_error = PolicyUnavailable("the disk is gone")

    with caplog.at_level(logging.WARNING):
        PolicyHolder(store).current()

    assert [record.getMessage() for record in caplog.records] == ["policy not refreshed: the disk is gone"]


@pytest.mark.parametrize("before", [True, False], ids=["with-a-policy", "without-one"])
def test_refused_version_is_not_tried_again(before):
    store = Store()
    holder = PolicyHolder(store)
    policy = holder.current() if before else None
    store.force, store.load_error, store.loads = Version(2), PolicyRefused("bad signature"), 0

    assert [holder.current() for _ in range(5)] == [policy] * 5
    assert store.loads == 1


def test_version_behind_a_refused_one_is_tried():
    store = Store()
    holder = PolicyHolder(store)
    store.load_error = PolicyRefused("bad signature")
    holder.current()

    store.force, store.load_error = Version(2), None

    assert revision(holder.current()) == 2


def test_unexpected_error_is_not_hidden():
    store = Store()
    store.load_error = RuntimeError("a fault of our own")

    with pytest.raises(RuntimeError):
        PolicyHolder(store).current()


def test_lock_is_free_after_a_failure():
    store = Store()
    holder = PolicyHolder(store)
    store.load_error = RuntimeError("a fault of our own")
    with pytest.raises(RuntimeError):
        holder.current()

    store.load_error = None

    assert revision(holder.current()) == 1


def ask_at_once(holder, threads=16):
    """Return the policies that many threads get at the same moment."""
    barrier, answers = Barrier(threads), []

    def ask():
        barrier.wait()
        answers.append(holder.current())

    workers = [Thread(target=ask) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return answers


class SlowStore(Store):
    """A store whose load lasts until every thread has read the version."""

    def __init__(self, threads=16):
        super().__init__()
        self.read = Barrier(threads)

    def version(self):
        self.read.wait()
        return super().version()


def test_concurrent_threads_load_the_policy_once():
    store = SlowStore()

    answers = ask_at_once(PolicyHolder(store))

    assert store.loads == 1
    assert len(set(map(id, answers))) == 1
    assert revision(answers[0]) == 1


def test_many_threads_try_a_refused_version_once():
    store = SlowStore()
    store.load_error = PolicyRefused("bad signature")

    answers = ask_at_once(PolicyHolder(store))

    assert store.loads == 1
    assert answers == [None] * 16
