"""The policy of a process that reads published files only: the newest valid version, never an invalid one."""

import shutil
import threading
from dataclasses import replace

import pytest

from gatewall.engine.segments import shard_of_user
from gatewall.snapshot.folder_watch import FolderWatch
from gatewall.snapshot.published import LastPublished, PublishedPolicies
from tests.support.cast import BOB, OFFICE
from tests.support.processes import PATIENCE, wait_until
from tests.unit.publications import EPOCH, OTHER_EPOCH, Observer, a_version, publish, put, revision


class Failing(Observer):
    """An observer whose disk is full."""

    def loaded(self, policy):
        super().loaded(policy)
        raise OSError(28, "No space left on device")

    def rejected(self, why):
        super().rejected(why)
        raise OSError(28, "No space left on device")


@pytest.fixture
def observer():
    return Observer()


@pytest.fixture
def policies(files, observer):
    return PublishedPolicies(files, observer, observer.reload)


def put_nonsense(files, folder):
    publish(files)
    put(folder / "current", b"nonsense")


def test_before_anything_is_published_there_is_no_policy(policies, observer):
    assert revision(policies) is None
    assert (observer.loads, observer.rejections) == ([], [])


def test_a_publication_is_loaded(policies, files, observer):
    publish(files, 1, domains={OFFICE: "denied"})

    assert revision(policies) == 1
    assert policies.current().version.epoch == EPOCH
    assert observer.loads == [(1, False)]


def test_the_next_publication_replaces_the_policy(policies, files, observer):
    publish(files, 1)
    revision(policies)

    publish(files, 2, revoked=["session-1"])

    assert revision(policies) == 2
    assert policies.current().revoked_sessions == {"session-1"}


def test_while_nothing_is_published_nothing_is_loaded(policies, files, observer):
    publish(files)
    revision(policies)
    before = policies.current()

    assert revision(policies) == 1
    assert policies.current() is before
    assert observer.loads == [(1, False)]


def test_unchanged_segments_are_not_read_again(policies, files, folder):
    publish(files, 1)
    revision(policies)
    manifest = files.manifest()
    shutil.rmtree(folder / "segments")

    files.publish(replace(manifest, version=replace(manifest.version, revision=2)))

    assert revision(policies) == 2


@pytest.mark.parametrize(("reloads", "reloaded"), [(0, False), (1, True)])
def test_the_observer_is_notified_of_a_reload(policies, files, observer, reloads, reloaded):
    publish(files, 1)
    revision(policies)

    publish(files, 2, reloads=reloads)
    revision(policies)

    assert observer.loads == [(1, False), (2, reloaded)]


def test_a_reload_without_a_new_revision_loads_the_policy(policies, files, observer):
    publish(files, 1)
    revision(policies)

    publish(files, 1, reloads=1)
    revision(policies)

    assert observer.loads == [(1, False), (1, True)]


# Errors of the system.


def test_a_folder_that_vanishes_changes_nothing(policies, files, folder, observer):
    publish(files)
    revision(policies)
    before = policies.current()

    shutil.rmtree(folder)

    assert revision(policies) == 1
    assert policies.current() is before
    assert observer.rejections == []


def test_a_restored_folder_is_read_again(policies, files, folder):
    publish(files, 1)
    revision(policies)
    shutil.rmtree(folder)
    revision(policies)

    publish(files, 2)

    assert revision(policies) == 2


def test_an_unreadable_segment_is_tried_again(policies, files, folder, observer):
    manifest = publish(files)
    path = folder / "segments" / manifest.segments[shard_of_user(BOB.id)].sha256
    away = path.rename(path.with_suffix(".away"))
    assert revision(policies) is None

    away.rename(path)

    assert revision(policies) == 1
    assert observer.rejections == []


def test_an_unreadable_folder_is_tried_again(policies, files, folder):
    publish(files)
    away = folder.rename(folder.with_suffix(".away"))
    folder.write_text("a file where the folder was")
    assert revision(policies) is None

    folder.unlink()
    away.rename(folder)

    assert revision(policies) == 1


def test_an_observer_that_fails_does_not_keep_a_policy_back(files):
    policies = PublishedPolicies(files, Failing())
    publish(files, 1)
    assert revision(policies) == 1

    publish(files, 2)

    assert revision(policies) == 2


def test_an_observer_that_fails_over_a_refusal_does_not_end_the_watch(files, folder):
    policies = PublishedPolicies(files, Failing())
    put_nonsense(files, folder)
    assert revision(policies) is None

    publish(files)

    assert revision(policies) == 1


def test_watching_begins_with_the_current_publication(policies, files):
    publish(files)

    policies.watch()

    assert policies.current().version.revision == 1
    policies.close()


def test_a_publication_wakes_the_watching_thread(policies, files, monkeypatch):
    begun = threading.Event()

    class SaysWhenItHasBegun(FolderWatch):
        def __init__(self, folder):
            super().__init__(folder)
            begun.set()

    monkeypatch.setattr("gatewall.snapshot.published.FolderWatch", SaysWhenItHasBegun)
    monkeypatch.setattr("gatewall.snapshot.published._POLL_SECONDS", 3600.0)
    publish(files, 1)
    policies.watch()
    assert begun.wait(PATIENCE)  # an earlier publication wakes no thread

    publish(files, 2)

    wait_until(lambda: policies.current().version.revision == 2, what="the watch")
    policies.close()
    publish(files, 3)  # ends the wait of its thread


def test_a_publication_before_the_first_report_is_loaded_before_the_first_answer(files, monkeypatch):
    class Slow(Observer):
        def loaded(self, policy):
            if not self.loads:
                publish(files, 2)  # its publisher finds no report yet
            super().loaded(policy)

    monkeypatch.setattr("gatewall.snapshot.published.Thread.start", lambda _: None)
    policies = PublishedPolicies(files, Slow())
    publish(files, 1)

    policies.watch()

    assert policies.current().version.revision == 2


def test_a_later_publication_is_found(files):
    publish(files, 2)

    assert LastPublished(files).later_than(a_version(1)).version == a_version(2)


@pytest.mark.parametrize("version", [a_version(2), a_version(3), a_version(1, epoch=OTHER_EPOCH)])
def test_a_publication_of_no_later_version_or_another_epoch_is_not_found(files, version):
    publish(files, 2)
    found = LastPublished(files)

    assert [found.later_than(version) for _ in range(2)] == [None, None]


def test_any_publication_is_found_without_a_policy(files):
    publish(files, 2)

    assert LastPublished(files).later_than(None).version == a_version(2)


def test_later_policy_is_found_although_an_earlier_look_found_none(files):
    publish(files, 2)
    found = LastPublished(files)
    assert found.later_than(a_version(2)) is None

    publish(files, 3)

    assert found.later_than(a_version(2)).version == a_version(3)


def test_damaged_publication_is_nothing_later(files, folder):
    publish(files, 2)
    current = folder / "current"
    current.write_bytes(current.read_bytes()[:-9])

    assert LastPublished(files).later_than(a_version(1)) is None
